"""What concerns the whole run: kernels are compiled once, before tests and not within them."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from typing import Any

import pytest


def _kernels() -> list[Any]:
    """What the integrators need, and the systems that come with them."""
    import asperity as asp
    from asperity.simulator.publish import PUBLICATION_KERNELS
    from asperity.systems.coupling import SYSTEM_KERNELS

    integrators = [
        asp.Cenic(),
        asp.Midas(),
        asp.Tamsi(),
        asp.Tamsi(accuracy=1e-3),
        asp.Sap(),
        asp.ImplicitEuler(),
        asp.Sdirk2(jacobian="analytic"),
        asp.Rosenbrock2(),
        asp.RungeKutta3(),
        asp.Cenic(scheme="trapezoid"),
        asp.Icf(time_step=1e-3),
        asp.Icf(time_step=1e-3, law="similar"),
    ]
    kernels = [kernel for integrator in integrators for kernel in integrator.kernels]
    kernels += [*PUBLICATION_KERNELS, *SYSTEM_KERNELS]
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
    """Let no two workers compile the same kernels at the same time."""
    if _is_worker(config):
        from asperity.compiled import compilation
        from asperity.simulator import simulator

        compile_kernels = simulator.compile_kernels

        def compile_in_turn(kernels: Sequence[Any], *purpose: str) -> None:
            if not all(kernel.load() for kernel in kernels):
                with open(compilation.__file__) as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    compile_kernels(kernels, *purpose)

        simulator.compile_kernels = compile_in_turn
