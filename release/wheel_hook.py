"""Build hook: a wheel that holds machine code is for one Python and one kind of machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The code calls no C library; MuJoCo's and Numba's own wheels need this one.
_PLATFORM = "manylinux_2_28_x86_64"


class MachineCodeHook(BuildHookInterface[Any]):
    """Add ``machine_code`` to the wheel if `build_wheel` has made it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say what the wheel is for."""
        folder = Path(self.root) / "src" / "asperity" / "machine_code"
        if version == "editable" or not folder.is_dir():
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{_PLATFORM}"
        build_data["artifacts"].append("src/asperity/machine_code/**")
