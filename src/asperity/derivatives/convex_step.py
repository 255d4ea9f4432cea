"""The exact derivative of one step whose velocity is the root of a momentum balance.

With g(v; x, u) = 0 at the step's end (`asperity.derivatives.balance.residual`) and H = ∂g/∂v,

    H dv = −(∂g/∂x dx + ∂g/∂u du),        q⁺ = q ⊕ δt (θ_vq v + (1 − θ_vq) v_0).

H is the Hessian of the step's convex problem, and what friction bounded by the delivered normal
impulse and gyroscopic forces in the middle of the step add to it, which makes it unsymmetric.
"""

from __future__ import annotations

from typing import Protocol

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.convex.potentials.lagged import DELIVERED_LAW
from asperity.derivatives.assembly import assemble_step
from asperity.derivatives.balance.columns import COLUMN_KERNELS, state_columns
from asperity.derivatives.balance.mode_changes import follow_one_side
from asperity.derivatives.balance.residual import keep_the_guess
from asperity.derivatives.balance.rigid_model import joint_order, moves_rigidly
from asperity.derivatives.balance.root_search import NO_ROOT, ROOT_KERNELS, SETS_FULL, find_root
from asperity.derivatives.layout import DELIVERED_BOUND, DERIVATIVE, FRICTION_ALONE, SYMMETRIC
from asperity.derivatives.tangent import IMPLICIT, StepState, Tangent
from asperity.derivatives.tangent_space import rotation_dofs
from asperity.derivatives.trajectory_loops import (
    TRAJECTORY_LOOPS,
    follow_trajectory,
    linear_step,
    pull_back_trajectory,
)
from asperity.errors import SimulationError
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod
from asperity.integrators.world import World
from asperity.integrators.world_layout import OK
from asperity.plant import native
from asperity.plant.evaluate import evaluate_smooth

__all__ = ["DERIVATIVE_KERNELS", "ConvexStep"]

DERIVATIVE_KERNELS = (
    *(assemble_step, follow_one_side, *ROOT_KERNELS, *COLUMN_KERNELS, *TRAJECTORY_LOOPS),
)


class ParameterColumns(Protocol):
    """What makes derivatives of the balance by parameters."""

    @property
    def count(self) -> int:
        """Number of parameters."""
        ...

    def install(self, work: Table) -> None:
        """Let compiled code that runs through steps add these columns."""
        ...

    def make_room(self, at: ConvexStep) -> bool:
        """Make room for what compiled code has missed; False if it was nothing of that kind."""
        ...


class ConvexStep(HoldsAddresses):
    """Steps of `Icf`'s, `Sap`'s or `Tamsi`'s method, solved to round-off, and their derivatives.

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
        self._numbers: object = None
        rotations = np.array(rotation_dofs(model), np.int64)
        own = world.current.data
        others = {id(one.data): one.data for one in world.evaluated_states if one.data is not own}
        first, last, end = joint_order(model)
        work = self._work = Table(
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
        work.joint_first, work.joint_last, work.subtree_end = first, last, end
        work.share = method.theta_vq if isinstance(method, ThetaMethod) else 1.0
        work.has_stages = int(isinstance(method, ThetaMethod))
        work.find_root = find_root.address
        work.no_solver = keep_the_guess.address
        work.evaluate_smooth = evaluate_smooth.address
        work.fill_columns = state_columns.address
        work.assemble = assemble_step.address
        work.follow_one_side = follow_one_side.address
        work.mj_ximat = own.ximat
        work.collision = native.function_address("mjCOLLISIONFUNC")
        work.geom_kinds = int(mujoco.mjtGeom.mjNGEOMTYPES)
        work.geom_type = np.array(model.geom_type, np.int64)
        work.coupling = SYMMETRIC
        if isinstance(method, TamsiMethod):
            work.coupling = FRICTION_ALONE
        elif isinstance(method, IcfMethod) and method.law is DELIVERED_LAW:
            work.coupling = DELIVERED_BOUND
        work.reach = 1e-3 * max(1e-3, float(model.stat.extent))

    def at(
        self,
        state: StepState,
        step: float,
        parameters: ParameterColumns | None = None,
        *,
        ahead: bool = True,
    ) -> Tangent:
        """Take a step from a state, with its derivatives.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        parameters : ParameterColumns, optional
            By which there are derivatives, too
            (`asperity.derivatives.parameters.displaced_models`).
        ahead : bool
            Whether columns are those ahead where pieces of laws meet. Matrices that are multiplied
            by others from the right, or by an adjoint from the left, must be on one piece.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        model, work = self._model, self._work
        count = 0 if parameters is None else parameters.count
        inner = 2 * model.nv + model.na
        self._prepare(state.time, inner + model.nu + count, 0, parameters)
        work.ahead = int(ahead)
        row = _pack(state)
        end = np.empty_like(row)
        while True:
            work.code = linear_step.call(*self.addresses, step, count, row, end)
            if work.code == OK:
                break
            self._go_on(step, parameters)
        matrices = np.split(
            work.result[:, : inner + model.nu + count], [inner, inner + model.nu], 1
        )
        return Tangent(
            self._unpack(end, state.time + step),
            *(one.copy() for one in matrices),
            (step,),
            IMPLICIT,
            float(work.residual),
            int(work.one_sided),
            int(work.unmatched),
        )

    def along(
        self,
        state: StepState,
        step: float,
        directions: np.ndarray,
        parameters: ParameterColumns | None = None,
    ) -> tuple[StepState, np.ndarray]:
        """Take a step, with derivatives along some changes of the state alone.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        directions : numpy.ndarray
            Shape (2nv+na, n).
        parameters : ParameterColumns, optional
            n of them, each of which changes along with the direction of its number.

        Returns
        -------
        end : StepState
        changes : numpy.ndarray
            Of the end, shape (2nv+na, n).
        """
        row = _pack(state)
        states, changes = np.zeros((2, len(row))), np.zeros((2, *directions.shape))
        states[0], changes[0] = row, directions
        controls = self._world.current.data.ctrl[None].copy()
        self.follow(states, step, controls, changes, parameters, time=state.time)
        return self._unpack(states[1], state.time + step), changes[1]

    def end(self, state: StepState, step: float) -> StepState:
        """Where the step ends, solved to round-off as for the derivatives."""
        return self.along(state, step, np.zeros((2 * self._model.nv + self._model.na, 0)))[0]

    def follow(
        self,
        states: np.ndarray,
        step: float,
        controls: np.ndarray,
        changes: np.ndarray,
        parameters: ParameterColumns | None,
        *,
        time: float = 0.0,
    ) -> None:
        """Take one step after the other, with changes along those of the first state.

        Parameters
        ----------
        states : numpy.ndarray
            Shape (n+1, nq+nv+na), of which the first is given.
        step : float
            Size of each [s].
        controls : numpy.ndarray
            Shape (n, nu).
        changes : numpy.ndarray
            Shape (n+1, 2nv+na, directions), of which the first are given.
        parameters : ParameterColumns, optional
            As many as directions, if any, each of which changes along with one of them.
        time : float
            At which all steps begin [s].

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        count = changes.shape[2]
        self._prepare(time, count, count, parameters)
        taken = 0
        while taken < len(controls):
            taken = follow_trajectory.call(*self.addresses, step, taken, controls, states, changes)
            if taken < len(controls):
                self._go_on(step, parameters)

    def pull_back(
        self,
        states: np.ndarray,
        step: float,
        controls: np.ndarray,
        by_states: np.ndarray,
        adjoint: np.ndarray,
        by_control: np.ndarray,
        by_parameter: np.ndarray,
        parameters: ParameterColumns | None,
    ) -> None:
        """Let an adjoint of the last state go back to the first one.

        Parameters
        ----------
        states, step, controls
            As `follow` has filled them.
        by_states : numpy.ndarray
            Derivatives of a function of the states before the last one, shape (n, 2nv+na).
        adjoint : numpy.ndarray
            Its derivatives by the last state, and then by the first one, shape (2nv+na,).
        by_control, by_parameter : numpy.ndarray
            To which derivatives are added, shapes (n, nu) and (number of parameters,).
        parameters : ParameterColumns, optional
        """
        model = self._model
        self._prepare(0.0, 2 * model.nv + model.na + model.nu + len(by_parameter), 0, parameters)
        self._work.ahead = 0
        left = len(controls)
        while left > 0:
            left = pull_back_trajectory.call(
                *self.addresses, step, left, controls, states, by_states, adjoint, by_control,
                by_parameter,
            )  # fmt: skip
            if left > 0:
                self._go_on(step, parameters)

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

    def make_room(self, other: ConvexStep, code: int) -> bool:
        """Make room for another solution's contacts, if a code says that there is none.

        Returns whether it did.
        """
        if code == SETS_FULL:
            solved = other._work
            self._work.resize(contact_room=len(solved.contact_geom), row_room=len(solved.row_kind))
            return True
        return code > OK and self._world.grow(code)

    # -- what compiled code needs ------------------------------------------------------------------

    def _prepare(
        self, time: float, columns: int, directions: int, parameters: ParameterColumns | None
    ) -> None:
        """Have compiled code take steps with the inputs, model and parameters that there are."""
        plant, work = self._world.plant.table, self._work
        if plant.dof_stiffness is not self._numbers:
            # The plant has been read anew.
            self._numbers = plant.dof_stiffness
            rigid = moves_rigidly(self._model, plant.output_explicit)
            work.rigid = int(rigid and work.has_stages == 0)
        if len(work.directions) < directions:
            work.resize(direction_room=directions)
        if len(work.columns) < columns:
            work.resize(column_room=columns)
        self._world.current.table.time = time
        if parameters is not None:
            parameters.install(work)
        elif len(work.displaced) > 0:
            work.displaced = np.zeros((0, 4), np.int64)

    def _go_on(self, step: float, parameters: ParameterColumns | None) -> None:
        """Make room for what compiled code has missed, or say why it ends."""
        code = int(self._work.code)
        if parameters is not None and parameters.make_room(self):
            return
        if code == SETS_FULL:
            current = self._world.current
            contacts, rows = current.contacts.count, current.rows.count
            self._work.resize(contact_room=max(1, 2 * contacts), row_room=max(1, 2 * rows))
        elif code == NO_ROOT:
            raise SimulationError(
                f"the step of {step} s has no solution to which its solver converges (residual "
                f"{self._work.residual:.1e}); its derivative is not known. Take a smaller step."
            )
        elif not (code > OK and self._world.grow(code)):
            raise SimulationError(f"the step of {step} s could not be solved (code {code}).")

    def _unpack(self, row: np.ndarray, time: float) -> StepState:
        first, second = self._model.nq, self._model.nq + self._model.nv
        return StepState(time, row[:first], row[first:second], row[second:])


def _pack(state: StepState) -> np.ndarray:
    return np.concatenate([state.qpos, state.qvel, state.act])


def _addresses(datas: object, name: str) -> np.ndarray:
    """Where an array of several MjData is."""
    found = [getattr(one, name).ctypes.data for one in datas]  # type: ignore[attr-defined]
    return np.array(found, np.int64)
