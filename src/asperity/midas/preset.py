"""`Midas`, the intersection-free engine as an integrator of the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from asperity.arguments import is_count
from asperity.errors import ArgumentError
from asperity.integrators.integrator import (
    Integrator,
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

    Every step minimizes an energy whose barrier keeps surfaces apart, and no iterate of the
    minimization may pass through another surface on its way, so that the guarantee does not depend
    on step size, stiffness or convergence (Midas, section III; IPC, Li et al. 2020). Joints hold
    exactly, by a change of variables, and equalities (``connect``, ``weld``, ``joint``,
    ``tendon``) to 1e-11 m, by augmented Lagrangians. Spheres and capsules are round here, and
    cylinders and ellipsoids on planes and above flat faces of boxes and of meshes that are nowhere
    above that face; all other collision geoms are triangle meshes, and meshes are taken as they
    are, not by their convex hulls. What never intersects are these surfaces: where it counts as a
    polyhedron, what is round reaches beyond that, by as much as ``segments`` says. Impacts end at
    rest, but for those that the dissipation of `ContactParameters` lets part faster than gravity
    undoes within twelve steps: 0.6 m/s at 10 ms, 0.1 m/s (the usual one lets nothing part faster)
    at 1.7 ms.

    Parameters
    ----------
    time_step : float
        Step size [s].
    time_scheme : {"bdf2", "implicit-euler"}
        BDF2, blended with BDF3 where nothing touches, is of second order and keeps what swings;
        through impacts, to which it would add, steps are those of implicit Euler. Implicit
        Euler all the time is the paper's scheme. In both, free bodies keep their spin exactly, and
        what is round rolls.
    activation_distance : float, optional
        Distance [m] below which surfaces repel each other; resting things keep about this distance.
        By default the smallest clearance of the initial state, within 0.5 and 1 mm, but for two
        links that begin nearer to each other theirs, and for shapes smaller than 2 cm a twentieth
        of their extent; a note in `Simulator.load_report` names links that have less than 0.1 mm.
        One that is given is that of all pairs.
    barrier_stiffness : float
        Pressure [Pa] that brings surfaces to about 0.4 activation distances, whatever these are. A
        thousandth of it, the pressure of 0.1 m of steel on its base, leaves them 2 % nearer than
        that distance.
    stiction_tolerance : float, optional
        Slip speed [m/s] below which friction counts as stiction: what sticks creeps, at most this
        fast. By default what contact parameters say of a pair (`ContactParameters`): 0.1 mm/s where
        nobody says anything. The paper's is 1 mm/s, at which a grasp slips by that in a second.
    tolerance : float
        A step has converged when the next iteration would move nothing faster than this [m/s]. A
        hundredth of the usual stiction tolerance.
    rigidity : float
        Stiffness against deformation [Pa]: links are affine bodies, held close to rigid. 1e8 lets
        lengths change by about 1e-5.
    max_iterations : int
        Newton iterations after which a solve has failed. If nothing else helps, the step ends with
        ``Status.NOT_CONVERGED``.
    friction_solves : int
        Most solves of a step. Friction acts by the normal forces of a known state: first of the
        step's beginning, then, while they change by more than a tenth, of the solution found with
        the last ones. With one solve, a body that leaves a tiny clearance is braked by a normal
        force that is no longer there.
    segments : int
        Straight pieces around a circle of cylinders and ellipsoids, a multiple of 4, where they
        touch anything but planes and the inside of flat faces of boxes and meshes. They lie inside
        of the circle by up to 2 % of its radius with 16 pieces, 0.1 % with 64. Spheres and capsules
        are round: a point and a line with a radius.
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
        What becomes of meshes that are the surface of no solid: open ones, those with edges of more
        than two triangles or of two that disagree on the outside, those that run through
        themselves. They are named in `Simulator.load_report` and collide as the sheets that they
        are; or have their holes closed and parts that run through each other united (by the library
        ``manifold3d``, extra ``midas``), or the convex hull in their place if that fails; or get
        the hull at once. Meshes that face inwards are turned in any case.
    overlaps : {"exclude", "refuse", "separate"}
        What happens to surfaces that meet in a state that is given. In any case but "refuse", those
        that merely touch are taken apart by less than the activation distance, and joints whose
        reference position is beyond a limit are brought back to it. Links of one mechanism that
        overlap in the state that the simulator is made in, as robots are drawn, may pass through
        each other from then on; a note in `Simulator.load_report` names them. Everything else that
        overlaps is refused, or with "separate", free bodies are moved apart, and all joints brought
        back.
    verify : bool
        Check every state with the independent intersection test of ``ipctk`` (extra ``midas``), and
        raise if there is one.

    Raises
    ------
    ModelError
        From the simulator's constructor, for elements that are not supported; there and, of a state
        that is given later, when it advances, if surfaces intersect or a joint is beyond a limit.

    Notes
    -----
    The state is that of affine bodies, of which ``qpos`` has the nearest rotations: positions that
    are written into ``data`` start a new motion of rigid bodies. Contacts in ``data`` are those of
    ``Simulator.contacts``, with the forces at the end of the last step, where ``mj_contactForce``
    and touch, force and torque sensors find them. Other constraints have no rows there; their
    generalized forces are in ``qfrc_constraint``.

    Forces of a surrounding fluid are linear over a step, about the velocities that the last steps
    lead to: of their slope what resists is implicit, so that drag may stop a leaf within a step.

    Mocap bodies move to the pose that ``data`` gives them in one step, with what they push and
    carry. If there is no way, the step fails. A loop that is closed by an equality is closed on
    affine links; poses in ``data`` show their strain, some 1e-5 of a link's length under load.

    Where friction of a violent impact would turn a body by radians within a step, Newton's method
    may not get there. The step then keeps the last solution that it has, with friction by the
    normal forces of the step's beginning, or, if there is none, without friction. Statistics count
    such steps.
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

    # A hundred times the velocity to which a step is solved.
    default_stiction_tolerance = 1e-4
    contact_parameters = frozenset({"dissipation", "friction", "dynamic_friction"})
    takes_every_actuator = True

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
    def stepping(self) -> Fixed:
        return Fixed(self.time_step)

    def make_method(self) -> Method:
        from asperity.midas.engine import EngineOptions
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
