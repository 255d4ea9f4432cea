"""The table of `asperity.plant.detection.shared_detection`."""

from __future__ import annotations

from asperity.compiled import Layout
from asperity.compiled.team import TEAM

__all__ = ["BINS", "MODEL_WORDS", "SHARED_DETECTION"]

BINS = 256
"""Places along the axis at which space may be cut, and as many between them."""

MODEL_WORDS = ("body_contype", "body_conaffinity", "geom_rbound", "geom_margin", "geom_gap")
"""Arrays of ``MjModel`` that detection by several threads looks at."""

SHARED_DETECTION = Layout(
    "detection of several threads",
    team=TEAM,
    find_part="i8",  # compiled entry point
    slabs="i8",
    plant="i8",  # addresses, of the job at hand
    state="i8",
    model="i8",
    empty_model="i8",  # without contacts
    # where numbers and addresses of arrays are in MuJoCo's structs [bytes]
    **{"at_" + name: "i8" for name in MODEL_WORDS},
    at_margin="i8",  # that overrides all others, if flags have this bit
    at_flags="i8",
    override="i8",
    first_number="i8",  # of those in ``MjData`` that may change
    last_number="i8",
    # per slab: structs, and what bodies collide with
    models="i8[slabs, words]",
    datas="i8[:,:]",
    contype="i4[slabs, bodies]",
    conaffinity="i4[slabs, bodies]",
    # per body: where it begins and ends along the axis [m]
    lower="f8[bodies]",
    upper="f8[bodies]",
    cut="f8[slabs]",  # ends of slabs
    # or, instead of slabs: whether there are listed pairs, and where those of a part begin
    listed="i8",
    pair_first="i8[slabs + 1]",
    prepared="i8[8]",  # 1 as soon as there are slabs or lists
    bins=f"i8[{BINS}]",
    across=f"i8[{BINS}]",
    # per slab: contacts that count there, their pairs of bodies and addresses
    count="i8[slabs]",
    pair="i8[:,:]",
    contact="i8[:,:]",
    following="i8[slabs]",  # the next one to be listed
    found="i8[:]",  # addresses of all contacts in MuJoCo's order
    # Where threads read the contacts, too, these are those that count, and further, per slab: how
    # many there are in all, geoms of a contact, and number, material and share of its pair
    reads="i8",
    plain_reader="i8",  # the entry point that reads contacts in the same way
    read_part="i8",
    total="i8[slabs]",
    geoms="i8[:,:]",
    number="i8[:,:]",
    material="f8[:,:,:]",
    share="f8[:,:]",
    moving="i8",  # whether the bodies that are being listed can move, and their contact counts
    place="i8[:]",  # slab and number there of those found
)
