"""What concerns the whole run: kernels are compiled once, before tests and not within them."""

from __future__ import annotations

import fcntl
import importlib
import pkgutil
import signal
from collections.abc import Sequence
from typing import Any

import pytest

# What has no kernels, and needs extras or takes long to import.
_WITHOUT_KERNELS = (
    "asperity.cli",
    "asperity.derivatives.jax",
    "asperity.derivatives.torch",
    "asperity.distributed",
    "asperity.envs",
    "asperity.viewer",
)


def _kernels() -> list[Any]:
    """All entry points and loops of package and studies; what takes longest to compile comes first.

    A process that compiles an entry point itself may run other copies of the functions that it
    contains than one that finds it on disk, with other last bits: so none is left to the tests.
    """
    import asperity as asp
    from asperity.compiled import EntryPoint, Loop
    from studies.experiments import reference

    large = (asp.Cenic(), asp.Midas(), asp.Tamsi(), asp.Sap(), asp.Sdirk2(jacobian="analytic"))
    kernels = [kernel for integrator in large for kernel in integrator.kernels]
    modules = (
        *pkgutil.walk_packages(asp.__path__, "asperity."),
        *pkgutil.walk_packages(reference.__path__, "studies.experiments.reference."),
    )
    for module in modules:
        if not module.name.startswith(_WITHOUT_KERNELS):
            members = vars(importlib.import_module(module.name)).values()
            kernels += [member for member in members if isinstance(member, EntryPoint | Loop)]
    return list(dict.fromkeys(kernels))


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile on both cores before the first worker starts, if it is all tests that are run.

    A part of the tests compiles what it needs.
    """
    everything = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if everything and not _is_worker(session.config) and not session.config.option.collectonly:
        from asperity.compiled.compilation import compile_kernels

        compile_kernels(_kernels(), "its tests")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C be heard, and let no two workers compile the same kernels at the same time."""
    # What a shell runs in the background begins with it ignored, and so would what tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if _is_worker(config):
        from asperity.compiled import compilation
        from asperity.simulator import session

        compile_kernels = session.compile_kernels

        def compile_in_turn(kernels: Sequence[Any], *purpose: str) -> None:
            if not all(kernel.load() for kernel in kernels):
                with open(compilation.__file__) as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    compile_kernels(kernels, *purpose)

        session.compile_kernels = compile_in_turn
