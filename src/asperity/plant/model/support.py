"""What a model may not contain, because Asperity would simulate it wrongly, and what it ignores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.dependent_slides import check_slides
from asperity.plant.model.finite import check_finite
from asperity.plant.model.flex_checks import check_flexes, flex_notes
from asperity.plant.model.model_view import bare, remembered
from asperity.plant.model.names import element, kinds, listed, refuse_first
from asperity.plant.model.sleep import awake_notes, trees_to_start_asleep

__all__ = [
    "EQUALITIES",
    "check_supported",
    "has_every_friction",
    "has_uneven_friction",
    "refuse_adhesion",
]

_OBJ = mujoco.mjtObj
EQUALITIES = kinds(mujoco.mjtEq, "CONNECT", "WELD", "JOINT", "TENDON", "FLEX", "FLEXSTRAIN")
"""Those that are simulated; of the edges of a flex `check_flexes` refuses what is not."""

_CALLBACKS = (
    "control",
    "passive",
    "contactfilter",
    "act_dyn",
    "act_gain",
    "act_bias",
    "sensor",
    "time",
)


def check_supported(
    model: mujoco.MjModel,
    *,
    integrator: str = "The integrator",
    every_actuator: bool = False,
    every_friction: bool = False,
    asks_mujoco: bool = False,
    no_flexes: str | None = "a simulation of many worlds",
    sleep: bool = False,
    starts_asleep: bool = False,
) -> tuple[str, ...]:
    """Refuse a model that cannot be simulated faithfully.

    Parameters
    ----------
    model : mujoco.MjModel
    integrator : str
        Its name, for sentences.
    every_actuator : bool
        Whether the integrator knows actuators on bodies and those with inner states.
    every_friction : bool
        Whether the integrator knows torsion, rolling, different friction along the tangents, and
        adhesion of geoms.
    asks_mujoco : bool
        Whether MuJoCo is asked for inertia and forces at every state, as plugins of bodies need.
    no_flexes : str or None
        Who does not simulate deformable bodies, or None if they are simulated.
    sleep : bool
        Whether bodies at rest may sleep.
    starts_asleep : bool
        Whether bodies may start asleep.

    Returns
    -------
    tuple of str
        Sentences about what is ignored or treated differently than MuJoCo would.

    Raises
    ------
    ModelError
        If the model holds something unsupported or a number that is not finite, or if a MuJoCo
        callback is installed; the message names it.
    """
    for name in _CALLBACKS:
        if getattr(mujoco, f"get_mjcb_{name}")() is not None:
            raise ModelError(
                f"A global MuJoCo callback is installed (mjcb_{name}), which compiled simulation "
                f"cannot call; remove it with mujoco.set_mjcb_{name}(None) and pass the Simulator "
                "a `control=` callback instead."
            )
    check_flexes(bare(model), no_flexes)
    for index, name in _plugins(model):
        if not (asks_mujoco or index in model.actuator_plugin):
            raise ModelError(
                f"{name}, which any integrator but Midas knows; use one, or remove the plugin."
            )
        if model.plugin_statenum[index] > 0:
            raise ModelError(
                f"{name}, and only plugins without a state of their own are known; use a built-in "
                "element instead."
            )
    for check in _CHECKS:
        check(model)
    if asks_mujoco:
        check_slides(model)
    if not (every_friction and model.flg_adhesion):
        refuse_adhesion(model)
    if not every_actuator:
        _sticky(model)
        _inner_states(model)
    check_finite(model)
    notes = [*_notes(model, sleep, starts_asleep), *flex_notes(bare(model))]
    if asks_mujoco and any(_plugins(model)):
        notes.append(
            "Forces of plugins are those of a step's beginning; stiff ones need short steps."
        )
    if asks_mujoco and (names := _mocap_geoms(model)):
        notes.append(
            "Mocap bodies jump from pose to pose, as in MuJoCo: they carry nothing by friction, "
            "and push at 1/dissipation at most (Sap: at any speed). If they are to carry and push, "
            f"weld a body with their geoms to them, or use Midas: {listed(names)}."
        )
    if not every_friction and (names := _named_friction(model)):
        notes.append(
            f"{integrator} ignores torsional and rolling friction, and takes the first coefficient "
            "of sliding for both directions; torsion comes from contact over an area alone: "
            f"{listed(names)}."
        )
    return tuple(notes)


def _plugins(model: mujoco.MjModel) -> Iterator[tuple[int, str]]:
    """Number of every plugin that physics comes from, and what says so."""
    for kind, uses in (
        (_OBJ.mjOBJ_BODY, model.body_plugin),
        (_OBJ.mjOBJ_ACTUATOR, model.actuator_plugin),
        (_OBJ.mjOBJ_GEOM, model.geom_plugin),
    ):
        for index in np.flatnonzero(uses >= 0):
            if kind == _OBJ.mjOBJ_GEOM and model.geom_type[index] == mujoco.mjtGeom.mjGEOM_SDF:
                continue  # its shape, which only MuJoCo's collision detection asks for
            plugin = int(uses[index])
            instance = element(model, _OBJ.mjOBJ_PLUGIN, plugin)
            yield plugin, f"{element(model, kind, index)} takes its forces from {instance}"


@remembered
def _actuators(model: mujoco.MjModel) -> None:
    user = (
        (model.actuator_gaintype == mujoco.mjtGain.mjGAIN_USER)
        | (model.actuator_biastype == mujoco.mjtBias.mjBIAS_USER)
        | (model.actuator_dyntype == mujoco.mjtDyn.mjDYN_USER)
    )
    refuse_first(
        model,
        _OBJ.mjOBJ_ACTUATOR,
        user,
        "has a user-defined gain, bias or dynamics, which needs a MuJoCo callback; use a motor and "
        "compute its control in the Simulator's `control=` callback.",
    )


@remembered
def _sticky(model: mujoco.MjModel) -> None:
    refuse_first(
        model,
        _OBJ.mjOBJ_ACTUATOR,
        model.actuator_trntype == mujoco.mjtTrn.mjTRN_BODY,
        "is an adhesion actuator, which only Cenic, Icf, Sap, Tamsi and Midas know; use one of "
        "them, remove it, or use an equality constraint to hold things.",
    )


@remembered
def _inner_states(model: mujoco.MjModel) -> None:
    refuse_first(
        model,
        _OBJ.mjOBJ_ACTUATOR,
        np.isin(model.actuator_dyntype, list(kinds(mujoco.mjtDyn, "PID", "DCMOTOR"))),
        "is a PID controller or a DC motor with inner states, which Cenic, Icf, Sap, Tamsi and "
        "Midas integrate; use one of them, a motor or a position servo, or a `control=` callback.",
    )


@remembered
def refuse_adhesion(model: mujoco.MjModel) -> None:
    """Refuse geoms and pairs that hold fast, naming the first of them."""
    why = (
        "which only Cenic, Icf, Sap, Tamsi and Midas know; use one of them, or set it to zero."
        if model.flg_adhesion
        else "and the model was compiled when nothing had any; compile it with adhesion."
    )
    refuse_first(model, _OBJ.mjOBJ_GEOM, model.geom_adhesion, f"has adhesion, {why}")
    refuse_first(model, _OBJ.mjOBJ_PAIR, model.pair_adhesion, f"has adhesion, {why}")


@remembered
def _plasticity(model: mujoco.MjModel) -> None:
    why = "has a plastic spring (springyield), whose state is not integrated; remove springyield."
    refuse_first(model, _OBJ.mjOBJ_JOINT, model.jnt_plasticadr >= 0, why)
    refuse_first(model, _OBJ.mjOBJ_TENDON, model.tendon_plasticadr >= 0, why)


@remembered
def _equalities(model: mujoco.MjModel) -> None:
    for index in range(model.neq):
        if int(model.eq_type[index]) not in EQUALITIES:
            kind = mujoco.mjtEq(model.eq_type[index]).name.removeprefix("mjEQ_").lower()
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_EQUALITY, index)} is of type '{kind}', and only "
                "connect, weld, joint, tendon and flex are supported; remove it."
            )


@remembered
def _indices(model: mujoco.MjModel) -> None:
    """Refuse indices of elements that there are not, which MuJoCo follows without looking."""
    kinds = mujoco.mjtGeom
    fields = np.isin(model.geom_type, [int(kinds.mjGEOM_MESH), int(kinds.mjGEOM_SDF)])
    heights = model.geom_type == int(kinds.mjGEOM_HFIELD)
    data = model.geom_dataid
    known = (model.geom_type >= 0) & (model.geom_type <= int(kinds.mjGEOM_SDF))
    lacks = fields & ((data < 0) | (data >= model.nmesh))
    lacks |= heights & ((data < 0) | (data >= model.nhfield))
    for geom in np.flatnonzero(lacks | ~known):
        raise ModelError(
            f"{element(model, _OBJ.mjOBJ_GEOM, geom)} has the type {int(model.geom_type[geom])} "
            "and no mesh or height field of that type (geom_dataid); load a model in which it has "
            "one."
        )


_CHECKS: tuple[Callable[[mujoco.MjModel], None], ...] = (
    _actuators,
    _plasticity,
    _equalities,
    _indices,
)


@remembered
def _mocap_geoms(model: mujoco.MjModel) -> list[str]:
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    told = model.body_mocapid[model.body_rootid[model.geom_bodyid]] >= 0
    return [element(model, _OBJ.mjOBJ_GEOM, i) for i in np.flatnonzero(collides & told)]


@remembered
def _named_friction(model: mujoco.MjModel) -> list[str]:
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    uneven = (model.pair_dim > 1) & (model.pair_friction[:, 0] != model.pair_friction[:, 1])
    geoms = np.flatnonzero(collides & (model.geom_condim > 3))
    pairs = np.flatnonzero((model.pair_dim > 3) | uneven)
    names = [element(model, _OBJ.mjOBJ_GEOM, i) for i in geoms]
    return names + [element(model, _OBJ.mjOBJ_PAIR, i) for i in pairs]


def has_every_friction(model: mujoco.MjModel) -> bool:
    """Whether contacts may have more than one coefficient of friction."""
    return bool(_named_friction(model))


def has_uneven_friction(model: mujoco.MjModel) -> bool:
    """Whether the friction of a pair differs along the two tangents, or about them."""
    friction = model.pair_friction
    uneven = (model.pair_dim > 1) & (friction[:, 0] != friction[:, 1])
    return bool(np.any(uneven | (model.pair_dim > 4) & (friction[:, 3] != friction[:, 4])))


@remembered
def _notes(model: mujoco.MjModel, sleep: bool, starts_asleep: bool) -> tuple[str, ...]:
    return tuple(_rigid_notes(model, sleep, starts_asleep))


def _rigid_notes(model: mujoco.MjModel, sleep: bool, starts_asleep: bool) -> Iterator[str]:
    collides = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    fields = np.flatnonzero(collides & (model.geom_type == mujoco.mjtGeom.mjGEOM_SDF))
    if fields.size:
        names = [element(model, _OBJ.mjOBJ_GEOM, i) for i in fields]
        yield (
            "Contacts of signed distance fields are those that MuJoCo's search finds, which can "
            f"miss some; sdf_initpoints and sdf_iterations make it thorough: {listed(names)}."
        )
    flags = model.opt.enableflags
    if flags & mujoco.mjtEnableBit.mjENBL_SLEEP:
        if not sleep:
            some = starts_asleep and trees_to_start_asleep(model).size > 0
            sleeps = "falls asleep" if some else "sleeps"
            yield f"Nothing {sleeps} here; every body is simulated at every step."
        if not starts_asleep:
            yield from awake_notes(model)
    if flags & mujoco.mjtEnableBit.mjENBL_SPECULATIVE:
        yield (
            'Option flag speculative="enable" changes nothing: fixed steps of Icf, Sap and Tamsi '
            "look ahead anyway, and so does Midas; error control notices what a step has missed."
        )
    if flags & mujoco.mjtEnableBit.mjENBL_IPC:
        yield 'Option flag ipc="enable" is ignored; it belongs to MuJoCo\'s discrete integrator.'
    if flags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        yield (
            'Option flag override="enable" sets margin and friction of all contacts, as in MuJoCo; '
            "o_solref and o_solimp are ignored."
        )
    early = np.flatnonzero(model.actuator_actearly)
    if early.size:
        names = [element(model, _OBJ.mjOBJ_ACTUATOR, i) for i in early]
        yield (
            "actearly is ignored: forces are by the activations of their time, not by those one "
            f"timestep of MuJoCo's later: {listed(names)}."
        )
    if model.opt.noslip_iterations:
        yield "noslip_iterations is not needed: friction does not creep without it."
