"""The optional mechanisms of `Cenic`, `Icf` and `Midas`, and how each one is switched off.

A mechanism is optional if steps without it are still steps of the method. What corrects a method,
or makes it faster, belongs here: with what it is for and what it stands in the place of.
"""

from __future__ import annotations

from dataclasses import dataclass

from studies.benchmarks.ablation.variant import Body, Edit, Value

__all__ = ["MECHANISMS", "METHODS", "Mechanism"]

METHODS: dict[str, tuple[float, ...]] = {
    "cenic": (1e-2, 1e-3, 1e-4),
    "trapezoid": (1e-3, 1e-4),
    "icf": (1e-2, 1e-3),
    "midas": (1e-2, 1e-3),
}
"""Methods of `studies.benchmarks.verification`, with the accuracies or time steps [s] tried."""

_METHODS = "integrators.methods"
_CENIC = "integrators.presets.cenic"
_ICF = "integrators.presets.icf"


@dataclass(frozen=True)
class Mechanism:
    """Something that can be switched off.

    Attributes
    ----------
    name
        How the command line and the page call it.
    purpose
        A sentence: what it is for.
    replaces
        What stands in its place where it is off.
    methods
        Those that have it, of `METHODS`.
    off
        How it is switched off.
    """

    name: str
    purpose: str
    replaces: str
    methods: tuple[str, ...]
    off: tuple[Edit, ...]


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism(
        "extrapolation",
        "Doubled steps make a second-order solution.",
        "The two half steps, of first order (the paper's scheme).",
        ("cenic",),
        (Value(_CENIC, "Cenic.error_estimate", '"step-doubling"'),),
    ),
    Mechanism(
        "velocity-errors",
        "Errors of velocity count, too.",
        "The paper's norm, of positions alone.",
        ("cenic",),
        (Value(_CENIC, "Cenic.velocity_weight", "0.0"),),
    ),
    Mechanism(
        "contact-changes",
        "Islands whose contacts change are not extrapolated.",
        "Only a fast approach that ends prevents extrapolation.",
        ("cenic",),
        (
            Body(
                f"{_METHODS}.rough_islands",
                "find_rough_islands",
                """
                _note_solution(memory, half, _SECOND)
                memory.rough[:] = 0
                for tree in range(memory.island.size):
                    if _stops_approach(memory.closing[:, tree]):
                        memory.rough[memory.island[tree]] = 1
                """,
            ),
        ),
    ),
    Mechanism(
        "closing-test",
        "Islands ending a fast approach are not extrapolated.",
        "Every island that keeps its contacts is extrapolated.",
        ("cenic",),
        (Body(f"{_METHODS}.rough_islands", "_stops_approach", "return False"),),
    ),
    Mechanism(
        "warm-starts",
        "Half steps and repeated attempts have warm starts.",
        "The paper's: the mean for the first half, the whole step's end for the second.",
        ("cenic",),
        (
            Body(f"{_METHODS}.guesses", "guess_whole", "world.guess_kind = 0"),
            Body(
                f"{_METHODS}.guesses",
                "guess_first_half",
                "guess_middle(world, source, full)",
            ),
            Body(
                f"{_METHODS}.guesses",
                "guess_second_half",
                "guess_end(world, full.qvel)",
            ),
        ),
    ),
    Mechanism(
        "swings",
        "Oscillators end steps on their exact sine.",
        "Extrapolation alone, which damps oscillators.",
        ("cenic",),
        (
            Body(
                f"{_METHODS}.swings",
                "find_swings",
                """
                memory = EXTRAPOLATION.at(world.memory)
                for tree in range(world.problem.graph.ntree):
                    memory.swings[tree] = 0
                for i in range(memory.tangent.size):
                    memory.tangent[i] = 0.0
                """,
            ),
        ),
    ),
    Mechanism(
        "vibrations",
        "Modes of soft bodies keep energy and phase.",
        "Extrapolation alone, which damps them.",
        ("cenic",),
        (Body(f"{_METHODS}.vibrations", "find_vibrations", "return"),),
    ),
    Mechanism(
        "waves",
        "Steps resolve waves in soft bodies.",
        "Errors of velocity count as those of rigid bodies in impacts.",
        ("cenic",),
        (Value(f"{_METHODS}.extrapolation", "_WAVE_SHARE", "_ROUGH_SHARE"),),
    ),
    Mechanism(
        "middle-forces",
        "The second half has third-order Coriolis forces.",
        "Coriolis forces at the second half step's beginning.",
        ("cenic",),
        (
            Body(
                f"{_METHODS}.middle_forces",
                "correct_velocities",
                """
                memory = EXTRAPOLATION.at(world.memory)
                for tree in range(memory.island.size):
                    memory.corrected[tree] = 0.0
                """,
            ),
        ),
    ),
    Mechanism(
        "half-step-gaps",
        "The second half takes the first one's aimed-at gaps.",
        "The gaps of the geoms, which chords of curved motion leave.",
        ("cenic",),
        (Body(f"{_METHODS}.half_step_gaps", "keep_expected_gaps", "return"),),
    ),
    Mechanism(
        "pressed-contacts",
        "The second half keeps contacts that the first pressed.",
        "Contacts of what overlaps in the middle of the step.",
        ("cenic",),
        (Body(f"{_METHODS}.half_step_gaps", "_loses_contact", "return False"),),
    ),
    Mechanism(
        "held-limits",
        "Limits that hold do not prevent extrapolation.",
        "An island with a limit that pushes is not extrapolated.",
        ("cenic",),
        (
            Body(
                f"{_METHODS}.rough_islands",
                "_stopped_share",
                "return 1.0 if rows.kind[r] == LIMIT and rows.impulse[r] != 0.0 else 0.0",
            ),
        ),
    ),
    Mechanism(
        "limit-gap",
        "Joints count as held just before their limits.",
        "A gap of any size is closed at once.",
        ("cenic",),
        (Value("integrators.steppings.stepping", "_LIMIT_GAP", "0.0"),),
    ),
    Mechanism(
        "spring-share",
        "Springs that a step resolves are explicit.",
        "All springs are implicit.",
        ("cenic",),
        (Body(f"{_METHODS}.springs", "fill_spring_shares", "implicit[:] = 1.0"),),
    ),
    Mechanism(
        "step-energy",
        "Extrapolated steps end with the right energy.",
        "Energy drifts by the error of extrapolation.",
        ("cenic",),
        (Body(f"{_METHODS}.energy_balance", "_find_islands", "return False"),),
    ),
    Mechanism(
        "jumps",
        "Energy that jumps of velocities lose stays lost.",
        "They get it back as if it were an error.",
        ("cenic",),
        (Value(f"{_METHODS}.energy_balance", "_JUMPED", "1e300"),),
    ),
    Mechanism(
        "damper-work",
        "Unresolved dampers do no known work.",
        "Their islands get the energy that Simpson's rule gives.",
        ("cenic",),
        (
            Value(f"{_METHODS}.energy_balance", "_UNRESOLVED", "1e300"),
            Value(f"{_METHODS}.energy_balance", "_STRONG", "1e300"),
        ),
    ),
    Mechanism(
        "spring-play",
        "Steps feel where a spring's play ends.",
        "The slope at the beginning.",
        ("cenic",),
        (Body("plant.passive_rows", "_push_one_way", "return"),),
    ),
    Mechanism(
        "first-step",
        "Tight accuracies begin with short steps.",
        "A tenth of the largest step.",
        ("cenic",),
        (Value("integrators.steppings.stepping", "_FIRST_ACCELERATION", "1e-300"),),
    ),
    Mechanism(
        "energy-balance",
        "Robots that turn far get the right energy.",
        "Velocities remain as solved.",
        ("cenic", "icf"),
        (
            Body(f"{_METHODS}.step_balance", "balance_doubled_step", "return"),
            Body(f"{_METHODS}.step_balance", "balance_step", "return"),
        ),
    ),
    Mechanism(
        "impact-resolution",
        "Steps too long for rebounds are refused.",
        "Error control alone.",
        ("cenic",),
        (Value(_CENIC, "Cenic.resolve_impacts", "False"),),
    ),
    Mechanism(
        "missed-contacts",
        "Steps that passed through contacts are refused.",
        "Error control alone.",
        ("cenic",),
        (
            Body(
                "integrators.steppings.missed_contacts",
                "step_without_missed_contacts",
                "return step",
            ),
        ),
    ),
    Mechanism(
        "slip-test",
        "Solves go on until slip is within tolerance.",
        "The paper's criteria alone, which do not see slip within the stiction tolerance.",
        ("cenic",),
        (Body("convex.convex_newton", "_slip_is_known", "return True"),),
    ),
    Mechanism(
        "delivered-friction",
        "The delivered normal impulse limits friction.",
        "The paper's law: the normal impulse that the state before the step predicts.",
        ("cenic", "icf"),
        (
            Value(_CENIC, "Cenic.friction_bound", '"lagged"'),
            Value(_ICF, "Icf.friction_bound", '"lagged"'),
        ),
    ),
    Mechanism(
        "friction-within-steps",
        "Iterations foresee friction's bounds.",
        "Bounds follow from one step of Newton's method to the next, as elsewhere.",
        ("cenic", "icf"),
        (Body("convex.contact_iteration", "_may_follow", "return False"),),
    ),
    Mechanism(
        "trapezoid-fallback",
        "Doubled steps replace trapezoids that would ring.",
        "The paper's trapezoid everywhere.",
        ("trapezoid",),
        (Body(f"{_METHODS}.trapezoid", "_note_rough", "return"),),
    ),
    Mechanism(
        "centred-gyroscopic",
        "Gyroscopic forces are those of the mean velocity.",
        "Forces at the step's beginning.",
        ("cenic", "icf"),
        (Body(f"{_METHODS}.gyroscopic", "find_turning", "return False"),),
    ),
    Mechanism(
        "following-spins",
        "Free bodies' gyroscopic forces follow Newton's iterates.",
        "The step's problem is solved again until they are those of its solution.",
        ("cenic", "icf"),
        (Value(f"{_METHODS}.gyroscopic", "_FOLLOWED_ANGLE", "-1.0"),),
    ),
    Mechanism(
        "kept-factors",
        "Soft bodies' solves begin with old factors.",
        "Every solve has factors of its own from its first iteration on.",
        ("cenic", "icf"),
        (Value("convex.convex_newton", "_NEAR", "-1.0"),),
    ),
    Mechanism(
        "steady-tensions",
        "Tensions damp what a step does not resolve.",
        "Tensions damp every vibration across edges and cloth.",
        ("cenic", "icf"),
        (Body("soft.vibrations", "find_steady_velocity", "state.soft.steady[:] = 0.0"),),
    ),
    Mechanism(
        "box-corners",
        "Corners and edges of geoms touch flexes.",
        "Vertices of deformable bodies alone.",
        ("cenic", "icf"),
        (
            Body("plant.detection.flex_corners", "add_corners", "return True"),
            Body("plant.detection.flex_corners", "add_crossings", "return True"),
        ),
    ),
    Mechanism(
        "flex-faces",
        "Vertices of volumes touch faces of other flexes.",
        "MuJoCo's points on elements.",
        ("cenic", "icf"),
        (Body("plant.detection.flex_faces", "is_replaced", "return False"),),
    ),
    Mechanism(
        "rough-faces",
        "Islands on volumes' faces are not extrapolated.",
        "Contacts that come and go decide, as elsewhere.",
        ("cenic",),
        (Body(f"{_METHODS}.rough_islands", "_note_faces", "return"),),
    ),
    Mechanism(
        "possible-normals",
        "Round sides have right normals.",
        "MuJoCo's contacts as they are.",
        ("icf",),
        (Body("plant.detection.contact_normals", "mends_normals", "return False"),),
    ),
    Mechanism(
        "field-corners",
        "Corners on height fields have contacts.",
        "MuJoCo's one contact with each prism, by itself.",
        ("icf",),
        (Body("plant.detection.field_completion", "complete_field_contacts", "return"),),
    ),
    Mechanism(
        "seams",
        "Seams are smooth.",
        "MuJoCo's contacts with edges and sides that a neighbour covers.",
        ("cenic", "icf"),
        (Body("plant.detection.hulls", "has_shells", "return False"),),
    ),
    Mechanism(
        "look-ahead",
        "Fixed steps meet what they would pass through.",
        "Contacts of what overlaps at the beginning of a step.",
        ("icf",),
        (Body("plant.detection.gliding_kernels", "_look_ahead", "return False"),),
    ),
    Mechanism(
        "rebounds-of-steps",
        "Bodies rebound from impacts shorter than fixed steps.",
        "Implicit Euler, which damps them.",
        ("icf",),
        (Value(_ICF, "Icf.resolve_impacts", "False"),),
    ),
    Mechanism(
        "turning-contacts",
        "Round contacts turn within fixed steps.",
        "Contact points of the step's beginning.",
        ("icf",),
        (Body(f"{_METHODS}.convex_step", "turning_step", "return 0.0"),),
    ),
    Mechanism(
        "explicit-springs",
        "Springs that fixed steps resolve are explicit.",
        "All springs are implicit.",
        ("icf",),
        (Body(f"{_METHODS}.springs", "has_fast_springs", "return True"),),
    ),
    Mechanism(
        "bdf2",
        "Steps are of second order (BDF2) where motion is smooth.",
        "Implicit Euler.",
        ("midas",),
        (Value("midas.preset", "Midas.time_scheme", '"implicit-euler"'),),
    ),
    Mechanism(
        "rebounds",
        "After impacts bodies part as fast as dissipation allows.",
        "Impacts without a rebound.",
        ("midas",),
        (Body("midas.time.rebounds", "find_rebounds", "return 0"),),
    ),
    Mechanism(
        "anticipation",
        "Directions anticipate contacts of free bodies.",
        "Newton's directions without anticipation.",
        ("midas",),
        (
            Body(
                "midas.newton.anticipation",
                "anticipate",
                """
                engine.newton.anchored = 0
                return False
                """,
            ),
        ),
    ),
    Mechanism(
        "expected-forces",
        "Barriers' curvature leads to the forces that directions count with.",
        "Their curvature at the iterate.",
        ("midas",),
        (
            Body(
                "midas.energy.potentials",
                "barrier_secant",
                "return barrier_slopes(square, activation)",
            ),
        ),
    ),
    Mechanism(
        "search-memory",
        "The energy may grow once in a line search.",
        "The energy falls in every iteration.",
        ("midas",),
        (Body("midas.newton.energy_newton", "_bound", "return energy"),),
    ),
    Mechanism(
        "arcs",
        "Trial states turn links along arcs.",
        "Trial paths are straight and stretch links that turn.",
        ("midas",),
        (Body("midas.newton.arcs", "follow_arcs", "return"),),
    ),
    Mechanism(
        "prediction",
        "Rigid links first keep the last step's acceleration.",
        "The state before the step.",
        ("midas",),
        (
            Body("midas.time.prediction", "predict", "return False"),
            Body("midas.time.prediction", "predict_turns", "return False"),
        ),
    ),
    Mechanism(
        "friction-solves",
        "Steps are solved until friction has their normal forces.",
        "Normal forces of the step's beginning.",
        ("midas",),
        (Value("midas.preset", "Midas.friction_solves", "1"),),
    ),
)
