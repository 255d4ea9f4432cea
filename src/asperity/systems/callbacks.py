"""C functions that compiled steps call to evaluate a system, whatever the system is made of.

Python systems are reached through a ctypes callback, which takes the GIL; an exception in it is
kept and reported by the return value. Functions compiled by Numba become a C function themselves.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

from asperity.compiled import HoldsAddresses, Table
from asperity.errors import ArgumentError
from asperity.integrators.external.system_table import CALL_SUCCEEDED, SYSTEM
from asperity.systems.base import ExternalSystem, SystemInput

__all__ = ["SystemFunction"]

_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)

_FAILED = 0


class SystemFunction(HoldsAddresses):
    """The function of one system over one table, as Python and as a C function.

    Parameters
    ----------
    system : ExternalSystem
    table : Table
        A `SYSTEM` table with its arrays; this fills ``call`` and ``own``.
    """

    def __init__(self, system: ExternalSystem, table: Table) -> None:
        self.system = system
        self.table = table
        self.failure: BaseException | None = None
        self._output, self._derivative = system.functions()
        self._z = _read_only(table.z)
        arrays = (_read_only(a) for a in (table.qpos, table.qvel, table.parameters))
        self._arrays = tuple(arrays)
        kernel = system.kernel()
        own = None if kernel is None else kernel[1]
        table.own = 0 if own is None else own.address
        self._keep: Any = own
        if kernel is not None:
            table.call = kernel[0].address
        elif isinstance(self._output, Dispatcher):
            self._compile()
        else:
            self._keep = _CALLBACK(self._from_steps)
            table.call = ctypes.cast(self._keep, ctypes.c_void_p).value

    def bind_again(self) -> None:
        """Take over the system's own table, which it has made anew for a model that has changed."""
        kernel = self.system.kernel()
        own = None if kernel is None else kernel[1]
        if own is not None:
            self.table.own = own.address
            self._keep = own

    @property
    def in_python(self) -> bool:
        """Whether Python runs at every evaluation."""
        return isinstance(self._keep, _CALLBACK)

    def evaluate(self) -> None:
        """Fill ``output`` and ``rate`` of the table from its other arrays.

        Raises
        ------
        ArgumentError
            If a function returns anything but as many numbers as there are outputs or states.
        """
        if self.system.kernel() is not None:
            _CALLBACK(self.table.call)(self.table.address)
            return
        x = SystemInput(self.table.time, *self._arrays)
        self._fill("output", self._output(self._z, x), self.table.output)
        if self._derivative is not None:
            self._fill("derivative", self._derivative(self._z, x), self.table.rate)

    def raise_failure(self) -> None:
        """Raise what the last evaluation raised inside of a step, if it did."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        if not self.in_python and self.system.kernel() is None:
            # Numba cannot hand an exception out of a C function: the same call does it from here.
            self.evaluate()

    def _from_steps(self, _table: int) -> int:
        try:
            self.evaluate()
        except BaseException as failure:
            self.failure = failure
            return _FAILED
        return CALL_SUCCEEDED

    def _fill(self, name: str, result: Any, target: np.ndarray) -> None:
        try:
            values = np.asarray(result, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"{self._owner(name)} must return numbers, got {result!r}."
            ) from None
        if values.shape != target.shape and not (values.ndim == 0 and target.shape == (1,)):
            raise ArgumentError(
                f"{self._owner(name)} must return an array of shape {target.shape}, got one of "
                f"shape {values.shape}."
            )
        target[:] = values

    def _owner(self, name: str) -> str:
        return f"{self.system.label}: {name}"

    def _compile(self) -> None:
        """Make a C function of functions that Numba compiles."""
        output, derivative = self._output, self._derivative
        if derivative is not None and not isinstance(derivative, Dispatcher):
            raise ArgumentError(
                f"{self.system.label}: output is compiled by Numba and derivative is not; compile "
                "both or neither."
            )
        # Called once from Python: types that do not fit complain with Numba's own message.
        self.evaluate()
        call = _compiled_call(output, derivative)
        self._keep = call
        self.table.call = call.address


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


@functools.lru_cache(maxsize=64)
def _compiled_call(output: Callable[..., Any], derivative: Callable[..., Any] | None) -> Any:
    """A C function of a table, once for all systems of the same functions."""
    signature = numba.types.int64(SYSTEM.type)

    def without_state(system: Any) -> Any:
        x = SystemInput(
            system.time,
            system.qpos,
            system.qvel,
            system.parameters,
        )
        try:
            values = output(system.z, x)
        except Exception:
            return _FAILED
        if len(values) != system.output.size:
            return _FAILED
        for i in range(system.output.size):
            system.output[i] = values[i]
        return CALL_SUCCEEDED

    if derivative is None:
        return numba.cfunc(signature)(without_state)

    def with_state(system: Any) -> Any:
        x = SystemInput(
            system.time,
            system.qpos,
            system.qvel,
            system.parameters,
        )
        try:
            values = output(system.z, x)
            rates = derivative(system.z, x)
        except Exception:
            return _FAILED
        if len(values) != system.output.size or len(rates) != system.rate.size:
            return _FAILED
        for i in range(system.output.size):
            system.output[i] = values[i]
        for i in range(system.rate.size):
            system.rate[i] = rates[i]
        return CALL_SUCCEEDED

    return numba.cfunc(signature)(with_state)
