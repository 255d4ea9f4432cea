"""The root of a step's momentum balance: the solution of which derivatives are taken.

The step's own solver begins, and Newton's method with the whole of H = ∂g/∂v
(`asperity.derivatives.residual`) goes on until g is round-off.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Loop
from asperity.convex.potentials.lagged import DELIVERED_LAW
from asperity.derivatives.dense_solve import solve_dense
from asperity.derivatives.layout import (
    DELIVERED_BOUND,
    FRICTION_ALONE,
    SYMMETRIC,
    grow_sets,
    new_derivative,
)
from asperity.derivatives.residual import keep_the_guess, read_solution, solve, system
from asperity.derivatives.tangent import StepState
from asperity.derivatives.tangent_space import rotation_dofs
from asperity.errors import SimulationError
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world import World
from asperity.integrators.world_layout import NOT_CONVERGED, OK

__all__ = ["ConvexRoot"]

# Options of the solver while the solution is sought of which the derivative is taken, unless its
# own are tighter. The second ones serve where Newton's method does not converge after the first.
_OPTIONS = (
    {"tolerance": 1e-8, "settle_tolerance": 1e-2, "most_changes": 20, "max_iterations": 500},
    {"tolerance": 1e-13, "settle_tolerance": 1e-9, "most_changes": 100, "max_iterations": 500},
)

# Newton iterations that make g vanish to round-off, and the share of ‖D r‖ that is accepted.
_POLISHING = 12
_RESIDUAL = 1e-9


class ConvexRoot(HoldsAddresses):
    """Steps of `Icf`'s, `Sap`'s or `Tamsi`'s method in a world, solved to round-off.

    Parameters
    ----------
    world : World
        Whose inputs (controls, applied forces, …) are those of the steps.
    method : IcfMethod, ThetaMethod or TamsiMethod
        Prepared in this world.
    """

    def __init__(self, world: World, method: IcfMethod | ThetaMethod | TamsiMethod) -> None:
        model = world.plant.model
        self._world = world
        self._model = model
        self._share = method.theta_vq if isinstance(method, ThetaMethod) else 1.0
        self._rotations = rotation_dofs(model)
        self._work = new_derivative(
            model.nq, model.nv, model.na, model.nu, model.ntree, len(world.problem.velocity)
        )
        if isinstance(method, TamsiMethod):
            self._work.coupling = FRICTION_ALONE
        elif isinstance(method, IcfMethod) and method.law is DELIVERED_LAW:
            self._work.coupling = DELIVERED_BOUND
        else:
            self._work.coupling = SYMMETRIC
        own = world.current.data
        others = {id(one.data): one.data for one in world.evaluated_states if one.data is not own}
        self._datas = [own, *others.values()]
        self._work.other_ctrl = _addresses(others.values(), "ctrl")
        self._work.other_applied = _addresses(others.values(), "qfrc_applied")
        self._work.reach = 1e-3 * max(1e-3, float(model.stat.extent))

    def end(self, state: StepState, step: float) -> StepState:
        """Where the step ends, solved to round-off as for the derivatives.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        self._begin(state)
        table = self._world.table
        solver = table.solve_problem
        try:
            self._root(step, solver)
        finally:
            table.solve_problem = solver
            table.factors_valid = 0
            table.graph_state = 0
        return self._end(state, step)[0]

    # -- the balance at another simulation's solution ----------------------------------------------

    @property
    def balance(self) -> np.ndarray:
        """g, and the activations at the end, of the step that was solved last."""
        return np.array(self._work.sides[0])

    def solve_nothing(self) -> None:
        """Let this one serve for `balance_at` alone."""
        self._world.table.solve_problem = keep_the_guess.address

    def write_inputs(self, inputs: np.ndarray, kind: int) -> None:
        """Write what `mj_getState` has returned wherever the world evaluates states."""
        for one in self._datas:
            mujoco.mj_setState(self._model, one, inputs, kind)

    def balance_at(
        self, other: ConvexRoot, state: StepState, step: float, balance: Loop
    ) -> np.ndarray | None:
        """g and the activations, at a state and the velocity and contacts of another solution.

        None if contacts are others here.
        """
        self._begin(state)
        work, solved = self._work, other._work
        if len(work.contact_geom) != len(solved.contact_geom) or len(work.row_kind) != len(
            solved.row_kind
        ):
            grow_sets(work, self._model.nv, len(solved.contact_geom), len(solved.row_kind))
        contacts, rows = solved.contacts, solved.rows
        work.contact_geom[:contacts] = solved.contact_geom[:contacts]
        work.contact_point[:contacts] = solved.contact_point[:contacts]
        work.row_kind[:rows] = solved.row_kind[:rows]
        work.row_source[:rows] = solved.row_source[:rows]
        work.velocity[:] = solved.velocity
        work.turning[:] = solved.turning
        work.contacts, work.rows = contacts, rows
        work.patches = solved.patches
        code = self._call(balance, self._world.table.address, work.address, step)
        if code > OK:
            raise SimulationError(f"a displaced model could not be evaluated (code {code}).")
        return np.array(work.sides[0]) if code == OK else None

    def _end(self, state: StepState, step: float) -> tuple[StepState, np.ndarray]:
        """The end of the step that has been solved, and how far positions have travelled."""
        velocity = self._work.velocity.copy()
        travel = step * (self._share * velocity + (1.0 - self._share) * state.qvel)
        qpos = state.qpos.copy()
        mujoco.mj_integratePos(self._model, qpos, travel, 1.0)
        act = self._work.sides[0, self._model.nv :].copy()
        return StepState(state.time + step, qpos, velocity, act), travel

    def _begin(self, state: StepState) -> None:
        current = self._world.current.table
        current.time = state.time
        work = self._work
        work.qpos[:] = current.qpos[:] = state.qpos
        work.qvel[:] = current.qvel[:] = state.qvel
        work.act[:] = current.act[:] = state.act
        work.ctrl[:] = current.mj_ctrl
        work.applied[:] = current.mj_qfrc_applied
        work.one_sided = work.unmatched = 0
        current.valid = 0

    def _root(self, step: float, solver: int) -> tuple[float, np.ndarray]:
        """Find the root of g, and leave no solver in place; returns ‖D g‖/s and H there."""
        residual = np.inf
        for options in _OPTIONS:
            self._solve(step, solver, options)
            self._world.table.solve_problem = keep_the_guess.address
            residual, matrix = self._polish(step)
            if residual <= _RESIDUAL:
                return residual, matrix
        raise SimulationError(
            f"the step of {step} s has no solution to which its solver converges (residual "
            f"{residual:.1e}); its derivative is not known. Take a smaller step."
        )

    def _solve(self, step: float, solver: int, options: Mapping[str, float]) -> None:
        """Solve the step, and prescribe its solution."""
        world, problem = self._world, self._world.problem
        before = {name: getattr(problem, name) for name in options}
        for name, value in options.items():
            tighter = max if name in ("most_changes", "max_iterations") else min
            setattr(problem, name, tighter(before[name], value))
        world.table.solve_problem = solver
        world.table.factors_valid = 0
        world.table.graph_state = 0
        try:
            code = self._call(solve, world.table.address, step)
        finally:
            for name, value in before.items():
                setattr(problem, name, value)
        if code not in (OK, NOT_CONVERGED):
            raise SimulationError(f"the step of {step} s could not be solved (code {code}).")
        contacts = world.current.contacts.count
        rows = world.current.rows.count
        work = self._work
        if len(work.contact_geom) < contacts or len(work.row_kind) < rows:
            grow_sets(work, self._model.nv, max(1, 2 * contacts), max(1, 2 * rows))
        read_solution.call(world.table.address, work.address, step)

    def _call(self, loop: Loop, *arguments: object) -> int:
        """Call a loop until there is memory enough."""
        while True:
            code = int(loop.call(*arguments))
            if code <= OK or not self._world.grow(code):
                return code

    def _system(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """g and H at the prescribed velocity."""
        work, world = self._work, self._world
        code = self._call(system, world.table.address, work.address, step)
        if code != OK:
            raise SimulationError(f"the step of {step} s could not be evaluated (code {code}).")
        return work.sides[0, : self._model.nv].copy(), work.system.copy()

    def _polish(self, step: float) -> tuple[float, np.ndarray]:
        """Let Newton's method with the whole of H make g vanish; returns ‖D g‖/s and H."""
        work, table = self._work, self._world.current.table
        velocity = work.velocity
        gradient, matrix = self._system(step)
        scale = np.sqrt(table.mass_inverse_diagonal)
        size = max(1.0, float(np.linalg.norm(scale * self._world.problem.rhs)))
        norm = float(np.linalg.norm(scale * gradient)) / size
        for _ in range(_POLISHING):
            if norm < 1e-16 or not np.isfinite(norm):
                break
            before = velocity.copy()
            velocity -= solve_dense(matrix, gradient[:, None])[:, 0]
            after, other = self._system(step)
            progress = float(np.linalg.norm(scale * after)) / size
            if not progress < norm:
                # Round-off, or a kink: what was before is better.
                velocity[:] = before
                self._system(step)
                break
            far = progress < 0.5 * norm
            norm, gradient, matrix = progress, after, other
            if not far:
                break
        return norm, matrix


def _addresses(datas: object, name: str) -> np.ndarray:
    """Where an array of several MjData is."""
    found = [getattr(one, name).ctypes.data for one in datas]  # type: ignore[attr-defined]
    return np.array(found, np.int64)
