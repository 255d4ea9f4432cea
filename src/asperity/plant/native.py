"""MuJoCo as compiled code sees it: addresses of its functions, offsets in its structs.

MuJoCo describes its own C structs (``mujoco.introspect``). Their layouts are rebuilt with ctypes
and checked against values read through the Python bindings, so that a MuJoCo with other layouts is
refused instead of being misread.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco.introspect import ast_nodes, structs
from numpy.typing import NDArray

from asperity.errors import AsperityError

__all__ = [
    "array_names",
    "copy_numbers",
    "function_address",
    "memory",
    "model_arrays",
    "offset",
    "places",
    "struct_size",
    "verify_layout",
]

_PRIMITIVES: dict[str, Any] = {
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "double": ctypes.c_double,
    "mjtNum": ctypes.c_double,
    "float": ctypes.c_float,
    "char": ctypes.c_char,
    "unsigned char": ctypes.c_uint8,
    "mjtByte": ctypes.c_uint8,
    "mjtBool": ctypes.c_uint8,
    "mjtSize": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uintptr_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
}


def _ctype(node: Any) -> Any:
    if isinstance(node, ast_nodes.PointerType):
        return ctypes.c_void_p
    if isinstance(node, ast_nodes.ArrayType):
        kind = _ctype(node.inner_type)
        for extent in reversed(node.extents):
            kind = kind * extent
        return kind
    if isinstance(node, ast_nodes.AnonymousStructDecl):
        fields = [(field.name, _ctype(field.type)) for field in node.fields]
        return type("anonymous", (ctypes.Structure,), {"_fields_": fields})
    name = node.name.removeprefix("struct ")
    if name in _PRIMITIVES:
        return _PRIMITIVES[name]
    if name in structs.STRUCTS:
        return _struct(name)
    if name.startswith("mjt"):  # an enum
        return ctypes.c_int
    raise AsperityError(
        f"MuJoCo {mujoco.__version__} has a C type {name!r} that this version of Asperity does "
        "not know; install a version of mujoco-core that Asperity was tested with."
    )


@functools.cache
def _struct(name: str) -> Any:
    fields = [(field.name, _ctype(field.type)) for field in structs.STRUCTS[name].fields]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def offset(struct: str, field: str) -> int:
    """Offset of a field in one of MuJoCo's structs [bytes]."""
    return int(getattr(_struct(struct), field).offset)


def struct_size(struct: str) -> int:
    """Size of one of MuJoCo's structs [bytes]."""
    return ctypes.sizeof(_struct(struct))


@functools.cache
def places(struct: str) -> dict[str, tuple[int, int]]:
    """Where the fields of one of MuJoCo's structs begin and end [bytes]."""
    fields = [
        (field.name, getattr(_struct(struct), field.name))
        for field in structs.STRUCTS[struct].fields
    ]
    return {name: (place.offset, place.offset + place.size) for name, place in fields}


def memory(address: int, words: int) -> NDArray[np.int64]:
    """A view of so many 64-bit words at an address."""
    if words == 0:
        return np.zeros(0, np.int64)
    return np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(address))


@functools.cache
def _array_offsets() -> tuple[tuple[str, ...], np.ndarray]:
    """Names of the model's arrays, and where in the struct their addresses are [8 bytes]."""
    names = tuple(
        field.name
        for field in structs.STRUCTS["mjModel"].fields
        if isinstance(field.type, ast_nodes.PointerType) and field.name != "buffer"
    )
    return names, np.array([offset("mjModel", name) // 8 for name in names])


def array_names() -> tuple[str, ...]:
    """Names of the arrays of ``MjModel``, in the order of its struct."""
    return _array_offsets()[0]


def model_arrays(model: mujoco.MjModel) -> list[tuple[str, int, int]]:
    """Name, address and end of every array of a model, in the order of its one block of memory.

    An array ends where the next one begins; what is between them is aligned, and never written.
    """
    names, offsets = _array_offsets()
    addresses = memory(model._address, struct_size("mjModel") // 8)[offsets]
    order = np.argsort(addresses, kind="stable")
    raw = _struct("mjModel").from_address(model._address)
    ends = [*addresses[order[1:]].tolist(), raw.buffer + raw.nbuffer]
    return [
        (names[i], int(addresses[i]), end)
        for i, end in zip(order, ends, strict=True)
        if addresses[i] != 0
    ]


def copy_numbers(source: mujoco.MjModel, target: mujoco.MjModel) -> None:
    """Write all arrays, options and statistics of a model into a copy of it."""
    # Flags are before the options, and between options and statistics is what is for looks.
    first = offset("mjModel", "flg_gravcomp") // 8
    last = (offset("mjModel", "stat") + struct_size("mjStatistic")) // 8
    blocks = []
    for model in (source, target):
        raw = _struct("mjModel").from_address(model._address)
        blocks.append((memory(model._address, last)[first:], memory(raw.buffer, raw.nbuffer // 8)))
    for from_, to in zip(*blocks, strict=True):
        to[:] = from_


@functools.cache
def _library() -> ctypes.CDLL:
    folder = Path(mujoco.__file__).parent
    for pattern in ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll"):
        for path in sorted(folder.glob(pattern)):
            return ctypes.CDLL(str(path))
    raise AsperityError(f"MuJoCo's library was not found in {folder}; reinstall mujoco-core.")


@functools.cache
def function_address(name: str) -> int:
    """Address of one of MuJoCo's C functions."""
    address = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert address is not None
    return address


def verify_layout(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Compare fields read through the struct layouts with those of the bindings.

    Raises
    ------
    AsperityError
        If any differs: this MuJoCo has another layout than it says.
    """
    raw_model = _struct("mjModel").from_address(model._address)
    raw_data = _struct("mjData").from_address(data._address)
    pairs = [
        ("mjModel.nv", raw_model.nv, model.nv),
        ("mjModel.ngeom", raw_model.ngeom, model.ngeom),
        ("mjModel.opt.timestep", raw_model.opt.timestep, model.opt.timestep),
        ("mjModel.geom_bodyid", raw_model.geom_bodyid, model.geom_bodyid.ctypes.data),
        ("mjData.ncon", raw_data.ncon, data.ncon),
        ("mjData.nefc", raw_data.nefc, data.nefc),
        ("mjData.time", raw_data.time, data.time),
        ("mjData.qpos", raw_data.qpos, data.qpos.ctypes.data),
        ("mjData.cdof", raw_data.cdof, data.cdof.ctypes.data),
        ("mjData.qfrc_actuator", raw_data.qfrc_actuator, data.qfrc_actuator.ctypes.data),
    ]
    for name, raw, bound in pairs:
        # Empty arrays have no address worth comparing.
        if raw != bound and model.nv > 0 and model.ngeom > 0:
            raise AsperityError(
                f"the memory layout of MuJoCo {mujoco.__version__} differs from its description "
                f"at {name}; install a version of mujoco-core that Asperity was tested with."
            )
