"""The ground floor of the compiled world: decorators, calls to C, and tables of arrays."""

from asperity.compiled.addresses import HoldsAddresses
from asperity.compiled.decorators import (
    EntryPoint,
    Kernel,
    Loop,
    compiled,
    compiled_loop,
    consistent,
    entry_point,
    higher_order,
    inlined,
)
from asperity.compiled.tables import Layout, Table

__all__ = [
    "EntryPoint",
    "HoldsAddresses",
    "Kernel",
    "Layout",
    "Loop",
    "Table",
    "compiled",
    "compiled_loop",
    "consistent",
    "entry_point",
    "higher_order",
    "inlined",
]
