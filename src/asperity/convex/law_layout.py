"""Numbers of the laws of contacts and rows for one step, and the contact law's entry points."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["LAW"]

LAW = Layout(
    "laws of a convex problem",
    # compiled entry points of the contact law (`asperity.convex.potentials.law_table`)
    prepare_contacts="i8",
    evaluate_contacts="i8",
    along_contacts="i8",
    contact_cost_along="i8",
    begin_estimates="i8",  # or 0
    update_estimates="i8",
    measure_contacts="i8",  # or 0: how far numbers are from agreement with the solution
    settle_contacts="i8",  # or 0: numbers that are to agree with the solution
    extension="i8",  # address of the table of a law that needs one of its own, or 0
    coupled="i8",  # 1 if the law couples normal and tangential
    damps_linearly="i8",  # 1 of linear dissipation, 0 of that of Hunt and Crossley
    # per contact, sorted by island; each law says which it uses
    friction="f8[contacts]",  # coefficient μ
    friction_limit="f8[contacts]",  # largest impulse of friction μ n_0, known before the step [N s]
    friction_change="f8[contacts]",  # the last change of that bound in this solve
    # of a patch's first point: 1 if the patch's bounds change to and fro in this solve
    to_and_fro="f8[contacts]",
    soft_slip_square="f8[contacts]",  # ε² of a friction law smoothed by √(‖v_t‖² + ε²)
    stiction_tolerance="f8[contacts]",  # v_s of a friction law with a ramp
    # of the Hunt–Crossley normal impulse: see `asperity.convex.potentials.normal`
    cutoff="f8[contacts]",
    normal_slope="f8[contacts]",
    normal_bend="f8[contacts]",
    # part of the normal impulse that is known before the step [N s]
    explicit_normal="f8[contacts]",
    normal_target="f8[contacts]",  # v̂_n of a linear spring and damper
    normal_gain="f8[contacts]",
    tangential_gain="f8[contacts]",
    dual1="f8[contacts]",  # estimates of the direction of friction,
    dual2="f8[contacts]",
    dual_n="f8[contacts]",  # and the lagged law's of the final speed below the cutoff
    # the normal impulse that is expected of the solution, for the first of these; or −1
    expected_impulse="f8[contacts]",
    stoppable="f8[contacts]",  # slip speed that friction could stop within the step
    # of continuous forces, for analytic Jacobians: their derivatives by the signed distance
    by_distance1="f8[contacts]",
    by_distance2="f8[contacts]",
    by_distance_n="f8[contacts]",
    # of contacts that rebound in a fixed step: the normal velocity at its end [m/s], else NaN
    rebound="f8[contacts]",
    # per row, sorted by island
    row_kind="i8[rows]",
    row_target="f8[rows]",
    row_gain="f8[rows]",
    row_lower="f8[rows]",
    row_upper="f8[rows]",
)
