"""TAMSI's contact impulses for one step, and their derivatives (TAMSI V).

With the step δt, the contact velocity (v_t, v_n) at the end of the step, f_e0 = −k φ_0 and
s = ‖v_t‖/v_s:

    γ_n = δt π(v_n),   π = (f_e0 − δt k v_n)₊ (1 − d v_n)₊                     equations 5 and 19
    γ_t = −δt μ̃(s) π(v_n) v_t/‖v_t‖                                           equations 6 and 7

μ̃(s) = μ min(s, 1), or with the parabola of Drake's implementation μ s (2 − s) below 1. There
‖v_t‖ is softened to √(‖v_t‖² + ε_v²), ε_v = ε v_s, because the parabola's slope is steepest where
v_t has no direction. As with SAP there is one coefficient of friction, the dynamic one.

One-way coupling takes π = k (−φ_0)₊ (1 − d v_n0)₊ of the beginning of the step: semi-implicit Euler
(equations 10 to 12), explicit in normal forces.

−∂γ/∂v is kept in ``h11, h12, h22, hnn`` and, because friction depends on v_n but γ_n not on v_t, in
the column ``h1n, h2n`` alone; the row below it is zero.
"""

from __future__ import annotations

import numpy as np
from numba import types

from asperity.compiled import compiled, entry_point
from asperity.contact.contact_set import CONTACT_SET
from asperity.contact.laws import normal_force
from asperity.convex.potentials.laws import ContactLaw
from asperity.convex.potentials.normal import normal_impulse, normal_numbers
from asperity.convex.problem import PROBLEM
from asperity.integrators.tamsi.layout import TAMSI

__all__ = ["ONE_WAY", "TAMSI_LAW", "TWO_WAY"]

TAMSI_LAW = 3
"""The law's number, beside those in `asperity.convex.problem`."""

_problem = PROBLEM.get
_contacts = CONTACT_SET.get
_tamsi = TAMSI.get

_I = types.int64
_F = types.float64


@compiled
def _prepare(problem, contacts, step, ncontact, two_way):
    order = _problem(problem, "contact")
    vn = _problem(problem, "vn")
    friction = _problem(problem, "friction")
    softness = _problem(problem, "softness")
    cutoff = _problem(problem, "cutoff")
    normal_slope = _problem(problem, "normal_slope")
    normal_bend = _problem(problem, "normal_bend")
    lagged_normal = _problem(problem, "lagged_normal")
    signed_distance = _contacts(contacts, "signed_distance")
    stiffness = _contacts(contacts, "stiffness")
    material_dissipation = _contacts(contacts, "dissipation")
    dynamic_friction = _contacts(contacts, "dynamic_friction")
    stiction_tolerance = _contacts(contacts, "stiction_tolerance")
    for i in range(ncontact):
        c = order[i]
        k = stiffness[c]
        d = material_dissipation[c]
        friction[i] = dynamic_friction[c]
        softness[i] = stiction_tolerance[c]
        if two_way:
            force = -k * signed_distance[c]
            cutoff[i], normal_slope[i], normal_bend[i] = normal_numbers(force, k, d, step)
            lagged_normal[i] = 0.0
        else:
            cutoff[i] = normal_slope[i] = normal_bend[i] = 0.0
            lagged_normal[i] = step * normal_force(k, d, signed_distance[c], vn[i])


@entry_point(_I(_I, _I, _F, _I))
def _prepare_two_way(problem, contacts, step, ncontact):
    _prepare(problem, contacts, step, ncontact, True)
    return 0


@entry_point(_I(_I, _I, _F, _I))
def _prepare_one_way(problem, contacts, step, ncontact):
    _prepare(problem, contacts, step, ncontact, False)
    return 0


@entry_point(_F(_I, _I, _I))
def _evaluate(problem, first, last):
    """Fill impulses and their derivatives of contacts ``first .. last``; there is no cost."""
    tamsi = _problem(problem, "extension")
    parabolic = _tamsi(tamsi, "parabolic") == 1
    relative = _tamsi(tamsi, "relative")
    v1 = _problem(problem, "v1")
    v2 = _problem(problem, "v2")
    vn = _problem(problem, "vn")
    g1 = _problem(problem, "g1")
    g2 = _problem(problem, "g2")
    gn = _problem(problem, "gn")
    h11 = _problem(problem, "h11")
    h12 = _problem(problem, "h12")
    h22 = _problem(problem, "h22")
    hnn = _problem(problem, "hnn")
    h1n = _problem(problem, "h1n")
    h2n = _problem(problem, "h2n")
    friction = _problem(problem, "friction")
    softness = _problem(problem, "softness")
    cutoff = _problem(problem, "cutoff")
    normal_slope = _problem(problem, "normal_slope")
    normal_bend = _problem(problem, "normal_bend")
    lagged_normal = _problem(problem, "lagged_normal")
    for i in range(first, last):
        speed = max(cutoff[i] - vn[i], 0.0)
        normal, curvature, _ = normal_impulse(speed, normal_slope[i], normal_bend[i])
        normal += lagged_normal[i]
        steepness = curvature if speed > 0.0 else 0.0
        gn[i] = normal
        hnn[i] = steepness
        x = v1[i]
        y = v2[i]
        tolerance = softness[i]
        square = x * x + y * y
        if parabolic:
            square += relative * relative * tolerance * tolerance
        speed = np.sqrt(square)
        # μ̃/‖v_t‖, and the difference of that to μ̃'/v_s over ‖v_t‖².
        if speed < tolerance:
            if parabolic:
                share = (2.0 - speed / tolerance) / tolerance
                bend = 1.0 / (tolerance * tolerance * speed)
            else:
                share = 1.0 / tolerance
                bend = 0.0
        else:
            share = 1.0 / speed
            bend = share / square
        share *= friction[i]
        bend *= friction[i] * normal
        g1[i] = -share * normal * x
        g2[i] = -share * normal * y
        h11[i] = share * normal - bend * x * x
        h12[i] = -bend * x * y
        h22[i] = share * normal - bend * y * y
        h1n[i] = -share * x * steepness
        h2n[i] = -share * y * steepness
    return 0.0


@entry_point(_F(_I, _I, _I, _F))
def _no_cost(_problem_address, _first, _last, _alpha):
    """Stand in for costs along a direction: forces that are not a gradient have none."""
    return np.nan


TWO_WAY = ContactLaw(TAMSI_LAW, _prepare_two_way, _evaluate, _no_cost, _no_cost)
ONE_WAY = ContactLaw(TAMSI_LAW, _prepare_one_way, _evaluate, _no_cost, _no_cost)
