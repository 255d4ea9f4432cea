"""Tables of many worlds, as compiled code sees them: their rows, a lane, and what is to be done.

A world is a row in arrays: its state, its inputs, and what goes with it from one call to the next.
A *lane* is the memory in which one thread evaluates states and solves steps, for one world after
another; what it holds of a world means nothing to the next one. A *job* is one call: lanes take
worlds from it until there are none.
"""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.integrators.world_layout import WORLD
from asperity.simulator.compiled_publication import PUBLICATION

__all__ = ["INPUT_NAMES", "JOB", "LANE", "NO_WORLD", "ROWS", "STATE_NAMES"]

STATE_NAMES = ("qpos", "qvel", "act")
"""Arrays of a world's state, besides the time."""

INPUT_NAMES = (
    "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active",
)  # fmt: skip
"""Arrays of a world's inputs."""

NO_WORLD = -1
"""What a lane is at between two worlds."""

_FLAT = "f8[:,:]"

ROWS = Layout(
    "rows of worlds",
    # one row per world, which users read and write
    time="f8[worlds]",  # [s]
    qpos=_FLAT,
    qvel=_FLAT,
    act=_FLAT,
    ctrl=_FLAT,
    qfrc_applied=_FLAT,
    xfrc_applied=_FLAT,
    mocap_pos=_FLAT,
    mocap_quat=_FLAT,
    eq_active="u1[:,:]",
    sensordata=_FLAT,
    status="i8[worlds]",  # `asperity.errors.Status`
    # the state that the last call has left, to see what a user has written since
    known_time="f8[worlds] = nan",
    known_qpos=_FLAT,
    known_qvel=_FLAT,
    known_act=_FLAT,
    # what goes with the state
    next_step="f8[worlds]",  # that error control will try [s]
    last_step="f8[worlds]",
    # addresses of `asperity.contact.delivered.DELIVERED`, or 0 where none is to be kept
    delivered="i8[:]",
    contact_room="i8[:]",  # in these
    row_room="i8[:]",
    plant="i8[:]",  # addresses of `asperity.plant.plant_layouts.PLANT`
    # of `asperity.plant.plant_layouts.GLIDING`, 0 for the lane's own, or −1 for none
    gliding="i8[worlds]",
    largest_control="f8",
)

JOB = Layout(
    "job",
    following="i8",  # address of the place in the list of the first world that is not taken yet
    stop="i8",  # 1: take no further ones
    worlds="i8[:]",
    substeps="i8",  # advances of each
    step="f8",  # length of each [s]
    publishes="i8",  # whether sensors are read at the end
    # rollouts: states and sensor data after every advance, and inputs before it
    records="i8",
    state="f8[:,:,:]",
    sensordata="f8[:,:,:]",
    inputs="f8[:,:,:]",
    input_start="i8[:]",  # of `INPUT_NAMES` in the last axis, −1 where inputs are the rows'
)

LANE = Layout(
    "lane",
    world=WORLD,
    place="i8",  # in the job's list, or `NO_WORLD`
    substep="i8",  # that is being done, or the job's number of them
    phase="i8",
    published="i8",  # whether the data of the lane has the present state with its sensors
    end="f8",  # of the substep [s]
    status="i8",
    # how to advance: entry points, the fixed step, and step sizes of a new beginning [s]
    stepping="i8",
    method="i8",
    publish="i8",
    time_step="f8",
    first_step="f8",
    first_last_step="f8",
    contact_room="i8",  # of the lane's contact sets
    row_room="i8",
    gliding="i8",  # addresses for worlds that have none of their own
    delivered="i8",
    states="i8[:]",  # of states that are evaluated, the current one first
    inputs="i8[:]",  # of `asperity.simulator.input_kernels.INPUTS` of their data, the same
    history="i8[:]",  # of numbers that are zero where nothing is known of earlier steps
    plant_slot="i8",  # addresses of what the lane's world has of each world
    delivered_slot="i8",
    sensordata="f8[:]",
    publication=PUBLICATION,
)
