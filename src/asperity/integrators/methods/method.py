"""What steppings, worlds and simulators need of a method.

A method is one map from a state to the next (`asperity.integrators.world_layout`), with the memory
that it needs in one world. It knows nothing of who chooses its steps, and may wrap another method:
to repeat it (step doubling), or to divide its steps.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

from asperity.compiled import EntryPoint, HoldsAddresses, Kernel
from asperity.convex.problem import read_statistics, write_statistics
from asperity.integrators.methods.own_results import OwnResults
from asperity.integrators.world import World
from asperity.plant.detection.gliding import GlidingDetection
from asperity.plant.plant import Plant
from asperity.plant.state import State

__all__ = ["Method", "WrappingMethod"]


class Method(HoldsAddresses, abc.ABC):
    """A method in one world.

    What is not about a single step (memory, results, a stretch of steps) is to be asked of `base`.

    Attributes
    ----------
    kernel : EntryPoint
        One step, with the signature of `asperity.integrators.world_layout.METHOD_SIGNATURE`.
    solution : EntryPoint
        The same signature: solves the step of a state without taking it, for the publication of a
        state to which no step has led. The solution is in the problem, with its impulses.
    order : int
        Of accuracy, where motion is smooth.
    estimates_error : bool
        Whether steps come with an estimate of their error.
    """

    kernel: EntryPoint
    solution: EntryPoint | None = None
    order: int = 1
    estimates_error: bool = False

    evaluates_plant = True
    """Whether states are evaluated, contacts found and forces computed in the world's problem."""

    shares_steps = False
    """Whether steps have work for several threads, of a method that does not evaluate the plant."""

    takes_systems: bool = True
    """Whether steps are coupled with external systems (`asperity.integrators.external`)."""

    evaluates_systems = False
    """Whether external systems are evaluated with the dynamics, and not linearised in a step.

    Their forces and rates are then functions of the state like all others.
    """

    @property
    def sees_ahead(self) -> bool:
        """Whether fixed steps see what a body would pass through; known once prepared."""
        return False

    copies_model = False
    """Whether the method keeps numbers of the model that the plant does not, meshes included."""

    flex_kernels: tuple[Kernel, ...] = ()
    """What the method needs compiled besides if there are deformable bodies."""

    most_steps = 1 << 40
    """Steps after which `end` wants to be called."""

    @property
    @abc.abstractmethod
    def kernels(self) -> tuple[Kernel, ...]:
        """What the method needs compiled; what takes longest to compile comes first."""

    @property
    def base(self) -> Method:
        """The innermost method, whose steps wrapping methods repeat."""
        return self

    def prepare(self, world: World) -> None:
        """Make memory in a world, and write options and entry points into it.

        Called before the first step and after every reset.
        """
        world.add_memory(self)
        table = world.table
        table.solve_step = 0 if self.solution is None else self.solution.address
        table.base_method = self.kernel.address
        table.base_order = self.order
        table.order = self.order

    # -- memory that grows with the world (`asperity.integrators.world.Memory`) --------------------

    @property
    def states(self) -> Sequence[State]:
        """States of the method's own in which it evaluates the plant."""
        return ()

    def grow_contacts(self, capacity: int) -> None:
        """Make room for so many contacts."""

    def grow_coupling(self, size: int) -> None:
        """Make room for so many numbers in the couplings between trees."""

    def grow(self, code: int) -> bool:
        """Enlarge what a code of the method's own says; False if the code means nothing to it."""
        return False

    def set_system_states(self, count: int) -> None:
        """Make room for so many states of external systems."""

    @property
    def history(self) -> tuple[int, ...]:
        """Addresses of numbers that are zero where nothing is known of earlier steps."""
        return ()

    # -- what users change -------------------------------------------------------------------------

    def model_changed(self, world: World) -> None:
        """Take the model's numbers anew, of a method that copies them; refuse before any change."""

    def plant_changed(self, world: World) -> None:
        """Take the plant's numbers anew, which it has of a model that has changed."""

    def detection_for(self, plant: Plant) -> GlidingDetection | None:
        """Detection of what glides in a plant whose numbers differ from the world's, if any."""
        return None

    def restart(self, world: World) -> None:
        """Begin anew at another time: nothing of what was before may matter."""

    def state(self, world: World) -> dict[str, Any]:
        """What the method keeps from one call to the next, to be given to a copy of the world."""
        return {}

    def set_state(self, world: World, state: Mapping[str, Any]) -> None:
        """Put back what `state` has returned."""

    def look_at_start(self, world: World) -> tuple[str, ...]:
        """Check, and correct, the state that a simulator begins with; returns sentences on it."""
        return ()

    def notes_on_contact(self, world: World) -> tuple[str, ...]:
        """Sentences on what is given of contact and plays no part, where it matters."""
        return ()

    # -- around a stretch of steps ---------------------------------------------------------------

    def begin(self, world: World) -> None:
        """Take over what a user may have changed since the last stretch of steps."""

    def end(self, world: World) -> None:
        """Check what the last stretch of steps has left."""

    # -- results ---------------------------------------------------------------------------------

    def statistics(self, world: World) -> Mapping[str, int]:
        """Counters of the solver, by the names of `asperity.convex.problem_layout.STATISTICS`."""
        return read_statistics(world.problem)

    def clear_statistics(self, world: World) -> None:
        """Set these counters to zero."""
        write_statistics(world.problem)

    def worst_residual(self, world: World) -> float:
        """The largest residual at which a solve has ended since `clear_residual`."""
        return float(world.problem.counts.worst_residual)

    def hindrance(self, world: World) -> str:
        """A sentence on why the last step did not converge, where that is known."""
        return ""

    def clear_residual(self, world: World) -> None:
        """Forget residuals of earlier solves."""
        world.problem.counts.worst_residual = 0.0

    def own_results(self, world: World) -> OwnResults | None:
        """Results of the last step, if the method does not keep them in the world."""
        return None

    def fallbacks(self, world: World) -> tuple[int, int, int]:
        """Steps that took other friction than asked, or none, or left an equality open."""
        return int(world.problem.counts.unsettled), 0, 0

    def clearance(self, world: World) -> float | None:
        """Smallest distance of surfaces over all steps [m], if the method keeps them apart."""
        return None


class WrappingMethod(Method):
    """A method that repeats or divides the steps of another.

    Memory, growth and results are those of the innermost method, and asked for there (`base`).

    Parameters
    ----------
    base : Method
    """

    def __init__(self, base: Method) -> None:
        self._base = base

    @property
    def base(self) -> Method:
        return self._base.base

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (*self._base.kernels, self.kernel)

    @property
    def takes_systems(self) -> bool:  # type: ignore[override]
        return self._base.takes_systems

    def prepare(self, world: World) -> None:
        self._base.prepare(world)
        world.table.order = self.order
