"""`Midas`, the intersection-free engine as an integrator of the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asperity.arguments import is_count
from asperity.errors import ArgumentError
from asperity.integrators.integrator import (
    Integrator,
    refuse_unused,
    require_choices,
    require_count,
    require_non_negative,
    require_positive,
)
from asperity.integrators.registry import register
from asperity.integrators.steppings.stepping import Fixed

if TYPE_CHECKING:
    from asperity.integrators.methods.method import Method

__all__ = ["Midas"]

_ACTIVATION = 1e-3


@register("midas", variants=())
@dataclass(frozen=True, kw_only=True)
class Midas(Integrator):
    """Fixed steps of incremental potential contact on affine bodies: nothing ever intersects.

    Every step minimizes an energy whose barrier keeps surfaces apart. No iterate of the
    minimization passes through another surface, so the guarantee does not depend on step size,
    stiffness or convergence (Midas, section III; IPC, Li et al. 2020). Joints hold exactly, by a
    change of variables, and equalities (``connect``, ``weld``, ``joint``, ``tendon``) to 1e-11 m,
    by augmented Lagrangians.

    Spheres and capsules are round. Cylinders and ellipsoids are round on planes, and above flat
    faces of boxes and of meshes that are nowhere above that face. All other collision geoms are
    triangle meshes; meshes are not replaced by their convex hulls. These surfaces never intersect.
    Where a round shape is a polyhedron, the shape reaches beyond it, by as much as ``segments``
    says.

    Flexes are volumes, cloth or ropes. They touch bodies, each other and themselves, at their
    ``radius``. Equalities of their edges hold lengths. Their contacts do not rebound.

    Impacts rebound by the dissipation of `ContactParameters`. Rebounds that gravity undoes within
    twelve steps are left out: those below 0.6 m/s at 10 ms, and below 0.1 m/s at 1.7 ms.

    Parameters
    ----------
    time_step : float
        Step size [s].
    time_scheme : {"bdf2", "implicit-euler"}
        How time is discretised. BDF2, blended with BDF3 where nothing touches, is of second order,
        so swings keep their energy. Steps through impacts are those of implicit Euler. Implicit
        Euler throughout is the paper's scheme. In both, free bodies keep their spin exactly, and
        round shapes roll.
    activation_distance : float, optional
        Distance [m] below which surfaces repel each other; resting bodies keep about this distance.
        All pairs have the distance that is given. By default it is the smallest clearance of the
        initial state, within 0.5 and 1 mm. Two links that begin nearer to each other have their
        clearance, and shapes smaller than 2 cm a twentieth of their extent. A note in
        `Simulator.load_report` names links that have less than 0.1 mm. Surfaces that a
        later state puts so near that they would be thrown apart have what it leaves, until another
        state moves them.
    barrier_stiffness : float
        Pressure [Pa] that brings surfaces to about 0.4 activation distances, whatever these are. A
        thousandth of it, the pressure of 0.1 m of steel on its base, leaves them 2 % nearer than
        that distance. Fifty boxes that fall into a heap take half of the iterations with 1e5,
        cubes in columns twice as many.
    stiction_tolerance : float, optional
        Slip speed [m/s] below which friction is stiction: sticking contacts creep at most this
        fast. By default that of `ContactParameters`, which is 5e-6 m/s. The paper's is 1 mm/s, at
        which a grasp slips by 1 mm in a second.
    tolerance : float
        A step has converged when the next iteration would move no point faster than this [m/s]. A
        fifth of the usual stiction tolerance.
    rigidity : float
        Stiffness against deformation [Pa] of links, which are affine bodies. 1e8 lets lengths
        change by about 1e-5. Strong motors bend small links more: an arm that 12 to 53 N m whirl
        at 100 rad/s was 0.35 rad off after 0.1 s, and 0.03 rad with 1e9, which damps links that
        turn far in a step 1.7 times as much.
    max_iterations : int
        Newton iterations after which a solve has failed. If nothing else helps, the step ends with
        ``Status.NOT_CONVERGED``.
    friction_solves : int
        Largest number of solves of a step. Friction has the normal forces of a known state: first
        of the step's beginning, then, while they change by more than a tenth, of the last solution.
        With one solve, a normal force that no longer acts brakes a body that leaves a tiny
        clearance.
    segments : int
        Straight pieces around a circle of cylinders and ellipsoids, a multiple of 4, where these
        are not round. The pieces lie inside the circle by up to 2 % of its radius with 16 pieces,
        and 0.1 % with 64.
    subdivisions : int
        Pieces of every edge of a box.
    convex_meshes : bool
        Replace meshes by their convex hulls, as MuJoCo's collision detection does.
    mesh_tolerance : float, optional
        Largest distance [m] of a simplified mesh from the original. Meshes of more than 2,000
        triangles get as few as that allows, by the libraries ``fast-simplification`` and
        ``manifold3d`` (extra ``midas``); a note in `Simulator.load_report` has the numbers. By
        default 0.5 % of a mesh's extent, and 0.5 mm at most; 0 leaves all meshes as they are.
    mesh_repair : {"keep", "close", "hull"}
        What to do with meshes that do not enclose a solid: open ones, those with edges of more than
        two triangles or of two that disagree on the outside, those that intersect themselves.
        `Simulator.load_report` names them. ``"keep"``: they collide as sheets. ``"close"``: holes
        are closed and parts that intersect are united (by the library ``manifold3d``, extra
        ``midas``); if that fails, the convex hull replaces the mesh. ``"hull"``: the convex hull
        replaces it at once. Meshes that face inwards are turned in any case.
    overlaps : {"exclude", "refuse", "separate"}
        What to do with surfaces that overlap in a given state. ``"refuse"``: it is an error.
        Otherwise surfaces that merely touch are moved apart by less than the activation distance,
        and joints whose reference position is beyond a limit are moved back to it. Links of one
        mechanism that overlap in the simulator's first state may pass through each other from then
        on, and so may a flex and links that it is pinned in or with; a note in
        `Simulator.load_report` names them. All other overlaps are an error, but with ``"separate"``
        free bodies are moved apart, flexes without pins are moved out of geoms, and all joints are
        moved back. What of flexes still overlaps in the first state then passes, the deepest first.
    verify : bool
        Check every state with the independent intersection test of ``ipctk`` (extra ``midas``), and
        raise if there is one.

    Raises
    ------
    ModelError
        In the simulator's constructor, for elements that are not supported. There, and when a state
        that was given later advances, if surfaces intersect or a joint is beyond a limit.

    Notes
    -----
    The state is that of affine bodies, and ``qpos`` has their nearest rotations. Positions that are
    written into ``data`` start a new motion of rigid bodies. Contacts in ``data`` are those of
    ``Simulator.contacts``, with the forces at the end of the last step, for ``mj_contactForce`` and
    touch, force and torque sensors. Other constraints have no rows there; their generalized forces
    are in ``qfrc_constraint``.

    Bodies that start asleep (``sleep="init"``) stay where they are. Their island wakes in the step
    in which something awake comes within the activation distance of one of them.

    Forces of a surrounding fluid are linear over a step, about the velocities to which the last
    steps lead. The resisting part of their slope is implicit, so drag may stop a leaf within a
    step.

    Mocap bodies move to the pose that ``data`` gives them in one step, with the bodies that they
    push and carry. If that is not possible, the step fails. A loop that an equality closes is
    closed on affine links; poses in ``data`` show their strain, some 1e-5 of a link's length under
    load.

    Newton's method may fail where friction of an impact would turn a body by radians within a step.
    The step then keeps its last solution, with the normal forces of the step's beginning, or has no
    friction. Statistics count such steps.
    """

    time_step: float = 0.01
    time_scheme: Literal["bdf2", "implicit-euler"] = "bdf2"
    activation_distance: float | None = None
    barrier_stiffness: float = 1e7
    stiction_tolerance: float | None = None
    tolerance: float = 1e-6
    rigidity: float = 1e8
    max_iterations: int = 500
    friction_solves: int = 3
    segments: int = 16
    subdivisions: int = 1
    convex_meshes: bool = False
    mesh_tolerance: float | None = None
    mesh_repair: Literal["keep", "close", "hull"] = "keep"
    overlaps: Literal["exclude", "refuse", "separate"] = "exclude"
    verify: bool = False

    # Ten times the velocity to which a step is solved, so that friction is right within 1 %.
    default_stiction_tolerance = 5e-6
    default_joint_stiction_tolerance = 1e-3
    contact_parameters = frozenset({"dissipation", "friction", "dynamic_friction"})
    judged_contact_parameters = frozenset({"stiffness"})
    takes_every_actuator = True
    takes_every_friction = True
    starts_asleep = True

    def __post_init__(self) -> None:
        for name in (
            "time_step",
            "barrier_stiffness",
            "tolerance",
            "rigidity",
        ):
            require_positive(name, getattr(self, name))
        for name in ("max_iterations", "friction_solves", "subdivisions"):
            require_count(name, getattr(self, name))
        require_choices(self)
        if self.convex_meshes:
            refuse_unused(
                self,
                ("mesh_repair",),
                "has no effect with convex_meshes=True, which replaces all meshes by their hulls; "
                "omit one of them.",
            )
        if self.mesh_tolerance is not None:
            require_non_negative("mesh_tolerance", self.mesh_tolerance)
        if self.stiction_tolerance is not None:
            require_positive("stiction_tolerance", self.stiction_tolerance)
        if self.activation_distance is not None:
            require_positive("activation_distance", self.activation_distance)
        if not is_count(self.segments) or self.segments < 8 or self.segments % 4:
            raise ArgumentError(
                f"segments must be a multiple of 4, at least 8, got {self.segments}."
            )

    @property
    def no_flexes(self) -> str | None:
        return None

    @property
    def stepping(self) -> Fixed:
        return Fixed(self.time_step)

    def make_method(self) -> Method:
        from asperity.midas.engine_tables import EngineOptions
        from asperity.midas.midas_method import MidasMethod

        options = EngineOptions(
            activation_distance=self.activation_distance or _ACTIVATION,
            barrier_stiffness=self.barrier_stiffness,
            rigidity=self.rigidity,
            stiction_tolerance=self.stiction_tolerance,
            joint_stiction_tolerance=0.0,  # the simulator's
            tolerance=self.tolerance,
            max_iterations=int(self.max_iterations),
            friction_solves=int(self.friction_solves),
            second_order=self.time_scheme == "bdf2",
            segments=int(self.segments),
            subdivisions=int(self.subdivisions),
            hulls=self.convex_meshes,
            time_step=self.time_step,
            mesh_tolerance=self.mesh_tolerance,
            mesh_repair=self.mesh_repair,
        )
        return MidasMethod(
            options,
            adapt_activation=self.activation_distance is None,
            overlaps=self.overlaps,
            verify=self.verify,
        )
