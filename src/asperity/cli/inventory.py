"""Tables of what a model holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, SupportsInt

import mujoco
import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table

from asperity.cli.touching import touching_pairs
from asperity.compiled import Table as FieldTable
from asperity.contact.combination import UNSET
from asperity.contact.hydroelastic.field_layout import (
    COMPLIANT_HALF_SPACE,
    COMPLIANT_MESH,
    NO_SURFACE,
    RIGID_HALF_SPACE,
    RIGID_MESH,
)
from asperity.plant.model.contact_texts import parameters_of_model
from asperity.plant.model.material import COLUMNS
from asperity.plant.model.names import listed
from asperity.plant.model.servos import force_limits
from asperity.plant.plant import Plant

__all__ = ["inventory"]

_OBJ = mujoco.mjtObj
_HEADERS = ("N/m", "s/m", "friction", "dynamic", "m/s")
_MEANING = "stiffness, dissipation, friction, stiction tolerance"


def inventory(plant: Plant) -> Iterator[Table]:
    """Yield tables: totals, trees, actuators, constraints, collision, contact parameters."""
    model = plant.model
    yield _totals(model)
    if model.ntree:
        yield _trees(plant)
    if model.nactuator:
        yield _actuators(plant)
    yield from _constraints(model)
    yield _collision(model)
    yield _contact_parameters(plant)
    yield from _touching(plant)
    if plant.surfaces.any_compliant:
        yield _pressure_fields(plant)


def _table(title: str, columns: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    table = Table(title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for column in columns:
        justify: Literal["right", "left"] = "right" if column in numbers else "left"
        table.add_column(escape(column), justify=justify, overflow="fold")
    return table


def _name(model: mujoco.MjModel, kind: mujoco.mjtObj, index: SupportsInt) -> str:
    # Brackets in names would be read as markup.
    return escape(mujoco.mj_id2name(model, kind, int(index)) or f"#{index}")


def _totals(model: mujoco.MjModel) -> Table:
    name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
    table = _table(f"Model {name or '(unnamed)'}", ("", ""))
    table.show_header = False
    counts = {
        "bodies": model.nbody - 1,
        "joints": model.njnt,
        "degrees of freedom": model.nv,
        "geoms": model.ngeom,
        "actuators": model.nactuator,
        "sensors": model.nsensor,
        "keyframes": model.nkey,
        "cameras": model.ncam,
    }
    for label, count in counts.items():
        table.add_row(label, str(count))
    table.add_row(escape("mass [kg]"), f"{float(np.sum(model.body_mass)):.4g}")
    table.add_row(escape("gravity [m/s²]"), " ".join(f"{g:g}" for g in model.opt.gravity))
    for label, kind, count in (
        ("keyframe names", _OBJ.mjOBJ_KEY, model.nkey),
        ("camera names", _OBJ.mjOBJ_CAMERA, model.ncam),
    ):
        if count:
            table.add_row(label, listed([_name(model, kind, i) for i in range(count)], 12))
    return table


def _trees(plant: Plant) -> Table:
    model = plant.model
    numbers = ("dofs", "mass [kg]")
    table = _table("Kinematic trees", ("tree", "bodies", "joints", "dofs", "mass [kg]"), numbers)
    body_tree = np.asarray(model.body_treeid)
    for tree in range(model.ntree):
        bodies = np.flatnonzero(body_tree == tree)
        joints = np.flatnonzero(body_tree[model.jnt_bodyid] == tree)
        table.add_row(
            str(tree),
            listed([_name(model, _OBJ.mjOBJ_BODY, b) for b in bodies], 12),
            listed([_joint(model, j) for j in joints], 12),
            str(model.tree_dofnum[tree]),
            f"{float(np.sum(model.body_mass[bodies])):.4g}",
        )
    return table


def _joint(model: mujoco.MjModel, joint: SupportsInt) -> str:
    kind = mujoco.mjtJoint(int(model.jnt_type[int(joint)])).name.removeprefix("mjJNT_").lower()
    return f"{_name(model, _OBJ.mjOBJ_JOINT, joint)} ({kind})"


def _actuators(plant: Plant) -> Table:
    model = plant.model
    columns = ("actuator", "acts on", "treatment", "stiffness", "damping", "force limits")
    table = _table("Actuators", columns, ("stiffness", "damping"))
    servos = {int(output): k for k, output in enumerate(plant.table.actuators.servo_output)}
    targets = {
        mujoco.mjtTrn.mjTRN_JOINT: _OBJ.mjOBJ_JOINT,
        mujoco.mjtTrn.mjTRN_JOINTINPARENT: _OBJ.mjOBJ_JOINT,
        mujoco.mjtTrn.mjTRN_TENDON: _OBJ.mjOBJ_TENDON,
        mujoco.mjtTrn.mjTRN_SITE: _OBJ.mjOBJ_SITE,
        mujoco.mjtTrn.mjTRN_SLIDERCRANK: _OBJ.mjOBJ_SITE,
    }
    for i in range(len(model.actuator_gaintype)):
        transmission = mujoco.mjtTrn(int(model.actuator_trntype[i]))
        target = targets.get(transmission)
        on = transmission.name.removeprefix("mjTRN_").lower()
        if target is not None:
            on = _name(model, target, int(model.actuator_trnid[i, 0]))
        servo = servos.get(int(model.actuator_outadr[i]))
        limits = "none"
        if model.actuator_forcelimited[i]:
            limits = "{:g} to {:g}".format(*model.actuator_forcerange[i])
        stiffness = damping = ""
        treatment = "explicit"
        if servo is not None:
            treatment = "implicit"
            gain, bias = (
                plant.table.actuators.servo_gain[servo],
                plant.table.actuators.servo_bias[servo],
            )
            # Gains that multiply the control make the feedback depend on it.
            if not np.any(gain[1:]):
                stiffness, damping = f"{-bias[1]:.4g}", f"{-bias[2]:.4g}"
            low, high = force_limits(model, i)
            if high < 1e100:
                limits = f"{low:g} to {high:g}"
        name = _name(model, _OBJ.mjOBJ_ACTUATOR, i)
        table.add_row(name, on, treatment, stiffness, damping, limits)
    return table


def _constraints(model: mujoco.MjModel) -> Iterator[Table]:
    kinds: Counter[str] = Counter()
    for kind, limited in zip(model.jnt_type, model.jnt_limited, strict=True):
        if limited:
            label = mujoco.mjtJoint(int(kind)).name.removeprefix("mjJNT_").lower()
            kinds[f"joint limit ({label})"] += 1
    kinds["dry friction in a joint's degree of freedom"] = int(np.sum(model.dof_frictionloss > 0))
    for kind in model.eq_type:
        label = mujoco.mjtEq(int(kind)).name.removeprefix("mjEQ_").lower()
        kinds[f"equality ({label})"] += 1
    kinds["tendon limit"] = int(np.sum(model.tendon_limited > 0))
    kinds["dry friction in a tendon"] = int(np.sum(model.tendon_frictionloss > 0))
    present = {label: count for label, count in kinds.items() if count}
    if present:
        table = _table("Constraints", ("kind", "count"), ("count",))
        for label, count in present.items():
            table.add_row(label, str(count))
        yield table


def _collision(model: mujoco.MjModel) -> Table:
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    for pair in range(model.npair):
        collides[[model.pair_geom1[pair], model.pair_geom2[pair]]] = True
    title = f"Geoms that can collide: {int(np.sum(collides))} of {model.ngeom}"
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        title += ", but the model switches contacts off"
    table = _table(title, ("body", "geoms", "count"), ("count",))
    bodies = np.unique(model.geom_bodyid[collides])
    for body in bodies:
        geoms = np.flatnonzero(collides & (model.geom_bodyid == body))
        table.add_row(
            _name(model, _OBJ.mjOBJ_BODY, body),
            listed([_geom(model, g) for g in geoms], 8),
            str(len(geoms)),
        )
    if not len(bodies):
        table.add_row("none", "", "0")  # a table without rows would not show its title
    return table


def _geom(model: mujoco.MjModel, geom: SupportsInt) -> str:
    kind = mujoco.mjtGeom(int(model.geom_type[int(geom)])).name.removeprefix("mjGEOM_").lower()
    return f"{_name(model, _OBJ.mjOBJ_GEOM, geom)} ({kind})"


def _party(model: mujoco.MjModel, number: SupportsInt) -> str:
    """A geom, or a flex, which counts from the last geom on."""
    flex = int(number) - model.ngeom
    if flex >= 0:
        return f"{_name(model, _OBJ.mjOBJ_FLEX, flex)} (flex)"
    return _name(model, _OBJ.mjOBJ_GEOM, number)


def _contact_parameters(plant: Plant) -> Table:
    model, materials = plant.model, plant.materials
    table = _table(f"Contact parameters: {_MEANING}", ("of", *_HEADERS, "source"), _HEADERS)
    table.add_row("every pair", *_values(materials.default, default=True), _sources(model))
    rows, counts = np.unique(materials.geoms, axis=0, return_inverse=True)
    for k, row in enumerate(rows):
        if np.all(row == UNSET):
            continue
        geoms = np.flatnonzero(counts.ravel() == k)
        names = listed([_party(model, g) for g in geoms])
        table.add_row(f"own: {names}", *_values(row), "model")
    for key, row in zip(materials.pair_keys, materials.pairs, strict=True):
        names = " | ".join(_party(model, g) for g in divmod(int(key), len(materials.geoms)))
        table.add_row(f"pair: {names}", *_values(row), "model")
    return table


def _touching(plant: Plant) -> Iterator[Table]:
    """Combined parameters of all pairs that may touch."""
    model = plant.model
    headers = ("pairs", *_HEADERS)
    table = _table(f"Pairs that may touch: {_MEANING}", ("geoms", "and", *headers), headers)
    for pairs in touching_pairs(plant):
        sides = (
            listed([_party(model, g) for g in side], 3) for side in (pairs.first, pairs.second)
        )
        table.add_row(*sides, str(pairs.number), *_values(pairs.values)[:-1])
    if table.row_count:
        yield table


def _values(row: np.ndarray, default: bool = False) -> list[str]:
    values = ["" if value == UNSET else f"{value:g}" for value in row]
    if default:
        # Friction without a value is MuJoCo's combination of the geoms' coefficients.
        values[2] = values[2] or "per geom"
        values[3] = values[3] or "as static"
    return values


def _sources(model: mujoco.MjModel) -> str:
    """Which values for every pair the model states itself, in a ``<custom>`` text."""
    given = parameters_of_model(model)
    stated = [name.replace("_", " ") for name in COLUMNS if getattr(given, name) is not None]
    if not stated:
        return "defaults"
    return f"model: {', '.join(stated)}; else defaults"


def _pressure_fields(plant: Plant) -> Table:
    """Geoms that share a field, with its size and how stiff it is per area."""
    model, fields = plant.model, plant.fields
    numbers = ("depth ℓ [mm]", "E [Pa]", "E/ℓ [Pa/m]")
    columns = ("geoms", "surface", "made of", *numbers)
    table = _table("Pressure fields (E: hydroelastic modulus)", columns, numbers)
    kinds = {
        COMPLIANT_MESH: "compliant",
        COMPLIANT_HALF_SPACE: "compliant",
        RIGID_MESH: "rigid",
        RIGID_HALF_SPACE: "rigid",
    }
    rows: dict[tuple[int, int, float, float], list[int]] = {}
    for geom in np.flatnonzero(fields.geom_kind != NO_SURFACE):
        kind, number = int(fields.geom_kind[geom]), int(fields.geom_field[geom])
        key = (kind, number, float(fields.geom_modulus[geom]), float(fields.geom_depth[geom]))
        rows.setdefault(key, []).append(int(geom))
    for (kind, number, modulus, depth), geoms in rows.items():
        soft = kinds[kind] == "compliant"
        table.add_row(
            listed([_geom(model, g) for g in geoms], 8),
            kinds[kind],
            _elements(fields, number, soft),
            f"{1e3 * depth:.3g}" if soft else "",
            f"{modulus:.3g}" if soft else "",
            f"{modulus / depth:.3g}" if soft else "",
        )
    return table


def _elements(fields: FieldTable, number: int, soft: bool) -> str:
    if number < 0:
        return "half-space"
    if soft:
        return f"{int(fields.tetrahedron_count[number])} tets"
    return f"{int(fields.triangle_count[number])} triangles"
