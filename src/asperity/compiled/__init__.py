"""The ground floor of the compiled world: decorators, calls to C, and tables of arrays."""

from asperity.compiled.decorators import compiled, compiled_method
from asperity.compiled.tables import Layout, Table

__all__ = ["Layout", "Table", "compiled", "compiled_method"]
