"""What a user may change in MjData between two advances."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np
from numba import types

from asperity.compiled import HoldsAddresses, Layout, Table, compiled, compiled_loop
from asperity.compiled.calls import load_double, store_double
from asperity.contact.delivered import OUTDATED, SOLVED
from asperity.errors import ModelError
from asperity.integrators.world import World
from asperity.plant import native
from asperity.plant.data_reference import DataReference
from asperity.plant.plant_layouts import OTHER_FORCES, STATE, VALID
from asperity.plant.sleep import wake

__all__ = ["INPUT_KERNELS", "Inputs"]

_STATE = ("qpos", "qvel", "act")
_NAMES = (
    *_STATE,
    *("ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active"),
)

INPUTS = Layout(
    "inputs",
    time="i8",  # address in the MjData
    qpos="f8[:]",
    qvel="f8[:]",
    act="f8[:]",
    ctrl="f8[:]",
    qfrc_applied="f8[:]",
    xfrc_applied="f8[:]",
    mocap_pos="f8[:]",
    mocap_quat="f8[:]",
    eq_active="u1[:]",
    known="f8[:]",  # all of these in this order, and the time
    largest_control="f8",
)

TARGETS = Layout(
    "where inputs are handed to",
    states="i8[:]",  # addresses of states whose snapshots are void then
    inputs="i8[:]",  # of tables of the data in which they are evaluated
)

_SLEEP = int(mujoco.mjtEnableBit.mjENBL_SLEEP)

# What `_look` returns, added up.
_NEW_STATE = 1
_NEW_FORCES = 2
_NEW_PLACES = 4
_NEW_TIME = 8
_REFUSED = 16

_LARGEST = 1.7976931348623157e308


@compiled
def _compare(values: np.ndarray, known: np.ndarray, start: int, limit: float, kind: int) -> int:
    """``kind`` if some number is another one than was known, with `_REFUSED` if one is too large.

    Not a number is none that was known.
    """
    found = 0
    for i in range(values.size):
        value = float(values[i])
        if value != known[start + i]:
            found = kind
            # Not np.isfinite, which reassociation can turn into a constant.
            if not abs(value) <= limit:
                return kind | _REFUSED
    return found


@compiled
def _keep(values: np.ndarray, known: np.ndarray, start: int) -> int:
    for i in range(values.size):
        known[start + i] = float(values[i])
    return start + values.size


@compiled_loop(types.int64(types.int64))
def _look(inputs_address: int) -> int:
    """What has changed since it was remembered; if nothing is refused, it is remembered."""
    inputs = INPUTS.at(inputs_address)
    known = inputs.known
    at = 0
    found = _compare(inputs.qpos, known, at, _LARGEST, _NEW_STATE)
    at += inputs.qpos.size
    found |= _compare(inputs.qvel, known, at, _LARGEST, _NEW_STATE)
    at += inputs.qvel.size
    found |= _compare(inputs.act, known, at, _LARGEST, _NEW_STATE)
    at += inputs.act.size
    found |= _compare(inputs.ctrl, known, at, inputs.largest_control, _NEW_FORCES)
    at += inputs.ctrl.size
    found |= _compare(inputs.qfrc_applied, known, at, _LARGEST, _NEW_FORCES)
    at += inputs.qfrc_applied.size
    found |= _compare(inputs.xfrc_applied, known, at, _LARGEST, _NEW_FORCES)
    at += inputs.xfrc_applied.size
    found |= _compare(inputs.mocap_pos, known, at, _LARGEST, _NEW_PLACES)
    at += inputs.mocap_pos.size
    found |= _compare(inputs.mocap_quat, known, at, _LARGEST, _NEW_PLACES)
    at += inputs.mocap_quat.size
    found |= _compare(inputs.eq_active, known, at, _LARGEST, _NEW_PLACES)
    at += inputs.eq_active.size
    time = load_double(inputs.time)
    if time != known[at]:
        found |= _NEW_TIME
        if not abs(time) <= _LARGEST:
            found |= _REFUSED
    if found & _REFUSED == 0 and found != 0:
        _remember_all(inputs)
    return found


@compiled
def _remember_all(inputs: Table) -> None:
    known = inputs.known
    at = _keep(inputs.qpos, known, 0)
    at = _keep(inputs.qvel, known, at)
    at = _keep(inputs.act, known, at)
    at = _keep(inputs.ctrl, known, at)
    at = _keep(inputs.qfrc_applied, known, at)
    at = _keep(inputs.xfrc_applied, known, at)
    at = _keep(inputs.mocap_pos, known, at)
    at = _keep(inputs.mocap_quat, known, at)
    at = _keep(inputs.eq_active, known, at)
    known[at] = load_double(inputs.time)


@compiled
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for i in range(source.size):
        target[i] = source[i]


@compiled_loop(types.void(types.int64))
def _remember(inputs_address: int) -> None:
    """Take what the MjData holds for known."""
    _remember_all(INPUTS.at(inputs_address))


@compiled_loop(types.void(types.int64, types.int64))
def _write_state(inputs_address: int, state_address: int) -> None:
    """Write a state into the MjData."""
    inputs = INPUTS.at(inputs_address)
    state = STATE.at(state_address)
    _copy(state.qpos, inputs.qpos)
    _copy(state.qvel, inputs.qvel)
    _copy(state.act, inputs.act)
    store_double(inputs.time, state.time)


@compiled_loop(types.void(types.int64, types.int64, types.int64, types.int64))
def _hand_over(inputs_address: int, state_address: int, targets_address: int, valid: int) -> None:
    """Write what is in the MjData into a state, of whose snapshot so much is valid.

    Further states are void, and the data in which they are evaluated get what is not the state.
    """
    inputs = INPUTS.at(inputs_address)
    state = STATE.at(state_address)
    targets = TARGETS.at(targets_address)
    _copy(inputs.qpos, state.qpos)
    _copy(inputs.qvel, state.qvel)
    _copy(inputs.act, state.act)
    state.time = load_double(inputs.time)
    state.valid = valid
    for i in range(targets.states.size):
        STATE.at(targets.states[i]).valid = 0
    for i in range(targets.inputs.size):
        target = INPUTS.at(targets.inputs[i])
        _copy(inputs.ctrl, target.ctrl)
        _copy(inputs.qfrc_applied, target.qfrc_applied)
        _copy(inputs.xfrc_applied, target.xfrc_applied)
        _copy(inputs.mocap_pos, target.mocap_pos)
        _copy(inputs.mocap_quat, target.mocap_quat)
        _copy(inputs.eq_active, target.eq_active)


INPUT_KERNELS = (_look, _remember, _write_state, _hand_over)
"""What `Inputs` needs compiled."""


class Inputs(HoldsAddresses):
    """State, controls, applied forces, mocap poses and active equalities of an MjData.

    Knows whether they have been changed since `remember`, and hands them to a world.

    Parameters
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        The published data, which others keep alive, and its model.

    Attributes
    ----------
    new_state, new_time : bool
        Whether the state, or the time, is another one than was known at the last change.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        self._model = model
        self._reference = DataReference(data, keep=False)
        self._views = {name: getattr(data, name).reshape(-1) for name in _NAMES}
        self._known = np.full(sum(map(len, self._views.values())) + 1, np.nan)
        self._table = self._table_of(data, self._known)
        self._found = _NEW_STATE | _NEW_TIME
        # The world to which inputs were handed last, and where they went.
        self._world: World | None = None
        self._memories = 0
        self._targets = Table(TARGETS, states=np.zeros(0, np.int64), inputs=np.zeros(0, np.int64))
        self._tables: list[Table] = []
        self._handed: list[mujoco.MjData] = []

    @staticmethod
    def _table_of(data: mujoco.MjData, known: np.ndarray) -> Table:
        """A table of the inputs in an MjData."""
        arrays = {name: getattr(data, name).reshape(-1) for name in _NAMES}
        arrays["eq_active"] = arrays["eq_active"].view(np.uint8)
        return Table(
            INPUTS,
            time=data._address + native.offset("mjData", "time"),
            known=known,
            # MuJoCo silently replaces controls beyond this by zero.
            largest_control=float(mujoco.mjMAXVAL),
            **arrays,
        )

    @property
    def _data(self) -> mujoco.MjData:
        return self._reference()

    @property
    def new_time(self) -> bool:
        """Whether the time was another one at the last change."""
        return self._found & _NEW_TIME != 0

    @property
    def new_state(self) -> bool:
        """Whether the state was another one at the last change."""
        return self._found & (_NEW_STATE | _NEW_TIME) != 0

    def forget(self) -> None:
        """Take everything for changed."""
        self._known[:] = np.nan

    def remember(self) -> None:
        """Take what ``data`` holds now for known."""
        _remember.call(self._table.address)

    def write_state(self, state: Table) -> None:
        """Write a state's time, positions, velocities and activations into ``data``."""
        _write_state.call(self._table.address, state.address)

    def changed(self) -> bool:
        """Whether anything has changed; then it is checked, and remembered.

        Raises
        ------
        ModelError
            If a number is not finite, or a control too large.
        """
        found = _look.call(self._table.address)
        if found & _REFUSED:
            self._refuse()
        if found != 0:
            self._found = found
        return bool(found)

    def hand_over(self, world: World) -> None:
        """Copy the inputs into a world's current state, and into the data that it works with."""
        current = world.current.table
        delivered = world.delivered
        if delivered.origin == SOLVED:
            delivered.origin = OUTDATED
        only_forces = self._found == _NEW_FORCES and current.valid == VALID
        # What couples is known by the state's evaluation, and may be other rows now.
        world.table.graph_state = 0
        self._find_targets(world)
        _hand_over.call(
            self._table.address,
            current.address,
            self._targets.address,
            OTHER_FORCES if only_forces else 0,
        )
        if self._model.opt.enableflags & _SLEEP:
            for data in (self._data, *self._handed):
                wake(self._model, data)

    def _find_targets(self, world: World) -> None:
        """Find a world's further states, and the data in which they are evaluated."""
        if self._world is world and self._memories == len(world.memories):
            return
        states = world.evaluated_states[1:]
        own = self._data
        self._handed = []
        for state in states:
            if state.data is not own and not any(state.data is one for one in self._handed):
                self._handed.append(state.data)
        self._tables = [self._table_of(data, self._known[:0]) for data in self._handed]
        self._world = world
        self._memories = len(world.memories)
        self._targets = Table(
            TARGETS,
            states=np.array([state.table.address for state in states], np.int64),
            inputs=np.array([table.address for table in self._tables], np.int64),
        )

    def known(self) -> dict[str, np.ndarray]:
        """What is known: arrays by name, and the time."""
        return self._split(self._known)

    def present(self) -> dict[str, np.ndarray]:
        """What ``data`` holds, as `known`."""
        return self._split(self._gather())

    def write(self, values: Mapping[str, np.ndarray]) -> None:
        """Write what `known` or `present` has returned into ``data``."""
        data = self._data
        for name in _NAMES:
            target = getattr(data, name)
            target[:] = values[name].reshape(target.shape)
        data.time = float(values["time"][0])

    def _split(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        ends = np.cumsum([len(view) for view in self._views.values()])
        parts = np.split(flat, ends)
        return {name: part.copy() for name, part in zip((*_NAMES, "time"), parts, strict=True)}

    def _gather(self) -> np.ndarray:
        """All numbers in one array."""
        flat = np.empty(len(self._known))
        np.concatenate(list(self._views.values()), out=flat[:-1], casting="unsafe")
        flat[-1] = self._data.time
        return flat

    def _refuse(self) -> None:
        """Name the first number that is not acceptable."""
        model = self._model
        for name in _NAMES:
            values = np.asarray(getattr(self._data, name), dtype=np.float64)
            limit = mujoco.mjMAXVAL if name == "ctrl" else np.inf
            bad = np.argwhere(~(np.isfinite(values) & (np.abs(values) <= limit)))
            if len(bad):
                index = ", ".join(str(int(i)) for i in bad[0])
                owner = ""
                if name == "ctrl" and model.nu == len(model.actuator_gaintype):
                    label = model.actuator(int(bad[0][0])).name
                    owner = f" (actuator {label!r})" if label else ""
                raise ModelError(
                    f"data.{name}[{index}]{owner} is {values[tuple(bad[0])]}; it must be finite"
                    + (f" and at most {mujoco.mjMAXVAL:g}." if name == "ctrl" else ".")
                )
        raise ModelError(f"data.time is {self._data.time}; it must be finite.")
