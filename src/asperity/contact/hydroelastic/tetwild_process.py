"""The process that runs TetWild: ``surface.npz`` in the current folder to ``tetrahedra.npz``.

Started as a file, so that it imports nothing of this package.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

# How far the result may leave the surface, over the bounding box's diagonal, and the worst energy
# of a tetrahedron to stop at: TetWild's own defaults; and the rounds until it stops anyway.
SETTINGS: dict[str, Any] = {"epsilon": 1e-3, "stop_energy": 10.0, "num_opt_iter": 40}


def main() -> None:
    """Cut what ``surface.npz`` encloses into tetrahedra."""
    # pytetwild imports PyVista, to add to its classes, but does not require it. An empty module in
    # its place is one without the registry of such additions, for which there is a branch.
    sys.modules["pyvista"] = ModuleType("pyvista")
    import pytetwild

    with np.load("surface.npz") as archive:
        vertices, tetrahedra = pytetwild.tetrahedralize(
            archive["vertices"],
            archive["faces"],
            edge_length_fac=float(archive["edge_length_fac"]),
            num_threads=1,
            quiet=True,
            **SETTINGS,
        )
    np.savez(
        "tetrahedra.npz",
        vertices=np.asarray(vertices, dtype=np.float64),
        tetrahedra=np.asarray(tetrahedra, dtype=np.int64).reshape(-1, 4),
    )


if __name__ == "__main__":
    main()
