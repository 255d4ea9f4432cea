"""Tables of `near_pairs`: what may touch in a model, and what may in a state."""

from __future__ import annotations

from asperity.compiled import Layout

__all__ = ["MODEL_NUMBERS", "NEAR_PAIRS", "PAIR_ARRAYS", "POSSIBLE_PAIRS"]

MODEL_NUMBERS = ("npair", "nbody", "ngeom", "body_contype", "body_conaffinity")
"""Fields of ``MjModel`` that collision detection gets other values of."""

PAIR_ARRAYS = (
    *("pair_geom1", "pair_geom2", "pair_dim", "pair_signature", "pair_margin", "pair_gap"),
    *("pair_solref", "pair_solreffriction", "pair_solimp", "pair_friction", "pair_adhesion"),
)
"""Arrays of ``MjModel`` that list pairs."""

POSSIBLE_PAIRS = Layout(
    "pairs that may touch in a model",
    stamp="i8",  # another one whenever this or MuJoCo's struct has changed; 0 of no pairs
    overridden="i8",  # whether margins are
    option_margin="f8",  # by this [m]
    by_type="i8",  # whether contacts of two bodies with several geoms are ordered by types
    # bodies that move and collide, tree by tree, and those of their geoms that collide
    tree_first="i8[:]",
    body="i8[:]",
    geom_first="i8[:]",
    geom="i8[:]",
    # later bodies of the same tree with which each of them may collide, by their places in the list
    inner_first="i8[:]",
    inner="i8[:]",
    excluded="i8[:]",  # signatures of bodies of two trees that do not collide
    # geoms that do not move, and which geoms they collide with
    fixed="i8[:]",
    fixed_collides="u1[:,:]",
    geom_reach="f8[:]",  # radius of a ball around the geom, with margin and gap [m]
    geom_margins="f8[:]",  # margin and gap
    geom_kind="i8[:]",  # the same number for geoms whose contacts have the same parameters
    body_geoms="i8[:]",  # how many geoms a body has
    # MuJoCo's arrays (views of the MjModel)
    geom_type="i4[:]",
    geom_contype="i4[:]",
    geom_conaffinity="i4[:]",
    geom_priority="i4[:]",
    geom_condim="i4[:]",
    geom_margin="f8[:]",
    geom_gap="f8[:]",
    geom_solmix="f8[:]",
    geom_solref="f8[:,:]",
    geom_solimp="f8[:,:]",
    geom_friction="f8[:,:]",
)

NEAR_PAIRS = Layout(
    "pairs that may touch in a state",
    stamp="i8",  # of the `POSSIBLE_PAIRS` that the struct below was made for
    struct="i8[words]",  # an ``mjModel`` whose pairs are those listed here
    **{"at_" + name: "i8" for name in (*MODEL_NUMBERS, *PAIR_ARRAYS)},  # there [bytes]
    body_box="f8[bodies, 6]",  # lower and upper ends of bodies in their list [m]
    tree_box="f8[trees, 6]",
    order="i8[:]",  # trees by their lower ends along an axis
    axis="i8",
    awake="i8[trees]",  # places in that order of those that are awake
    count="i8",  # −1 if there is no room
    key="i8[:]",  # bodies and geoms of pairs, as they are found
    ordered="i8[:]",  # and in the order in which MuJoCo finds them
    body_first="i8[bodies + 1]",
    kinds="i8[:]",  # of the geoms that the parameters below are of
    # as in ``MjModel``
    none="i4[2]",  # what bodies collide with
    pair_geom1="i4[:]",
    pair_geom2="i4[:]",
    pair_dim="i4[:]",
    pair_signature="i4[:]",
    pair_margin="f8[:]",
    pair_gap="f8[:]",
    pair_solref="f8[:,:]",
    pair_solreffriction="f8[:,:]",
    pair_solimp="f8[:,:]",
    pair_friction="f8[:,:]",
    pair_adhesion="f8[:]",
)
