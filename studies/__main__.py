"""``python -m studies COMMAND ...``, from the root of the repository.

- ``reproduce NAME ...`` is ``asperity reproduce``: figures and tables of the papers.
- ``verify ...`` measures the cases of ``docs/verification.md``.
- ``throws ...`` foretells the throws of ``docs/real-throws.md``.
- ``peers`` makes an environment with the rivals of verification.
- ``benchmark NAME ...`` runs a benchmark.
- ``documents`` writes the numbers of all results into README and ``docs/``.

``--help`` after a command, or after the name of a benchmark, shows its options.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import asperity.cli

_BENCHMARKS = Path(__file__).parent / "benchmarks"


def _run(module: str, arguments: list[str]) -> int:
    """Run a module as ``python -m`` does."""
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


def _benchmarks() -> list[str]:
    """Names of the programs among the benchmarks."""
    programs = [*_BENCHMARKS.glob("*.py"), *_BENCHMARKS.glob("*/__main__.py")]
    return sorted(
        file.parent.name if file.name == "__main__.py" else file.stem
        for file in programs
        if file.name == "__main__.py" or 'if __name__ == "__main__":' in file.read_text("utf-8")
    )


def main(arguments: list[str]) -> int:
    """Run a study.

    Parameters
    ----------
    arguments : list of str
        As in the command line.

    Returns
    -------
    int
        Exit code of the process.
    """
    command, *rest = arguments or ["--help"]
    if command == "reproduce":
        return asperity.cli.main(["reproduce", *rest])
    if command == "verify":
        return _run("studies.benchmarks.verification", rest)
    if command == "documents":
        return _run("studies.documents", rest)
    if command in ("throws", "peers"):
        return _run(f"studies.{command}", rest)
    names = _benchmarks()
    if command == "benchmark" and rest and rest[0] in names:
        return _run(f"studies.benchmarks.{rest[0]}", rest[1:])
    print(f"{__doc__}\nBenchmarks: {', '.join(names)}.")
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
