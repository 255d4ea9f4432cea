"""State and inputs of an MjData as one vector of MuJoCo's, compared and handed over.

A vector is what ``mj_getState`` writes. The state comes first: time, positions, velocities and
activations. Inputs follow: controls, applied forces, active equalities and mocap poses. It begins
with the state, so that this is a vector of MuJoCo's as well. What has yielded, where something
does, belongs to the state, too, and is last in MuJoCo's order.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.compiled import Layout, Table, compiled
from asperity.compiled.arrays import copy_numbers
from asperity.compiled.calls import call_pppn
from asperity.plant import native
from asperity.plant.model.plastic import plastic_size
from asperity.plant.plant_layouts import STATE
from asperity.plant.state import State

__all__ = [
    "EXCHANGE",
    "FORCE_BITS",
    "INPUT_BITS",
    "LARGEST",
    "NEW_FORCES",
    "NEW_PLACES",
    "NEW_STATE",
    "NEW_TIME",
    "REFUSED",
    "STATE_BITS",
    "changes",
    "exchanged_bits",
    "gather",
    "hand_over",
    "hand_over_inputs",
    "new_exchange",
    "parts_of",
    "read_state",
    "vector_size",
    "write_state",
]

_BITS = mujoco.mjtState
_STATE = {
    "time": _BITS.mjSTATE_TIME,
    "qpos": _BITS.mjSTATE_QPOS,
    "qvel": _BITS.mjSTATE_QVEL,
    "act": _BITS.mjSTATE_ACT,
}
_FORCES = {
    "history": _BITS.mjSTATE_HISTORY,  # of delayed controls and sensors
    "ctrl": _BITS.mjSTATE_CTRL,
    "qfrc_applied": _BITS.mjSTATE_QFRC_APPLIED,
    "xfrc_applied": _BITS.mjSTATE_XFRC_APPLIED,
}
_PLACES = {
    "eq_active": _BITS.mjSTATE_EQ_ACTIVE,
    "mocap_pos": _BITS.mjSTATE_MOCAP_POS,
    "mocap_quat": _BITS.mjSTATE_MOCAP_QUAT,
}
STATE_BITS = sum(int(bit) for bit in _STATE.values())
"""What ``mj_getState`` is asked for to get time, positions, velocities and activations."""

INPUT_BITS = sum(int(bit) for bit in (_FORCES | _PLACES).values())
"""And what users write besides."""

FORCE_BITS = sum(int(bit) for bit in _FORCES.values())
"""And those of the inputs that are forces, and leave all that belongs to positions valid."""

_EXCHANGED = STATE_BITS | INPUT_BITS
# Of models in which it is part of the state; rods keep something else there.
_PLASTIC_BIT = int(_BITS.mjSTATE_PLASTIC)

LARGEST = 1.7976931348623157e308
"""The largest number: what is not below it is not finite."""

EXCHANGE = Layout(
    "exchange of state and inputs",
    model="i8",  # address of the mjModel, for the sizes
    get_state="i8",  # MuJoCo's functions
    set_state="i8",
    data="i8",  # of the MjData in which the current state is evaluated
    others="i8[:]",  # of every MjData that inputs are handed to
    states="i8[:]",  # of the states that are evaluated, the current one first
    bits="i8",  # that are exchanged
    values="f8[:]",  # what the MjData held last
    known="f8[:]",  # what it held when that was taken over or published
    state_size="i8",  # the vector's parts: the state, of which the time is first, then controls,
    control_end="i8",  # applied forces,
    force_end="i8",  # places
    place_end="i8",  # and what has yielded
    largest_control="f8",
)

# What `changes` returns, added up.
NEW_STATE = 1
NEW_FORCES = 2
NEW_PLACES = 4
NEW_TIME = 8
REFUSED = 16


def parts_of(model: mujoco.MjModel) -> dict[str, slice]:
    """Where the arrays of MjData are in a vector, by name."""
    found, at = {}, 0
    for name, bit in (_STATE | _FORCES | _PLACES).items():
        size = mujoco.mj_stateSize(model, int(bit))
        found[name] = slice(at, at + size)
        at += size
    found["plastic"] = slice(at, at + plastic_size(model))
    return found


def exchanged_bits(model: mujoco.MjModel) -> int:
    """What ``mj_getState`` is asked for to get a vector."""
    return _EXCHANGED | (_PLASTIC_BIT if plastic_size(model) > 0 else 0)


def vector_size(model: mujoco.MjModel) -> int:
    """Numbers of a vector."""
    return int(mujoco.mj_stateSize(model, exchanged_bits(model)))


def new_exchange(
    model: mujoco.MjModel, states: Sequence[State], datas: Sequence[mujoco.MjData]
) -> Table:
    """Make the table of an exchange between an MjData and a world.

    Parameters
    ----------
    model : mujoco.MjModel
    states : sequence of State
        That the world evaluates, the current one first, whose data is that of the exchange.
    datas : sequence of mujoco.MjData
        To which inputs are handed.
    """
    parts = parts_of(model)
    size = vector_size(model)
    return Table(
        EXCHANGE,
        model=model._address,
        get_state=native.function_address("mj_getState"),
        set_state=native.function_address("mj_setState"),
        data=states[0].data._address,
        others=np.array([data._address for data in datas], np.int64),
        states=np.array([state.table.address for state in states], np.int64),
        bits=exchanged_bits(model),
        values=np.zeros(size),
        known=np.full(size, np.nan),
        state_size=parts["act"].stop,
        control_end=parts["ctrl"].stop,
        force_end=parts["xfrc_applied"].stop,
        place_end=parts["mocap_quat"].stop,
        # MuJoCo silently replaces controls beyond this by zero.
        largest_control=float(mujoco.mjMAXVAL),
    )


@compiled
def gather(exchange: Table) -> None:
    """Read what the MjData holds into ``values``."""
    values = exchange.values.ctypes.data
    call_pppn(exchange.get_state, exchange.model, exchange.data, values, exchange.bits)


@compiled
def _compare(
    values: np.ndarray, known: np.ndarray, first: int, end: int, limit: float, kind: int
) -> int:
    """``kind`` if a number is another one than was known, with `REFUSED` if one is too large.

    Not a number is none that was known.
    """
    found = 0
    for i in range(first, end):
        if values[i] != known[i]:
            found = kind
            # Not np.isfinite, which reassociation can turn into a constant.
            if not abs(values[i]) <= limit:
                return kind | REFUSED
    return found


@compiled
def changes(exchange: Table, values: np.ndarray, known: np.ndarray) -> int:
    """What is new in a vector."""
    state, control = exchange.state_size, exchange.control_end
    force, limit = exchange.force_end, exchange.largest_control
    found = _compare(values, known, 0, 1, LARGEST, NEW_TIME)
    found |= _compare(values, known, 1, state, LARGEST, NEW_STATE)
    found |= _compare(values, known, state, control, limit, NEW_FORCES)
    found |= _compare(values, known, control, force, LARGEST, NEW_FORCES)
    found |= _compare(values, known, force, exchange.place_end, LARGEST, NEW_PLACES)
    return found | _compare(values, known, exchange.place_end, values.size, LARGEST, NEW_STATE)


@compiled
def read_state(state: Table, values: np.ndarray) -> None:
    """Read a state into a vector, or into what a vector begins with."""
    values[0] = state.time
    velocity = 1 + state.qpos.size
    activation = velocity + state.qvel.size
    copy_numbers(state.qpos, values[1:])
    copy_numbers(state.qvel, values[velocity:])
    copy_numbers(state.act, values[activation:])


@compiled
def write_state(exchange: Table) -> None:
    """Write the current state into the MjData."""
    current = STATE.at(exchange.states[0])
    read_state(current, exchange.values)
    values = exchange.values.ctypes.data
    call_pppn(exchange.set_state, exchange.model, exchange.data, values, STATE_BITS)
    if current.plastic.size > 0:
        copy_numbers(current.plastic, exchange.values[exchange.place_end :])
        plastic = values + 8 * exchange.place_end
        call_pppn(exchange.set_state, exchange.model, exchange.data, plastic, _PLASTIC_BIT)


@compiled
def hand_over_inputs(exchange: Table, inputs: np.ndarray, bits: int, valid: int) -> None:
    """Give every MjData in which states are evaluated the inputs that ``bits`` name.

    Of the current state's snapshot so much is valid then, and of further states nothing.
    """
    STATE.at(exchange.states[0]).valid = valid
    for i in range(1, exchange.states.size):
        STATE.at(exchange.states[i]).valid = 0
    data = inputs.ctypes.data
    for i in range(exchange.others.size):
        call_pppn(exchange.set_state, exchange.model, exchange.others[i], data, bits)


@compiled
def hand_over(exchange: Table, values: np.ndarray, valid: int) -> None:
    """Let the world be in the state of a vector, with its inputs; see `hand_over_inputs`."""
    current = STATE.at(exchange.states[0])
    velocity = 1 + current.qpos.size
    activation = velocity + current.qvel.size
    current.time = values[0]
    copy_numbers(values[1:velocity], current.qpos)
    copy_numbers(values[velocity:activation], current.qvel)
    copy_numbers(values[activation : exchange.state_size], current.act)
    copy_numbers(values[exchange.place_end :], current.plastic)
    hand_over_inputs(exchange, values[exchange.state_size :], INPUT_BITS, valid)
