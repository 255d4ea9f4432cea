"""The ground floor of the compiled world: decorators, calls to C, and tables of arrays."""

from asperity.compiled.decorators import (
    EntryPoint,
    compiled,
    compiled_method,
    entry_point,
    load_loop,
)
from asperity.compiled.tables import Layout, Table

__all__ = [
    "EntryPoint",
    "Layout",
    "Table",
    "compiled",
    "compiled_method",
    "entry_point",
    "load_loop",
]
