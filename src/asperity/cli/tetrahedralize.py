"""``asperity tetrahedralize MESH``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from asperity.cli.options import Traceback
from asperity.errors import ArgumentError

__all__ = ["tetrahedralize"]

# Pa; the modulus that geoms have unless another one is given.
_MODULUS = 1e7


def tetrahedralize(
    mesh: Annotated[
        Path,
        typer.Argument(
            metavar="MESH", help="Closed surface: .obj, .stl or .msh.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="File to write.", show_default="MESH's name with .npz"
        ),
    ] = None,
    resolution: Annotated[
        float | None,
        typer.Option(
            help="Length of edges that is aimed at, in m.",
            show_default="a tenth of the bounding box's diagonal",
        ),
    ] = None,
    depth: Annotated[
        float | None,
        typer.Option(
            help="Distance from the surface at which the pressure reaches the modulus, in m.",
            show_default="the largest one",
        ),
    ] = None,
    scale: Annotated[
        float, typer.Option(help="Length of one unit of the file, in m, as a model's <mesh> says.")
    ] = 1.0,
    show_traceback: Traceback = False,
) -> int:
    """Fill a mesh with tetrahedra for hydroelastic contact, and write them with their field.

    A geom's field_mesh names the file. Needs the extra 'hydroelastic'.
    """
    import time

    from asperity.cli.console import results, transient
    from asperity.cli.progress import shown_waiting
    from asperity.contact.hydroelastic.field_mesh import volumes
    from asperity.contact.hydroelastic.import_mesh import write_field_mesh
    from asperity.contact.hydroelastic.tetrahedralize import tetrahedralize as cut
    from asperity.geometry.surfaces import volume_integrals
    from asperity.loading.surface_files import read_surface

    target = mesh.with_suffix(".npz") if out is None else out
    if target.suffix.lower() != ".npz":
        raise ArgumentError(f"--out {target} does not end in .npz; rename it to '*.npz'.")
    if not target.parent.is_dir():
        raise ArgumentError(
            f"--out {target}: folder {target.parent} does not exist; create it first."
        )
    surface = read_surface(mesh, scale)
    start = time.perf_counter()
    with shown_waiting("Filling the mesh with tetrahedra", transient()):
        field = cut(surface, resolution=resolution, depth=depth, name=f"mesh {str(mesh)!r}")
    elapsed = time.perf_counter() - start
    try:
        write_field_mesh(target, field)
    except OSError as error:
        raise ArgumentError(
            f"--out {target} cannot be written ({error.strerror or error})."
        ) from None
    share = volumes(field.vertices, field.tetrahedra).sum() / abs(volume_integrals(surface)[0])
    output = results()
    for line in (
        f"{len(field.tetrahedra)} tetrahedra with {len(field.vertices)} vertices, made in "
        f"{elapsed:.1f} s; {100.0 * share:.1f} % of the mesh's volume",
        f"depth {field.depth:.4g} m; with a modulus of {_MODULUS:.0e} Pa the pressure rises by "
        f"{_MODULUS / field.depth:.3g} Pa/m",
        f"Wrote {target}",
    ):
        output.print(line, markup=False, soft_wrap=True)
    return 0
