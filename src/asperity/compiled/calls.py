"""Calls from compiled code to C functions given by their address, and raw memory access.

The address travels as an int64, so compiled callers stay cacheable (a ctypes function used as a
global would not be).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

from asperity.compiled.tables import TableType

__all__ = [
    "atomic_add",
    "call_collision",
    "call_distance",
    "call_method",
    "call_p",
    "call_p_status",
    "call_pp",
    "call_pp_status",
    "call_ppdd_status",
    "call_ppdp_status",
    "call_ppdpp",
    "call_ppip",
    "call_ppndpn_address",
    "call_ppp_double",
    "call_ppp_status",
    "call_pppd",
    "call_pppd_double",
    "call_pppdpn",
    "call_pppn",
    "call_pppn_status",
    "call_ppppn_status",
    "call_stepping",
    "load_address",
    "load_double",
    "load_int",
    "load_single",
    "store_address",
    "store_byte",
    "store_double",
    "store_int",
]

# Called from compiled code without their first parameter, which type checkers cannot know.
intrinsic: Callable[[Any], Any] = extending.intrinsic

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_I8 = ir.IntType(8)
_F64 = ir.DoubleType()
_F32 = ir.FloatType()


def _call(
    name: str, arguments: list[tuple[Any, ir.Type]], returns: tuple[Any, ir.Type] | None
) -> Any:
    """Make an intrinsic that calls the C function at an address."""
    result_type = ir.VoidType() if returns is None else returns[1]
    numba_result = types.void if returns is None else returns[0]
    function_type = ir.FunctionType(result_type, [low for _, low in arguments])
    signature_arguments = [high for high, _ in arguments]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], function_type.as_pointer())
        values = [
            builder.trunc(value, _I32) if low == _I32 else value
            for value, (_, low) in zip(args[1:], arguments, strict=True)
        ]
        result = builder.call(pointer, values)
        return context.get_dummy_value() if returns is None else result

    def typed(*given: Any) -> Any:
        # A table is passed as its address.
        passed = [
            one if isinstance(one, TableType) else wanted
            for one, wanted in zip(given, signature_arguments, strict=True)
        ]
        return numba_result(types.int64, *passed), codegen

    # An intrinsic's typing function must list its parameters by name.
    parameters = ", ".join(f"a{i}" for i in range(len(arguments)))
    namespace: dict[str, Any] = {"typed": typed}
    exec(
        f"def {name}(typingctx, address, {parameters}):\n    return typed({parameters})",
        namespace,
    )
    return intrinsic(namespace[name])


_P = (types.int64, _I64)
_D = (types.float64, _F64)
_N = (types.int64, _I32)

call_p = _call("call_p", [_P], None)
call_pp = _call("call_pp", [_P, _P], None)
call_pppd = _call("call_pppd", [_P, _P, _P, _D], None)
call_pppn = _call("call_pppn", [_P, _P, _P, _N], None)
call_ppip = _call("call_ppip", [_P, _P, _N, _P], None)
call_ppdpp = _call("call_ppdpp", [_P, _P, _D, _P, _P], None)
call_pppdpn = _call("call_pppdpn", [_P, _P, _P, _D, _P, _N], None)
call_ppndpn_address = _call("call_ppndpn_address", [_P, _P, _N, _D, _P, _N], _P)
call_p_status = _call("call_p_status", [_P], (types.int64, _I64))
call_pp_status = _call("call_pp_status", [_P, _P], (types.int64, _I64))
call_ppp_status = _call("call_ppp_status", [_P, _P, _P], (types.int64, _I64))
call_pppn_status = _call("call_pppn_status", [_P, _P, _P, _P], (types.int64, _I64))
call_ppppn_status = _call("call_ppppn_status", [_P, _P, _P, _P, _P], (types.int64, _I64))
call_ppdd_status = _call("call_ppdd_status", [_P, _P, _D, _D], (types.int64, _I64))
call_ppdp_status = _call("call_ppdp_status", [_P, _P, _D, _P], (types.int64, _I64))
call_ppp_double = _call("call_ppp_double", [_P, _P, _P], (types.float64, _F64))
call_pppd_double = _call("call_pppd_double", [_P, _P, _P, _D], (types.float64, _F64))
call_method = _call("call_method", [_P, _P, _P, _D], (types.int64, _I64))
# MuJoCo's functions of two geoms return a C ``int``.
call_collision = _call("call_collision", [_P, _P, _P, _N, _N, _D], (types.int32, _I32))
call_distance = _call("call_distance", [_P, _P, _N, _N, _D, _P], (types.float64, _F64))
call_stepping = _call("call_stepping", [_P, _P, _D, _D, _P], (types.int64, _I64))


def _load(returns: Any, low: ir.Type) -> Any:
    """Make an intrinsic that reads the number at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(builder.inttoptr(args[0], low.as_pointer()))
        if low == _F32:
            return builder.fpext(value, _F64)
        return builder.sext(value, _I64) if low == _I32 else value

    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        return returns(types.int64), codegen

    return load


def _store(takes: Any, low: ir.Type) -> Any:
    """Make an intrinsic that writes a number at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.trunc(args[1], low) if low in (_I32, _I8) else args[1]
        builder.store(value, builder.inttoptr(args[0], low.as_pointer()))
        return context.get_dummy_value()

    @intrinsic
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        return types.void(types.int64, takes), codegen

    return store


# 64-bit integers (or pointers), C's ``int``, doubles, floats and bytes. Integers are an int64
# outside, floats a double.
load_address = _load(*_P)
load_int = _load(*_N)
load_double = _load(*_D)
load_single = _load(types.float64, _F32)
store_address = _store(*_P)
store_int = _store(*_N)
store_double = _store(*_D)
store_byte = _store(types.int64, _I8)


@intrinsic
def atomic_add(typingctx: Any, address: Any, value: Any) -> Any:
    """Add to the 64-bit integer at an address, as one operation; returns what was there before."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I64.as_pointer())
        return builder.atomic_rmw("add", pointer, args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen
