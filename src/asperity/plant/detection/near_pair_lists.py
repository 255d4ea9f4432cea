"""Lists of near geoms as MuJoCo takes them (`asperity.plant.detection.near_pairs`)."""

from __future__ import annotations

from numba import types

from asperity.compiled import Table, compiled, entry_point
from asperity.compiled.calls import load_address, store_address, store_int
from asperity.plant.detection.near_pair_kernels import bound_trees, compare_all
from asperity.plant.plant_layouts import PLANT, STATE

__all__ = ["list_pairs", "point_to_pairs"]

_WORD = 8
_INT = 4
_BITS = 0xFFFF
_LEAST_MIX = 1e-15


@compiled
def _order_pairs(plant: Table, near: Table) -> None:
    """Order the pairs by their bodies and geoms: at first by first bodies."""
    first = near.body_first
    for body in range(plant.nbody + 1):
        first[body] = 0
    for k in range(near.count):
        first[(near.key[k] >> 48) + 1] += 1
    for body in range(plant.nbody):
        first[body + 1] += first[body]
    for k in range(near.count):
        body = near.key[k] >> 48
        near.ordered[first[body]] = near.key[k]
        first[body] += 1
    ordered = near.ordered
    for k in range(1, near.count):
        key = ordered[k]
        at = k
        while at > 0 and ordered[at - 1] > key:
            ordered[at] = ordered[at - 1]
            at -= 1
        ordered[at] = key


@compiled
def _mixed(possible: Table, a: int, b: int) -> float:
    """Geom ``a``'s part of what is mixed."""
    first = possible.geom_solmix[a]
    second = possible.geom_solmix[b]
    if first >= _LEAST_MIX and second >= _LEAST_MIX:
        return first / (first + second)
    if first < _LEAST_MIX and second < _LEAST_MIX:
        return 0.5
    return 0.0 if first < _LEAST_MIX else 1.0


@compiled
def _write_pair(possible: Table, near: Table, at: int, a: int, b: int) -> None:
    """Write two geoms with the parameters of their contacts, as MuJoCo combines them."""
    near.pair_geom1[at] = a
    near.pair_geom2[at] = b
    # Most geoms of most models have the same parameters, which are there from the last time.
    kinds = (possible.geom_kind[a] << 32) + possible.geom_kind[b]
    if near.kinds[at] == kinds:
        return
    near.kinds[at] = kinds
    near.pair_margin[at] = possible.geom_margin[a] + possible.geom_margin[b]
    near.pair_gap[at] = possible.geom_gap[a] + possible.geom_gap[b]
    ahead = possible.geom_priority[a] - possible.geom_priority[b]
    mix = _mixed(possible, a, b)
    if ahead != 0:
        mix = 1.0 if ahead > 0 else 0.0
    rest = 1.0 - mix
    ref = possible.geom_solref
    imp = possible.geom_solimp
    for k in range(ref.shape[1]):
        if ahead != 0 or (ref[a, 0] > 0.0 and ref[b, 0] > 0.0):
            near.pair_solref[at, k] = mix * ref[a, k] + rest * ref[b, k]
        else:
            near.pair_solref[at, k] = min(ref[a, k], ref[b, k])
    for k in range(imp.shape[1]):
        near.pair_solimp[at, k] = mix * imp[a, k] + rest * imp[b, k]
    # That with the higher priority has its own, or the larger ones count.
    c = b if ahead < 0 else a
    d = a if ahead > 0 else b
    mu = possible.geom_friction
    near.pair_dim[at] = max(possible.geom_condim[c], possible.geom_condim[d])
    near.pair_friction[at, 0] = max(mu[c, 0], mu[d, 0])
    near.pair_friction[at, 1] = near.pair_friction[at, 0]
    near.pair_friction[at, 2] = max(mu[c, 1], mu[d, 1])
    near.pair_friction[at, 3] = max(mu[c, 2], mu[d, 2])
    near.pair_friction[at, 4] = near.pair_friction[at, 3]


@compiled
def point_to_pairs(near: Table, struct: int, first: int, count: int) -> None:
    """Let an ``mjModel`` have so many pairs of the list, from the first one on."""
    store_int(struct + near.at_npair, count)
    integers = _INT * first
    store_address(struct + near.at_pair_geom1, near.pair_geom1.ctypes.data + integers)
    store_address(struct + near.at_pair_geom2, near.pair_geom2.ctypes.data + integers)
    store_address(struct + near.at_pair_dim, near.pair_dim.ctypes.data + integers)
    store_address(struct + near.at_pair_signature, near.pair_signature.ctypes.data + integers)
    reals = _WORD * first
    store_address(struct + near.at_pair_margin, near.pair_margin.ctypes.data + reals)
    store_address(struct + near.at_pair_gap, near.pair_gap.ctypes.data + reals)
    store_address(struct + near.at_pair_adhesion, near.pair_adhesion.ctypes.data + reals)
    two = reals * near.pair_solref.shape[1]
    store_address(struct + near.at_pair_solref, near.pair_solref.ctypes.data + two)
    store_address(struct + near.at_pair_solreffriction, near.pair_solreffriction.ctypes.data + two)
    five = reals * near.pair_solimp.shape[1]
    store_address(struct + near.at_pair_solimp, near.pair_solimp.ctypes.data + five)
    five = reals * near.pair_friction.shape[1]
    store_address(struct + near.at_pair_friction, near.pair_friction.ctypes.data + five)


@compiled
def _copy_model(source: int, near: Table) -> None:
    """Copy MuJoCo's struct, without what searches pairs."""
    struct = near.struct.ctypes.data
    for word in range(near.struct.size):
        store_address(struct + _WORD * word, load_address(source + _WORD * word))
    # The world and a body that collides with nothing.
    store_int(struct + near.at_nbody, 2)
    store_int(struct + near.at_ngeom, 0)
    store_address(struct + near.at_body_contype, near.none.ctypes.data)
    store_address(struct + near.at_body_conaffinity, near.none.ctypes.data)


@entry_point(types.int64(PLANT.type, STATE.type))
def list_pairs(plant: Table, state: Table) -> int:
    """Address of a model in which only what is near collides, for a state with its positions.

    If more is near than there is room for, that of the model in which MuJoCo searches.
    """
    possible = plant.possible_pairs
    near = state.near_pairs
    bound_trees(plant, state)
    compare_all(plant, state)
    if near.count < 0:
        return plant.detection_model
    _order_pairs(plant, near)
    struct = near.struct.ctypes.data
    if near.stamp != possible.stamp:
        _copy_model(plant.detection_model, near)
        near.stamp = possible.stamp
        for k in range(near.kinds.size):
            near.kinds[k] = -1
    for k in range(near.count):
        key = near.ordered[k]
        _write_pair(possible, near, k, (key >> 16) & _BITS, key & _BITS)
    point_to_pairs(near, struct, 0, near.count)
    return struct
