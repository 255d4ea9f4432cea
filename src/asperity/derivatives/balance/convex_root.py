"""The root of a step's momentum balance: the solution of which derivatives are taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.convex.potentials.lagged import DELIVERED_LAW
from asperity.derivatives.balance.residual import keep_the_guess
from asperity.derivatives.balance.rigid_model import joint_order, moves_rigidly
from asperity.derivatives.balance.root_search import NO_ROOT, SETS_FULL, find_root
from asperity.derivatives.layout import (
    DELIVERED_BOUND,
    DERIVATIVE,
    FRICTION_ALONE,
    SYMMETRIC,
)
from asperity.derivatives.parameters.direct_numbers import DirectNumbers
from asperity.derivatives.stages import run_stage
from asperity.derivatives.tangent import StepState
from asperity.derivatives.tangent_space import rotation_dofs
from asperity.errors import SimulationError
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK
from asperity.plant import native
from asperity.plant.evaluate import evaluate_smooth

__all__ = ["ConvexRoot"]


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
        rotations = np.array(rotation_dofs(model), np.int64)
        own = world.current.data
        others = {id(one.data): one.data for one in world.evaluated_states if one.data is not own}
        self._datas = [own, *others.values()]
        self._work = Table(
            DERIVATIVE,
            nq=model.nq,
            nv=model.nv,
            na=model.na,
            nu=model.nu,
            trees=model.ntree,
            bodies=model.nbody,
            vector=len(world.problem.velocity),
            further=len(others),
            rotations=rotations,
            turned=len(rotations),
            direction_room=1,
            column_room=3 * model.nv + model.na + model.nu,
            contact_room=1,
            row_room=1,
            other_ctrl=_addresses(others.values(), "ctrl"),
            other_applied=_addresses(others.values(), "qfrc_applied"),
            displaced=np.zeros((0, 4), np.int64),
        )
        self._work.share = self._share
        self._work.find_root = find_root.address
        self._work.no_solver = keep_the_guess.address
        self._work.evaluate_smooth = evaluate_smooth.address
        self._work.has_stages = int(isinstance(method, ThetaMethod))
        order = joint_order(model)
        self._work.joint_first, self._work.joint_last, self._work.subtree_end = order
        self._numbers: object = None
        self._work.mj_ximat = world.current.data.ximat
        self._work.collision = native.function_address("mjCOLLISIONFUNC")
        self._work.geom_kinds = int(mujoco.mjtGeom.mjNGEOMTYPES)
        self._work.geom_type = np.array(model.geom_type, np.int64)
        if isinstance(method, TamsiMethod):
            self._work.coupling = FRICTION_ALONE
        elif isinstance(method, IcfMethod) and method.law is DELIVERED_LAW:
            self._work.coupling = DELIVERED_BOUND
        else:
            self._work.coupling = SYMMETRIC
        self._work.reach = 1e-3 * max(1e-3, float(model.stat.extent))

    def end(self, state: StepState, step: float) -> StepState:
        """Where the step ends, solved to round-off as for the derivatives.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        self._begin(state)
        with self._solved(step):
            return self._end(state, step)

    def share_springs(self, step: float) -> None:
        """Let springs be as implicit as in all solves of an extrapolated step of that size [s]."""
        self._world.table.spring_interval = step

    # -- the balance at another simulation's solution ----------------------------------------------

    @property
    def addresses(self) -> tuple[int, int]:
        """Of the world, and of the table in which derivatives are worked out."""
        return self._world.table.address, self._work.address

    def solve_nothing(self) -> None:
        """Let this one serve for the balance at other solutions alone."""
        self._world.table.solve_problem = keep_the_guess.address

    def write_inputs(self, inputs: np.ndarray, kind: int) -> None:
        """Write what `mj_getState` has returned wherever the world evaluates states."""
        for one in self._datas:
            mujoco.mj_setState(self._model, one, inputs, kind)

    def make_room(self, other: ConvexRoot, code: int) -> bool:
        """Make room for another solution's contacts, if a code says that there is none.

        Returns whether it did.
        """
        if code == SETS_FULL:
            solved = other._work
            self._work.resize(contact_room=len(solved.contact_geom), row_room=len(solved.row_kind))
            return True
        return code > OK and self._world.grow(code)

    def install_parameters(
        self,
        address: int,
        displaced: np.ndarray,
        sizes: np.ndarray,
        codes: np.ndarray,
        direct: DirectNumbers,
    ) -> None:
        """Let derivatives by parameters be found by a stage, with these numbers."""
        work = self._work
        if work.displaced is displaced:
            return
        direct.install(work)
        work.add_parameters = address
        work.displaced, work.displaced_sizes, work.displaced_codes = displaced, sizes, codes

    def add_parameters(self, step: float, first: int) -> int:
        """Add derivatives by the parameters that are installed to columns; returns a code."""
        return int(run_stage.call(self._work.add_parameters, *self.addresses, step, first))

    def _end(self, state: StepState, step: float) -> StepState:
        """The end of the step that has been solved."""
        velocity = self._work.velocity.copy()
        travel = step * (self._share * velocity + (1.0 - self._share) * state.qvel)
        qpos = state.qpos.copy()
        mujoco.mj_integratePos(self._model, qpos, travel, 1.0)
        act = self._work.sides[0, self._model.nv :].copy()
        return StepState(state.time + step, qpos, velocity, act)

    def _follow_model(self) -> None:
        """Take over what the table has of the model, if the plant has been read anew."""
        plant = self._world.plant.table
        if plant.dof_stiffness is not self._numbers:
            self._numbers = plant.dof_stiffness
            self._work.rigid = int(
                self._work.has_stages == 0 and moves_rigidly(self._model, plant.output_explicit)
            )

    def _begin(self, state: StepState) -> None:
        self._follow_model()
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

    @contextmanager
    def _solved(self, step: float) -> Iterator[None]:
        """Find the root of g; within the context no solver is in place."""
        table, work = self._world.table, self._work
        solver = work.solver = table.solve_problem
        try:
            self._check_root(self._run(work.find_root, step), step)
            yield
        finally:
            table.solve_problem = solver
            table.factors_valid = 0
            table.graph_state = 0

    def _run(self, address: int, step: float, number: int = 0) -> int:
        """Call a stage until there is memory enough."""
        while True:
            code = int(run_stage.call(address, *self.addresses, step, number))
            if not self._grow(code):
                return code

    def _grow(self, code: int) -> bool:
        """Make room for what a stage has missed; False if its code is about something else."""
        if code == SETS_FULL:
            current = self._world.current
            contacts, rows = current.contacts.count, current.rows.count
            self._work.resize(contact_room=max(1, 2 * contacts), row_room=max(1, 2 * rows))
            return True
        return code > OK and self._world.grow(code)

    def _check_root(self, code: int, step: float) -> None:
        if code == NO_ROOT:
            raise SimulationError(
                f"the step of {step} s has no solution to which its solver converges (residual "
                f"{self._work.residual:.1e}); its derivative is not known. Take a smaller step."
            )
        if code != OK:
            raise SimulationError(f"the step of {step} s could not be solved (code {code}).")


def _addresses(datas: object, name: str) -> np.ndarray:
    """Where an array of several MjData is."""
    found = [getattr(one, name).ctypes.data for one in datas]  # type: ignore[attr-defined]
    return np.array(found, np.int64)
