"""The exact derivative of one step whose velocity is the root of a momentum balance.

With g(v; x, u) = 0 at the step's end (`asperity.derivatives.balance.residual`) and H = ∂g/∂v,

    H dv = −(∂g/∂x dx + ∂g/∂u du),        q⁺ = q ⊕ δt (θ_vq v + (1 − θ_vq) v_0).

H is the Hessian of the step's convex problem, and what friction bounded by the delivered normal
impulse and gyroscopic forces in the middle of the step add to it, which makes it unsymmetric.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Layout, Table
from asperity.convex.potentials.lagged import DELIVERED_LAW
from asperity.derivatives.assembly import assemble_step, pull_back_step
from asperity.derivatives.balance.balanced_ends import (
    BALANCED_KERNELS,
    balanced_end,
    differentiate_ends,
)
from asperity.derivatives.balance.columns import COLUMN_KERNELS, state_columns
from asperity.derivatives.balance.flow import keep_plastic
from asperity.derivatives.balance.mode_changes import follow_one_side
from asperity.derivatives.balance.plastic_columns import plastic_columns
from asperity.derivatives.balance.residual import keep_the_guess
from asperity.derivatives.balance.rigid_model import joint_order, moves_rigidly
from asperity.derivatives.balance.root_search import (
    NO_ROOT,
    REBOUNDS,
    ROOT_KERNELS,
    SETS_FULL,
    find_root,
)
from asperity.derivatives.contact_changes import ContactChanges, contact_changes
from asperity.derivatives.layout import (
    DELIVERED_BOUND,
    DERIVATIVE,
    ENDS,
    FLOW,
    FRICTION_ALONE,
    INPUTS,
    LAWS,
    MOTION,
    PARAMETERS,
    RIGID,
    ROOT,
    ROW_LAWS,
    SETS,
    START,
    SYMMETRIC,
)
from asperity.derivatives.parameters.displaced_models import DisplacedModels
from asperity.derivatives.tangent import IMPLICIT, StepState, Tangent, tangent_size
from asperity.derivatives.tangent_space import rotation_dofs
from asperity.derivatives.trajectory_loops import (
    TRAJECTORY_LOOPS,
    deliver_step,
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
from asperity.plant.model.plastic import plastic_size
from asperity.plant.model.support import has_every_friction

__all__ = [
    "DERIVATIVE_KERNELS",
    "PLASTIC_KERNELS",
    "STEADY_TOLERANCE",
    "ConvexStep",
    "table_of_inputs",
]

STEADY_TOLERANCE = 1e-13
"""Of velocities without vibrations, in steps that are differentiated."""

DERIVATIVE_KERNELS = (
    *(assemble_step, pull_back_step, follow_one_side),
    *(*ROOT_KERNELS, *COLUMN_KERNELS, *BALANCED_KERNELS, *TRAJECTORY_LOOPS),
)

PLASTIC_KERNELS = (plastic_columns, keep_plastic)
"""Further ones, of models with flexes that yield."""


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
        model, elastic = world.plant.model, world.plant.table.elastic
        trees = world.plant.table.trees
        self._world = world
        self._model = model
        self._tangent_size = tangent_size(model)
        self._readings = 0
        rotations = np.array(rotation_dofs(model), np.int64)
        sizes = {
            **{"nq": model.nq, "nv": model.nv, "na": model.na, "nu": model.nu},
            **{"trees": model.ntree, "bodies": model.nbody},
            **{"vector": len(world.problem.iterate.velocity), "turned": len(rotations)},
            # Directions may be combined of all coordinates.
            **{"column_room": self._tangent_size + model.nu, "direction_room": 1},
            **{"ny": plastic_size(model), "width": world.current.table.soft.work.shape[1]},
            **{"yielding": elastic.yielding, "folds": elastic.folds},
            **{"slots": int(np.diff(elastic.plastic_first).max(initial=0))},
            **{"contact_room": 1, "row_room": 1},
            "components": 6 if has_every_friction(model) else 3,
            "largest": int((trees.size * (1 - trees.spatial)).max(initial=0)),
        }

        def table(layout: Layout, **values: Any) -> Table:
            known = {size: sizes[size] for size in layout.sizes & sizes.keys()}
            return Table(layout, **known, **values)

        first, last, end = joint_order(model)
        work = self._work = table(
            DERIVATIVE,
            start=table(START),
            inputs=table_of_inputs(world),
            sets=table(SETS, reach=1e-3 * max(1e-3, float(model.stat.extent))),
            root=table(ROOT, no_solver=keep_the_guess.address, coupling=_coupling(method)),
            motion=table(
                MOTION,
                collision=native.function_address("mjCOLLISIONFUNC"),
                geom_kinds=int(mujoco.mjtGeom.mjNGEOMTYPES),
                geom_type=np.array(model.geom_type, np.int64),
            ),
            laws=table(LAWS),
            row_laws=table(ROW_LAWS),
            flow=table(FLOW),
            ends=table(
                ENDS,
                begin=balanced_end.address,
                differentiate=differentiate_ends.address,
            ),
            rigid=table(RIGID, joint_first=first, joint_last=last, subtree_end=end),
            parameters=table(
                PARAMETERS,
                displaced=np.zeros((0, 4), np.int64),
                mj_ximat=world.current.data.ximat,
            ),
            rotations=rotations,
            share=method.theta_vq if isinstance(method, ThetaMethod) else 1.0,
            has_stages=int(isinstance(method, ThetaMethod)),
            find_root=find_root.address,
            evaluate_smooth=evaluate_smooth.address,
            fill_columns=state_columns.address,
            assemble=assemble_step.address,
            pull_back=pull_back_step.address,
            follow_one_side=follow_one_side.address,
        )
        if len(work.start.plastic) > 0:
            work.keep_plastic = keep_plastic.address
            work.plastic_columns = plastic_columns.address
        # Differences of what is taut need all digits.
        world.table.steady_tolerance = STEADY_TOLERANCE
        self.addresses = world.table.address, work.address
        """Of the world, and of the table in which derivatives are worked out."""

    def at(
        self,
        state: StepState,
        step: float,
        parameters: DisplacedModels | None = None,
        *,
        ahead: bool = True,
        balanced: bool = True,
    ) -> Tangent:
        """Take a step from a state, with its derivatives.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        parameters : DisplacedModels, optional
            By which there are derivatives, too.
        ahead : bool
            Whether columns are those ahead where pieces of laws meet. Matrices that are multiplied
            by others from the right, or by an adjoint from the left, must be on one piece.
        balanced : bool
            Whether velocities at the end are those after the balance of robots that turn far, and
            not the solution, of which accelerations and forces are.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        model, work = self._model, self._work
        count = 0 if parameters is None else parameters.count
        inner = self._tangent_size
        self._prepare(state.time, inner + model.nu + count, 0, parameters)
        work.ahead = int(ahead)
        work.ends.wanted = int(balanced)
        row = state.row
        end = np.empty_like(row)
        while True:
            work.code = linear_step.call(*self.addresses, step, count, row, end)
            if work.code == OK:
                break
            self._go_on(step, parameters)
        result, last = work.result, inner + model.nu
        return Tangent(
            StepState.of(end, self._model, state.time + step),
            result[:, :inner].copy(),
            result[:, inner:last].copy(),
            result[:, last : last + count].copy(),
            (step,),
            IMPLICIT,
            float(work.root.residual),
            int(work.one_sided),
            int(work.unmatched),
        )

    def along(
        self,
        state: StepState,
        step: float,
        directions: np.ndarray,
        parameters: DisplacedModels | None = None,
    ) -> tuple[StepState, np.ndarray]:
        """Take a step, with derivatives along some changes of the state alone.

        Parameters
        ----------
        state : StepState
        step : float
            Its size [s].
        directions : numpy.ndarray
            Shape (tangent_size, n).
        parameters : DisplacedModels, optional
            Which change along with the last of the directions.

        Returns
        -------
        end : StepState
        changes : numpy.ndarray
            Of the end, shape (tangent_size, n).
        """
        row = state.row
        states, changes = np.zeros((2, len(row))), np.zeros((2, *directions.shape))
        states[0], changes[0] = row, directions
        controls = self._world.current.data.ctrl[None].copy()
        self.follow(states, step, controls, changes, parameters, time=state.time)
        return StepState.of(states[1], self._model, state.time + step), changes[1]

    def end(self, state: StepState, step: float) -> StepState:
        """Where the step ends, solved to round-off as for the derivatives."""
        return self.along(state, step, np.zeros((self._tangent_size, 0)))[0]

    def deliver(self, state: StepState, step: float) -> None:
        """Let what is published at a state be of the step that is solved to round-off from there.

        Raises
        ------
        SimulationError
            If no solution is found.
        """
        self._prepare(state.time, 0, 0, None)
        while True:
            self._work.code = deliver_step.call(*self.addresses, step, state.row)
            if self._work.code == OK:
                return
            self._go_on(step, None)

    def follow(
        self,
        states: np.ndarray,
        step: float,
        controls: np.ndarray,
        changes: np.ndarray,
        parameters: DisplacedModels | None,
        *,
        time: float = 0.0,
    ) -> None:
        """Take one step after the other, with changes along those of the first state.

        Parameters
        ----------
        states : numpy.ndarray
            Shape (n+1, state_size), of which the first is given.
        step : float
            Size of each [s].
        controls : numpy.ndarray
            Shape (n, nu).
        changes : numpy.ndarray
            Shape (n+1, tangent_size, directions), of which the first are given.
        parameters : DisplacedModels, optional
            Which change along with the last of the directions.
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
        parameters: DisplacedModels | None,
    ) -> None:
        """Let an adjoint of the last state go back to the first one.

        Parameters
        ----------
        states, step, controls
            As `follow` has filled them.
        by_states : numpy.ndarray
            Derivatives of a function of the states before the last one, shape (n, tangent_size).
        adjoint : numpy.ndarray
            Its derivatives by the last state, and then by the first one, shape (tangent_size,).
        by_control, by_parameter : numpy.ndarray
            To which derivatives are added, shapes (n, nu) and (number of parameters,).
        parameters : DisplacedModels, optional
        """
        columns = self._tangent_size + self._model.nu + len(by_parameter)
        self._prepare(0.0, columns, 0, parameters)
        self._work.ahead = 0
        left = len(controls)
        while left > 0:
            left = pull_back_trajectory.call(
                *self.addresses, step, left, controls, states, by_states, adjoint, by_control,
                by_parameter,
            )  # fmt: skip
            if left > 0:
                self._go_on(step, parameters)

    def contact_changes(self, data: mujoco.MjData, step: Tangent) -> ContactChanges | None:
        """Forces of contacts with their derivatives in a step that `at` has taken last.

        Parameters
        ----------
        data : mujoco.MjData
            With kinematics and velocities of bodies at its beginning.
        step : Tangent

        Returns
        -------
        ContactChanges or None
            None where they are not in closed form.
        """
        work, contacts = self._work, self._world.current.table.contacts
        count = int(work.sets.contacts)
        if work.sets.patches or work.kinks > 0 or work.has_stages or work.laws.uses_mass:
            return None
        if np.any(np.asarray(work.sets.contact_geom)[:count] >= self._model.ngeom):
            return None
        if np.any(contacts.surface_velocity[:count]) or np.any(contacts.turning_velocity[:count]):
            return None
        order = np.array(self._world.problem.graph.contact[:count])
        ellipsoidal = np.asarray(contacts.ellipsoidal)[order, None] != 0
        scales = np.where(ellipsoidal, np.asarray(contacts.slip_scale)[order, 1:], 0.0)
        return contact_changes(self._model, data, work, order, scales, step)

    def share_springs(self, step: float, shares: np.ndarray) -> None:
        """Let springs be as implicit as in all solves of an extrapolated step of that size [s]."""
        self._world.table.doubled_step = step
        self._world.table.spring_share[:] = shares

    def change_distances(self, changes: np.ndarray) -> None:
        """Let signed distances of contacts differ from those of the geoms, shape (ncontact,) [m].

        Without any they are those of the geoms.
        """
        current = self._world.current.table
        current.distance_changes = changes
        current.valid = 0

    # -- what compiled code needs ------------------------------------------------------------------

    def _prepare(
        self, time: float, columns: int, directions: int, parameters: DisplacedModels | None
    ) -> None:
        """Have compiled code take steps with the inputs, model and parameters that there are."""
        plant, work = self._world.plant.table, self._work
        work.ends.wanted = 1
        if self._world.plant.readings != self._readings:
            self._readings = self._world.plant.readings
            elastic, model = plant.elastic, self._model
            rigid = moves_rigidly(model, plant.actuators.output_explicit)
            work.rigid.applies = int(rigid and work.has_stages == 0)
            light = np.any(model.body_gravcomp[elastic.particle_body])
            still = model.opt.density == model.opt.viscosity == 0.0
            work.rigid.particles = int(still and not light and elastic.particles > 0)
        if len(work.directions) < directions:
            work.resize(direction_room=directions)
        if len(work.columns) < columns:
            work.resize(column_room=columns)
        self._world.current.table.time = time
        if parameters is not None:
            parameters.install(work.parameters)
        elif len(work.parameters.displaced) > 0:
            work.parameters.displaced = np.zeros((0, 4), np.int64)

    def _go_on(self, step: float, parameters: DisplacedModels | None) -> None:
        """Make room for what compiled code has missed, or say why it ends."""
        code = int(self._work.code)
        if parameters is not None and parameters.make_room():
            return
        if code == SETS_FULL:
            current = self._world.current
            contacts, rows = current.contacts.count, current.rows.count
            self._work.resize(contact_room=max(1, 2 * contacts), row_room=max(1, 2 * rows))
        elif code == NO_ROOT:
            raise SimulationError(
                f"the solver of the step of {step} s does not converge (residual "
                f"{self._work.root.residual:.1e}), so the step has no derivative; take a smaller "
                "step."
            )
        elif code == REBOUNDS:
            raise SimulationError(
                f"bodies rebound in the step of {step} s from t = {self._world.current.table.time} "
                "s, and rebounds have no derivative. Take resolve_impacts=False, smaller steps, or "
                "Cenic."
            )
        elif not (code > OK and self._world.grow(code)):
            raise SimulationError(
                f"the step of {step} s could not be solved (code {code}); take a smaller step."
            )


def _coupling(method: IcfMethod | ThetaMethod | TamsiMethod) -> int:
    if isinstance(method, TamsiMethod):
        return FRICTION_ALONE
    if isinstance(method, IcfMethod) and method.law is DELIVERED_LAW:
        return DELIVERED_BOUND
    if isinstance(method, ThetaMethod) and not method.gliding:
        return DELIVERED_BOUND
    return SYMMETRIC


def table_of_inputs(world: World) -> Table:
    """Where inputs are written besides the current state's data."""
    own = world.current.data
    others = {id(one.data): one.data for one in world.evaluated_states if one.data is not own}
    addresses = [
        np.array([getattr(one, name).ctypes.data for one in others.values()], np.int64)
        for name in ("ctrl", "qfrc_applied")
    ]
    return Table(INPUTS, further=len(others), other_ctrl=addresses[0], other_applied=addresses[1])
