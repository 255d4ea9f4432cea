"""The engine as a method of the simulator: one engine per world, in step with the world's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from asperity.compiled import Kernel
from asperity.errors import warn_user
from asperity.integrators.methods.method import Method
from asperity.integrators.steppings.resting_inputs import heed_changes
from asperity.integrators.world import World
from asperity.midas.energy.adhesion import adhering, press
from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import read_contacts
from asperity.midas.engine_layout import STATE_NEEDED, STATISTICS
from asperity.midas.engine_publication import EngineResults
from asperity.midas.engine_tables import ENGINE_KERNELS, STATE_KERNELS, EngineOptions
from asperity.midas.model.compliance import compliance_notes
from asperity.midas.model.engine_support import check_supported
from asperity.midas.model.overlaps import flex_note, near_note, overlap_note
from asperity.midas.model.pairs import FlexPair, LinkPair
from asperity.midas.pose.clearance import Outcome, check_clearance
from asperity.midas.pose.flex_separation import clear_flexes
from asperity.midas.pose.touching import TOUCHING_KERNELS
from asperity.midas.soft.flex_support import check_midas_flexes, soft_notes
from asperity.midas.soft.hooks import SOFT_KERNELS
from asperity.midas.soft.soft_check import CHECK_KERNELS
from asperity.midas.soft.soft_contacts import fill_contacts
from asperity.midas.time.step import HALVINGS, divided_midas_method, midas_method
from asperity.midas.verification import verify_no_intersections
from asperity.plant.model.contact_texts import parameters_of_model
from asperity.plant.model.names import element, listed

__all__ = ["MidasMethod"]


class MidasMethod(Method):
    """Steps of the engine.

    Parameters
    ----------
    options : EngineOptions
        But for the joints' stiction tolerance, which is the plant's.
    adapt_activation : bool
        Whether activation distances are less where the initial state has smaller clearances.
    overlaps : str
    verify : bool
        As of `Midas`.
    """

    # A step that does not converge is done in parts.
    kernel = divided_midas_method
    evaluates_plant = False
    shares_steps = True
    takes_systems = False
    copies_model = True
    flex_kernels = (*SOFT_KERNELS, *CHECK_KERNELS, fill_contacts)

    def __init__(
        self, options: EngineOptions, *, adapt_activation: bool, overlaps: str, verify: bool
    ) -> None:
        self.options = options
        self.adapt_activation = adapt_activation
        self.overlaps = overlaps
        self.verify = verify
        self._engine: Engine | None = None
        # What the engine was made of beside its world, and its memory then.
        self._made_of: tuple[object, ...] = ()
        self._first_memory: dict[str, Any] = {}
        self._alone = False
        # The engine's state before a step that is done in parts.
        self._kept: dict[str, Any] | None = None
        # Time at which inputs were read last, and what `Engine.history` was before.
        self._before_inputs: tuple[float, tuple[Any, ...]] = (np.nan, ())
        # Equality constraints that the user knows to have yielded.
        self._yielded: set[int] = set()
        # What overlaps by design may pass through each other, in all states to come.
        self._excluded: frozenset[LinkPair | FlexPair] = frozenset()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (
            *ENGINE_KERNELS,
            midas_method,
            divided_midas_method,
            *STATE_KERNELS,
            *TOUCHING_KERNELS,
        )

    @property
    def engine(self) -> Engine:
        """The engine, of a method that has been prepared."""
        assert self._engine is not None
        return self._engine

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.table.base_method = midas_method.address
        model, plant = world.plant.model, world.plant
        check_supported(model)
        check_midas_flexes(model)
        stiction = float(plant.table.joints.stiction_tolerance)
        options = self.options._replace(joint_stiction_tolerance=stiction)
        made_of = (options, self._excluded, world.team)
        engine = self._engine
        if engine and engine.table.address == world.table.memory and made_of == self._made_of:
            # To read meshes and pairs again takes seconds.
            engine.set_memory(self._first_memory)
            return
        self._engine = Engine(
            model,
            world.current.data,
            plant.materials,
            options,
            excluded=self._excluded,
            keep=False,
            team=world.team,
            view=plant.view,
        )
        self._made_of, self._first_memory = made_of, self._engine.memory()
        world.table.memory = self._engine.table.address
        # What MuJoCo and contacts say is looked up before every step, and every state verified.
        self._alone = (
            self.verify
            or self._engine.inputs.fluid.is_there
            or self._engine.inputs.looks_at_state
            or self._engine.inputs.sticky.any
            or bool(adhering(model))
        )

    def _prepare_again(self, world: World) -> None:
        """Let the engine begin anew, but for its counts."""
        counts = {
            name: getattr(self.engine.table.counts, name) for name in ("clearance", *STATISTICS)
        }
        self.prepare(world)
        for name, count in counts.items():
            setattr(self.engine.table.counts, name, count)

    def model_changed(self, world: World) -> None:
        self._made_of = ()
        self._prepare_again(world)

    def restart(self, world: World) -> None:
        self._prepare_again(world)

    def state(self, world: World) -> dict[str, Any]:
        return self._synchronised(world).memory() | {"excluded": self._excluded}

    def set_state(self, world: World, state: Mapping[str, Any]) -> None:
        self._excluded = state["excluded"]
        self.engine.set_memory(state)

    def grow(self, code: int) -> bool:
        if code == STATE_NEEDED:
            self._kept = self.engine.memory()
            return True
        return self.engine.grow(code)

    def _synchronised(self, world: World) -> Engine:
        """The engine, in the world's state."""
        current = world.current.table
        if not self.engine.holds(current.qpos, current.qvel):
            self.engine.set_state(current.qpos, current.qvel)
            self._kept = None
        return self.engine

    def _check(self, world: World, *, first: bool) -> Outcome:
        """Check the world's state, and correct it."""
        engine = self._synchronised(world)
        edited = bool(np.any(engine.moved))
        outcome = check_clearance(
            engine, overlaps=self.overlaps, adapt_activation=self.adapt_activation, first=first
        )
        if engine.soft is not None:
            moved, outcome.passing = clear_flexes(engine, overlaps=self.overlaps, first=first)
            outcome.changed |= moved
            separated = self.overlaps == "separate"
            engine.soft.check(adapt=self.adapt_activation, moved=edited, separated=separated)
        if outcome.changed:
            engine.write_state(world.current.table.qpos)
            if world.resting is not None:
                # That wakes nobody.
                world.resting.table.qpos[:] = world.current.table.qpos
        engine.checked = True
        return outcome

    def look_at_start(self, world: World) -> tuple[str, ...]:
        outcome = self._check(world, first=True)
        self._excluded |= frozenset(outcome.excluded) | frozenset(outcome.passing)
        notes = list(self.engine.shapes.notes)
        if outcome.brought_back:
            notes.append(
                f"Joints that start outside their range were brought back to it: "
                f"{listed(outcome.brought_back)}."
            )
        if self.engine.contradicted:
            joints = [
                element(world.plant.model, mujoco.mjtObj.mjOBJ_JOINT, joint)
                for joint in self.engine.contradicted
            ]
            notes.append(
                "No position satisfies both an equality constraint and the limits that it "
                f"contradicts; the constraint holds: {listed(joints)}."
            )
        notes += soft_notes(world.plant.model)
        if outcome.excluded:
            notes.append(overlap_note(self.engine, outcome.excluded))
        if outcome.passing:
            notes.append(flex_note(self.engine, outcome.passing))
        if outcome.near:
            notes.append(near_note(self.engine, outcome.near))
        return tuple(notes)

    def notes_on_contact(self, world: World) -> tuple[str, ...]:
        plant = world.plant
        given = (plant.contact, parameters_of_model(plant.model))
        of_all = any(one.stiffness is not None for one in given)
        return compliance_notes(self.engine, plant.materials, of_all=of_all)

    def begin(self, world: World) -> None:
        if world.resting is not None:
            heed_changes(world.table)
        if not self._synchronised(world).checked:
            self._check(world, first=False)
        # A state that was edited since is not the one that was kept.
        self.engine.table.time.kept = int(self._kept is not None)
        if self._kept is None:
            self._before_inputs = world.current.table.time, self.engine.history()
        self.engine.read_inputs(world.current.table.act)
        alone = self._alone or self.engine.inputs.turning
        self.most_steps = 1 if alone else Method.most_steps
        if adhering(world.plant.model):
            press(self.engine, world.current.table.act)

    def end(self, world: World) -> None:
        if self._kept is not None:
            # Of a step that has failed, or found a list too small, the first parts may be done. The
            # world's state would not do: links of the engine are not quite rigid.
            if self.engine.table.time.kept == 1:
                self.engine.set_memory(self._kept)
                time, history = self._before_inputs
                if time == world.current.table.time:
                    # Inputs with which there is no step have not jumped.
                    self.engine.set_history(history)
            self._kept = None
        if self.verify:
            verify_no_intersections(self.engine)
        self._tell_what_yields(world.plant.model)

    def _tell_what_yields(self, model: mujoco.MjModel) -> None:
        """Warn of every equality constraint that something holds open, once."""
        found = np.flatnonzero(self.engine.table.gaps.yielded)
        new = set(self.engine.inputs.gap_source[found].tolist()) - self._yielded
        if self.engine.soft is not None:
            new |= self.engine.soft.open_equalities() - self._yielded
        if new:
            self._yielded |= new
            names = [element(model, mujoco.mjtObj.mjOBJ_EQUALITY, index) for index in sorted(new)]
            warn_user(
                f"Something, such as a contact, keeps equality constraints open: {listed(names)}. "
                "They pull with bounded forces until they can close; Statistics.yielding counts "
                "such steps."
            )

    def statistics(self, world: World) -> Mapping[str, int]:
        table = self.engine.table
        return {
            "solves": table.counts.solves,
            "iterations": table.counts.iterations,
            "longest_iterations": table.counts.iterations,
            "factorizations": table.counts.factorizations,
            "reuses": 0,
            "line_search_evaluations": table.counts.line_searches,
        }

    def clear_statistics(self, world: World) -> None:
        for name in STATISTICS:
            setattr(self.engine.table.counts, name, 0)

    def worst_residual(self, world: World) -> float:
        return 0.0

    def hindrance(self, world: World) -> str:
        contacts, _ = read_contacts(self._synchronised(world))
        text = f"Midas tried parts of the step, down to a {1 << HALVINGS}th of it."
        if len(contacts.geom) == 0:
            return f"{text} Nothing touches in the state before it."
        nearest = int(np.argmin(contacts.signed_distance))
        model = world.plant.model
        one, other = (
            element(model, mujoco.mjtObj.mjOBJ_GEOM, int(g)) for g in contacts.geom[nearest]
        )
        return (
            f"{text} In the state before it {one} and {other} are the nearest, "
            f"{contacts.signed_distance[nearest]:.1e} m apart."
        )

    def clear_residual(self, world: World) -> None:
        pass

    def own_results(self, world: World) -> EngineResults:
        if world.resting is not None:
            heed_changes(world.table)
        return EngineResults(self._synchronised(world), world.bodies_at_rest)

    def fallbacks(self, world: World) -> tuple[int, int, int]:
        counts = self.engine.table.counts
        return counts.fallbacks, counts.frictionless, counts.yielding

    def clearance(self, world: World) -> float:
        """Smallest distance of surfaces over all steps [m], or 1.5 activation distances."""
        return float(self.engine.table.counts.clearance)
