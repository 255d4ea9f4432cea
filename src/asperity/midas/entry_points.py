"""Names of the engine's entry points, whose addresses its table has."""

from __future__ import annotations

__all__ = ["ENTRY_POINTS"]

ENTRY_POINTS = (
    "assemble",
    "rebuild",
    "find_direction",
    "minimize",
    "do_part",
    "place_trial_vertices",
    "place_now_vertices",
    "place_start_vertices",
    "link_pair_part",
    "link_pair_time_part",
    "do_search",
    "merge_lists",
    "search_part",
    "measure_all_part",
    "measure_trial_part",
    "measure_now_part",
    "touch_part",
    "anticipate_part",
    "follow_part",
    "contact_energy_part",
    "count_friction_part",
    "collect_friction_part",
    "friction_energy_part",
    "turn_friction_part",
    "slip_change_part",
    "link_energy_part",
    "link_terms_part",
    "predict_part",
    "contacts_part",
    "do_meeting",
    "carry_part",
    "factorize_part",
    "solve_part",
    "do_soft",
)
"""Fields with addresses of compiled entry points, of the same names; 0 of those not needed."""
