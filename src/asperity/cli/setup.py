"""What a command simulates, and how: the options that such commands share, and what they make.

A command with ``**options`` gets these besides its own, and those of all integrators.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from asperity.cli import contact_options, control_options
from asperity.cli.integrator_options import make_integrator, naming_flags, with_integrator_options
from asperity.cli.options import (
    FloatingBase,
    Floor,
    IntegratorName,
    Keyframe,
    PackagePaths,
    Traceback,
    keyword,
)

if TYPE_CHECKING:
    import mujoco
    from rich.console import Console

    from asperity.integrators.integrator import Integrator
    from asperity.plant.model.contact_parameters import ContactParameters
    from asperity.simulator import Simulator

__all__ = ["Setup", "with_simulation_options"]

_Simulation = TypeVar("_Simulation", bound="Simulator")

_FIRST = [keyword("integrator", IntegratorName, "cenic"), keyword("keyframe", Keyframe)]
_LAST = [
    keyword("package_path", PackagePaths),
    keyword("floating_base", FloatingBase),
    keyword("floor", Floor),
    keyword("show_traceback", Traceback, False),
]


def with_simulation_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command with ``**options`` all that `Setup.read` understands, in place of these."""
    # A command whose --control is something else sets controls in its own way.
    sets_controls = "control" in inspect.signature(command).parameters
    of_control = [] if sets_controls else control_options.OPTIONS
    return with_integrator_options(
        command, before=(*_FIRST, *of_control, *contact_options.OPTIONS), after=_LAST
    )


@dataclass(frozen=True)
class Setup:
    """A model, what advances it, and how it begins."""

    model: mujoco.MjModel
    notes: tuple[str, ...]
    """What was found out while it was loaded."""
    integrator: Integrator
    contact: ContactParameters
    keyframe: str | None
    ctrl: str | None
    control: Any
    control_period: float | None

    @classmethod
    def read(cls, model: Path, options: dict[str, Any]) -> Setup:
        """Make it of a command's options.

        Raises
        ------
        ArgumentError, ModelError
            If the model cannot be loaded or simulated, or an option cannot be used.
        """
        given = dict(options)
        first = {one.name: given.pop(one.name) for one in (*_FIRST, *_LAST)}
        fields = contact_options.fields_of(given)
        of_control = {one.name: given.pop(one.name, None) for one in control_options.OPTIONS}
        for one in contact_options.OPTIONS:
            del given[one.name]
        integrator, values = make_integrator(first["integrator"], {**given, **fields})
        period = of_control["control_period"]
        control = control_options.control_function(of_control["control"], period)

        from asperity.cli.models import load
        from asperity.plant.model.contact_parameters import ContactParameters
        from asperity.simulator.checks import find_keyframe

        with naming_flags(values):
            contact = ContactParameters(**values)
        loaded, notes = load(model, first["package_path"], first["floating_base"], first["floor"])
        keyframe, ctrl = first["keyframe"], of_control["ctrl"]
        if keyframe is not None:
            find_keyframe(loaded, keyframe)
        if ctrl is not None:
            control_options.check_values(loaded, ctrl)
        return cls(loaded, notes, integrator, contact, keyframe, ctrl, control, period)

    def simulator(
        self, kind: type[_Simulation], console: Console, *, history: bool = False
    ) -> _Simulation:
        """Make a simulator that can begin at once, and show what was found out on the way."""
        from asperity.cli.console import preparing, print_notes

        print_notes(console, self.notes)
        with preparing(console):
            made = kind(
                self.model,
                integrator=self.integrator,
                contact=self.contact,
                control=self.control,
                control_period=self.control_period,
                history=history,
            )
            if self.keyframe is not None:
                made.reset(self.keyframe)
            if self.ctrl is not None:
                held = control_options.control_values(self.model, self.ctrl, made.data.ctrl)
                made.data.ctrl[:] = held
            made.warm_up()
        return made
