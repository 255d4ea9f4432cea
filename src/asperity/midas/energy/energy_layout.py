"""Friction, the schedule of contacts, and the blocks of the Hessian."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "FRICTION",
    "HESSIAN",
    "SCHEDULE",
]

FRICTION = Layout(
    "friction",
    count="i8",  # stencils with friction
    at_iterate="i8",  # 1 while friction is collected with links at the iterate
    turn_share="f8",  # of the direction, by which friction's duals are moved
    bound="f8[run_room]",  # μλ of candidates [N]
    # Friction's stencils, frozen over a solve.
    pair="i8[stencil_room]",
    link="i8[stencil_room, 2]",
    weight="f8[stencil_room, 2, 4]",  # Σ c_i [1, x̄_i] of both sides
    frame="f8[stencil_room, 2, 3]",  # tangents
    force="f8[stencil_room]",  # μ λ [N]
    drift="f8[stencil_room, 2]",  # velocity of surfaces along the tangents [m/s]
    rebound="f8[stencil_room]",  # what it bears besides in a rebound [N]
    dual="f8[stencil_room, 5]",  # what the Hessian takes for f₁ u/|u|, in the unit ball
    arrow="f8[kind_room, 2, 2, 4]",  # y of normal and first tangent (`friction_kinds`)
)
"""Stencils with friction."""

SCHEDULE = Layout(
    "schedule",
    first_meeting="i8",  # first part of a round of the schedule
    # Contacts and friction by the parts of the schedule (`contact_schedule`).
    link_group="i8[:]",
    meeting="i8[:,:]",  # part of two groups
    run_part="i8[run_room]",
    run_schedule="i8[schedule_size + 1]",
    run_order="i8[run_room]",
    friction_schedule="i8[schedule_size + 1]",
    friction_order="i8[stencil_room]",
    friction_part="i8[stencil_room]",
)
"""Which thread sums which contacts, so that sums have one order."""

HESSIAN = Layout(
    "hessian",
    slots="i8",  # pairs of moving links with a Hessian block
    couples="i8",  # the same, with those that get one from the links they carry
    block_slot="i8[blocks] = -1",  # Hessian block in use, or −1
    link_block="f8[links, 12, 12]",
    link_sums="f8[links, sum_rows, 16]",  # those of contacts and friction, as `add_outer` sums them
    # Pairs with a block, the smaller link first: those in use, and then what links hand on to their
    # parents (`coupled_links`).
    slot_link="i8[slot_room, 2]",
    slot_sums="f8[slot_room, sum_rows, 16]",
    slot_next="i8[slot_room]",  # another pair of the same larger link, or −1
    slot_first="i8[links]",  # first pair of which a link is the larger, or −1
    # Links whose variables a link's have an entry with, itself first, children before parents:
    # entry_start[l] to entry_start[l + 1].
    entry_start="i8[links + 1]",
    entry_link="i8[entry_room]",
    # Space of `tree_assembly`: where links are carried by their parents, how slides move them, a
    # link's rows in the coordinates of every other.
    carry="f8[links, 4, 4]",
    slide_motion="f8[links, 3]",
    link_rows="f8[links, 12, 12]",
    rows_used="i8[links]",  # 1 if there is anything in them
)
"""Blocks of links and of pairs of links."""
