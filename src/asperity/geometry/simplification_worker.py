"""A process that simplifies the meshes whose files it is told, and leaves them on disk."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asperity.compiled.worker_processes import feed_workers
from asperity.geometry.simplification import is_kept, simplified
from asperity.geometry.surfaces import Surface

__all__ = ["simplify_side_by_side"]


def simplify_side_by_side(jobs: Sequence[tuple[Surface, float]], aim: int, most: int) -> None:
    """Simplify several meshes at once, in up to ``most`` processes; `simplified` finds them then.

    Parameters
    ----------
    jobs : sequence of (Surface, float)
        Meshes, each with its tolerance [m].
    aim : int
        Triangles that are enough.
    most : int
        Processes at most.
    """
    different = {
        (surface.vertices.tobytes(), surface.faces.tobytes(), tolerance): (surface, tolerance)
        for surface, tolerance in jobs
    }
    missing = [job for job in different.values() if not is_kept(*job, aim)]
    if len(missing) < 2:
        return
    missing.sort(key=lambda job: -len(job[0].faces))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{index}.npz" for index in range(len(missing))]
        for file, (surface, tolerance) in zip(files, missing, strict=True):
            np.savez(
                file, vertices=surface.vertices, faces=surface.faces, tolerance=tolerance, aim=aim
            )
        # What no process could do is done when it is asked for.
        with contextlib.suppress(OSError):
            feed_workers(__name__, [str(file) for file in files], most)


def _work() -> None:
    for line in sys.stdin:
        with contextlib.suppress(Exception), np.load(line.strip()) as job:
            surface = Surface(job["vertices"], job["faces"])
            simplified(surface, float(job["tolerance"]), int(job["aim"]))
        print(flush=True)


if __name__ == "__main__":
    _work()
