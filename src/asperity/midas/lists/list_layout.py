"""The broad phase: boxes, what it searches, and the candidates that it lists."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = [
    "BOXES",
    "BOX_TREES",
    "CANDIDATES",
    "RELATIVE",
    "RUNS",
    "SEARCH",
]

BOXES = Layout(
    "boxes",
    longest_move="f8",  # length of paths that vertices are given boxes for [m]
    least_slack="f8",  # how much wider it is at least [m]
    list_number="i8",  # lists of candidates so far, which boxes of trees are stamped with
    widening="f8",  # how much wider than a path its box is, as a share of the path's length
    boxed_widening="f8",  # that of the boxes at hand
    listed="i8",  # what of the list may serve later steps (`vertex_boxes`), 0 without a list
    # Boxes that vertices stay in while the candidates hold (`vertex_boxes`), and how far they let
    # these move.
    low="f8[:,:]",
    high="f8[:,:]",
    reach="f8[vertices]",
    shape_boxed="i8[shapes] = 1",  # 0 if its vertices need no boxes
    stamp="i8[vertices]",  # number of the list that they were made for
    start="f8[:,:]",
    path="f8[vertices, 3]",
    path_begin="f8[links + 1, 4, 3]",  # the links' coordinates between which their paths are
    path_end="f8[links + 1, 4, 3]",
    path_length="f8[links + 1]",  # of the longest of a link, or more [m]
    link_path="f8[links + 1, 4, 3]",  # what boxes hold of the paths, as a change of coordinates
)
"""Boxes that hold the paths of vertices."""

RELATIVE = Layout(
    "relative",
    # Pairs of links of one tree, which are looked at from one of them (`link_pair_paths`), and of
    # links and the world, one after the other. Trees that one body carries, which does not move,
    # are one tree here.
    link_folds="i8[:]",  # 1 for links of trees of which two links may touch
    link_box="f8[:,:,:]",  # box of a link's vertices in rest coordinates, shape (n, 2, 3)
    link_stretch="f8[:]",  # least σ of its axes while pairs are looked at from it
    q_seen="f8[:,:,:]",  # where the links were when their ways were last measured
    link_way="f8[:,:]",  # lengths of the ways there, of origins [m] and of axes, shape (n, 2)
    link_ahead="f8[:,:]",  # the same with the way from there to the trial state
    any="i8",  # 1 if there are such pairs
    link="i8[:,:]",  # the base and the other one, −1 of different trees, shape (p, 2)
    state="i8[:]",  # whether it is such a pair now, and whether it may come near
    kept="i8[:]",  # 1 if it keeps its candidates
    start="f8[:,:,:]",  # G₀, shape (p, 4, 3)
    path="f8[:,:,:]",  # ΔG
    pivot="f8[:,:]",  # c, shape (p, 3)
    width="f8[:,:]",  # a [m] and b, shape (p, 2)
    radius="f8[:]",  # sum of the largest radii of their shapes [m]
    reach="f8[:]",  # distance that counts as near where links are [m]
    lever="f8[:,:]",  # |c|, largest |r| of it [m], and largest stretch of G, shape (p, 3)
    spare="f8[:,:]",  # ways up to which they keep to their path for sure, shape (p, 2)
)
"""Pairs of links that are looked at from one of them."""

BOX_TREES = Layout(
    "box_trees",
    # Trees over the vertices, edges and faces of shape s (`box_trees`), numbers 3s to 3s + 2.
    item="i8[:]",  # vertices, edges and faces in the order of the trees
    first="i8[:]",  # first item of a tree
    node="i8[:]",  # where node 0 of a tree would be
    depth="i8[:]",
    box="f8[:,:,:]",  # in rest coordinates, shape (nodes, 2, 3)
    placed="f8[:,:,:]",  # where the links are and go
    stamp="i8[:]",
)
"""Trees of boxes over the vertices, edges and faces of shapes."""

SEARCH = Layout(
    "search",
    # Thirds of pairs of shapes that may meet, who has listed their candidates, and where these are.
    count="i8",
    third="i8[thirds]",
    found="i8[thirds, 3]",
)
"""Thirds of pairs of shapes, which the search is divided by."""

RUNS = Layout(
    "runs",
    now_square="f8[run_room]",  # of the iterate
    # Runs of candidates (`candidate_runs`), begin[r] to begin[r + 1].
    count="i8",
    begin="i8[run_room + 1]",
    link="i8[run_room, 2]",
    activation="f8[run_room]",  # d̂ of its pair [m]
    # bound of the least distance at the iterate, exact if it is within reach
    least="f8[run_room]",
    trial="f8[run_room]",  # at the trial state
    state="i8[run_room]",
    known="i8[run_room]",
    expects="i8[run_room]",  # 1 if some of it may be expected to touch
    anchored="i8[run_room]",  # 1 if some of it may have an anchor
    link_move="f8[links + 1]",  # bound of how far points move to the trial state [m]
)
"""Runs of candidates of one pair of links."""

CANDIDATES = Layout(
    "candidates",
    count="i8",  # stencils that may touch in this step
    kind="i8[list_room]",
    vertex="i8[list_room + 1, 4]",
    pair="i8[list_room]",
    weight="f8[list_room]",  # contact area [m²]
    threshold="f8[list_room]",  # of the mollifier
    square="f8[list_room]",  # as last measured
    coefficient="f8[list_room + 1, 6]",
    arm="f8[list_room + 1, 3]",
    final="f8[list_room]",  # ratio D/d̂ where it is expected to be; 1: without contact
    anchor="f8[list_room]",  # ratio D/d̂ where its barrier is linearized; 0: where it is
)
"""Stencils that may come closer than the activation distance of their pair."""
