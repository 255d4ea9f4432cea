"""Tables of many worlds, as compiled code sees them: their rows, a lane, and what is to be done.

A world is a row in arrays: its state, its inputs, and what goes with it from one call to the next.
A *lane* is the memory in which one thread evaluates states and solves steps, for one world after
another. Nothing is carried over from one world to the next. A *job* is one call: lanes take worlds
from it until there are none.
"""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.simulator.compiled_call import CALL

__all__ = ["JOB", "LANE", "NO_WORLD", "ROWS"]

NO_WORLD = -1
"""What a lane is at between two worlds."""

_FLAT = "f8[:,:]"

ROWS = Layout(
    "rows of worlds",
    # one row per world: state and inputs (`asperity.simulator.state_vector`), which users read and
    # write, and those that the last call has left, to see what a user has written since
    values=_FLAT,
    known=_FLAT,
    sensordata=_FLAT,
    # other fields of MjData that users want: addresses of arrays, and numbers of a world in each
    bound="i8[:]",
    bound_sizes="i8[:]",
    status="i8[worlds]",  # `asperity.errors.Status`
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
    input_bits="i8",  # which inputs these are, as ``mj_setState`` is told
    controls="i8",  # how many of them are controls, which come first
)

LANE = Layout(
    "lane",
    call=CALL,
    place="i8",  # in the job's list, or `NO_WORLD`
    substep="i8",  # that is being done, or the job's number of them
    phase="i8",
    published="i8",  # whether the data of the lane has the present state with its sensors
    end="f8",  # of the substep [s]
    status="i8",
    contact_room="i8",  # of the lane's contact sets
    row_room="i8",
    gliding="i8",  # addresses for worlds that have none of their own
    delivered="i8",
    plant_slot="i8",  # addresses of what the lane's world has of each world
    delivered_slot="i8",
    sensordata="f8[:]",
    # addresses in the lane's MjData of fields that are bound, and of functions that find them
    bound="i8[:]",
    finders="i8[:]",
)
