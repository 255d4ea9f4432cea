"""Mechanisms: closed loops, couplings, chains, stops."""

from __future__ import annotations

import math

import numpy as np

from studies.benchmarks.verification.case import GRAVITY, Array, Case, Simulate, World, energies

__all__ = [
    "CASES",
    "atwood",
    "chain",
    "four_bar",
    "four_bar_start",
    "leaning_arm",
    "slider_crank",
    "stop",
    "taut_rope",
]

ROD = (
    "<geom type='capsule' size='.01' fromto='0 0 0 {0:.17g} 0 0' mass='{1}' contype='0' "
    "conaffinity='0'/>"
)
DOWN = "axis='0 1 0'"

GROUND, CRANK, COUPLER, ROCKER = 0.4, 0.2, 0.5, 0.4


def _loop() -> tuple[float, float]:
    """Angles about y of the coupler and of the rocker while the crank lies along x."""
    tip = np.array([CRANK, 0.0])
    base = np.array([GROUND, 0.0])
    apart = base - tip
    distance = float(np.hypot(*apart))
    along = (COUPLER**2 - ROCKER**2 + distance**2) / (2 * distance)
    height = math.sqrt(COUPLER**2 - along**2)
    pin = tip + along * apart / distance + height * np.array([0.0, 1.0])
    coupler = math.atan2(*(pin - tip)[::-1])
    rocker = math.atan2(*(pin - base)[::-1])
    return -coupler, -rocker  # about +y, x turns towards −z


def four_bar() -> World:
    """A four-bar linkage in a vertical plane, closed by ``connect``, that turns freely."""
    coupler, rocker = _loop()
    return World(
        f"<body><joint {DOWN}/>{ROD.format(CRANK, 1.0)}"
        f"<body name='coupler' pos='{CRANK} 0 0' euler='0 {coupler:.17g} 0'><joint {DOWN}/>"
        f"{ROD.format(COUPLER, 1.0)}</body></body>"
        f"<body name='rocker' pos='{GROUND} 0 0' euler='0 {rocker:.17g} 0'><joint {DOWN}/>"
        f"{ROD.format(ROCKER, 1.0)}</body>",
        sections=f"<equality><connect body1='coupler' body2='rocker' anchor='{COUPLER} 0 0'/>"
        "</equality>",
    )


def four_bar_start() -> Array:
    """Joint speeds that the loop allows, 6 rad/s of the crank."""
    import mujoco

    model = four_bar().model()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    jacobian = np.zeros((6, model.nv))
    pin = data.body("coupler").xpos + data.body("coupler").xmat.reshape(3, 3)[:, 0] * COUPLER
    mujoco.mj_jac(model, data, jacobian[:3], None, pin, model.body("coupler").id)
    mujoco.mj_jac(model, data, jacobian[3:], None, pin, model.body("rocker").id)
    loop = (jacobian[:3] - jacobian[3:])[[0, 2]]
    crank = 6.0
    return np.array([crank, *np.linalg.solve(loop[:, 1:], -loop[:, 0] * crank)])


def _four_bar_energy(simulate: Simulate) -> float:
    run = simulate(four_bar(), 20.0, qvel=four_bar_start())
    before, after = energies(run)
    return float(after - before)


# -- a slider-crank --------------------------------------------------------------------------------

ARM, CONNECTING = 0.2, 0.5


def slider_crank() -> World:
    """A crank, a connecting rod and a slider without gravity, closed by ``connect``."""
    return World(
        f"<body><joint {DOWN}/>{ROD.format(ARM, 1.0)}"
        f"<body name='rod' pos='{ARM} 0 0'><joint {DOWN}/>{ROD.format(CONNECTING, 0.5)}</body>"
        f"</body><body name='slider' pos='{ARM + CONNECTING} 0 0'>"
        "<joint type='slide' axis='1 0 0'/>"
        "<geom size='.02' mass='1' contype='0' conaffinity='0'/></body>",
        gravity=(0.0, 0.0, 0.0),
        sections=f"<equality><connect body1='rod' body2='slider' anchor='{CONNECTING} 0 0'/>"
        "</equality>",
    )


CRANK_SPEED, CRANK_TIME = 10.0, 2.0


def _slider_crank(simulate: Simulate) -> float:
    rod = -CRANK_SPEED * (1 + ARM / CONNECTING)
    run = simulate(slider_crank(), CRANK_TIME, qvel=[CRANK_SPEED, rod, 0])
    return float(run.qpos[-1, 0])


def _rod_inertia(length: float, mass: float, radius: float = 0.01) -> float:
    """About a transverse axis through the centre of a capsule [kg m²]."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><body><joint {DOWN}/>{ROD.format(length, mass)}</body></worldbody>"
        "</mujoco>"
    )
    return float(max(model.body_inertia[1]))


def crank_angle() -> float:
    """The crank's angle [rad], from the one equation that energy's conservation gives."""
    from scipy.integrate import solve_ivp

    arm_inertia = _rod_inertia(ARM, 1.0) + 1.0 * (ARM / 2) ** 2
    rod_inertia = _rod_inertia(CONNECTING, 0.5)

    def generalized(angle: float) -> float:
        """Twice the kinetic energy over the crank's speed squared."""
        sine = ARM / CONNECTING * math.sin(angle)
        cosine = math.sqrt(1 - sine**2)
        rod = ARM / CONNECTING * math.cos(angle) / cosine  # the rod's speed of turning
        slider = ARM * math.sin(angle) + CONNECTING * sine * rod
        across = 0.5 * ARM * math.cos(angle)  # the rod's middle, and along:
        along = ARM * math.sin(angle) + 0.5 * CONNECTING * sine * rod
        return arm_inertia + 0.5 * (across**2 + along**2) + rod_inertia * rod**2 + 1.0 * slider**2

    energy = generalized(0.0) * CRANK_SPEED**2
    run = solve_ivp(
        lambda _, y: [math.sqrt(energy / generalized(y[0]))],
        (0, CRANK_TIME),
        [0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    return float(run.y[0, -1])


# -- two weights over a pulley ---------------------------------------------------------------------


def atwood() -> World:
    """Two weights that a tendon couples: what one sinks the other rises."""
    weight = (
        "<body pos='{0} 0 0'><joint name='{1}' type='slide' axis='0 0 1'/>"
        "<geom size='.05' mass='{2}' contype='0' conaffinity='0'/></body>"
    )
    return World(
        weight.format(-1, "left", 1.0) + weight.format(1, "right", 1.5),
        sections="<tendon><fixed name='rope'><joint joint='left' coef='1'/>"
        "<joint joint='right' coef='1'/></fixed></tendon>"
        "<equality><tendon tendon1='rope'/></equality>",
    )


def _atwood(simulate: Simulate) -> float:
    return float(simulate(atwood(), 1.0).qvel[-1, 0])


# -- a hanging chain -------------------------------------------------------------------------------

LINKS, LINK, SPAN = 20, 0.05, 0.7


def _chain_start() -> Array:
    """A zigzag that spans the distance, as joint angles."""
    slope = math.acos(SPAN / (LINKS * LINK))
    half = LINKS // 2
    # Down, then up: a V.
    return np.array([slope, *(0.0,) * (half - 1), -2 * slope, *(0.0,) * (half - 1)])


def chain() -> World:
    """Twenty rods of 5 cm, damped in their joints, whose far end is held by ``connect``."""
    text, end = f"<site name='hook' pos='{SPAN} 0 0'/>", ""
    for i in range(LINKS):
        site = f"<site name='end' pos='{LINK} 0 0'/>" if i == LINKS - 1 else ""
        text += (
            f"<body pos='{0.0 if i == 0 else LINK} 0 0'><joint {DOWN} damping='.002'/>"
            f"<geom type='capsule' size='.002' fromto='0 0 0 {LINK} 0 0' mass='.05' contype='0' "
            f"conaffinity='0'/>{site}"
        )
        end += "</body>"
    return World(text + end, sections="<equality><connect site1='end' site2='hook'/></equality>")


def _sag(simulate: Simulate) -> float:
    run = simulate(chain(), 8.0, qpos=_chain_start())
    angles = np.cumsum(run.qpos[-1])
    depth = np.cumsum(LINK * np.sin(angles))
    return float(np.max(depth))


def sag() -> float:
    """Depth of the lowest joint [m] of equal rods that hang from two points.

    The horizontal force H is the same everywhere, and rod i's tangent is that of the force at its
    middle: tan φ_i = w (N/2 − i − 1/2)/H in units of a rod's weight. The span fixes H.
    """
    from scipy.optimize import brentq

    position = LINKS / 2 - np.arange(LINKS) - 0.5

    def span(force: float) -> float:
        return float(np.sum(LINK * np.cos(np.arctan(position / force)))) - SPAN

    force = brentq(span, 1e-3, 1e3)
    depth = np.cumsum(LINK * np.sin(np.arctan(position / force)))
    return float(np.max(depth))


# -- a stop ----------------------------------------------------------------------------------------


def stop() -> World:
    """A pendulum of half a metre whose joint ends at 30°."""
    return World(
        "<body><joint axis='0 1 0' limited='true' range='-.52359877559829887 .52359877559829887'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -.5' size='.02' mass='1' contype='0' "
        "conaffinity='0'/></body>"
    )


def _overshoot(simulate: Simulate) -> float:
    run = simulate(stop(), 1.0, qvel=[8.0])
    return float(np.degrees(np.max(run.qpos[:, 0])))


# -- limits that push all the time -----------------------------------------------------------------

UPPER, LOWER, PRESS = 0.4, 0.3, 30.0
SWINGING = 5.0


def leaning_arm() -> World:
    """A double pendulum whose elbow a spring of 30 Nm holds on its limit, where it is straight."""
    return World(
        f"<body><joint {DOWN}/>{ROD.format(UPPER, 1.0)}<body pos='{UPPER} 0 0'>"
        f"<joint {DOWN} limited='true' range='0 2' stiffness='10' springref='{-PRESS / 10:.17g}'/>"
        f"{ROD.format(LOWER, 0.7)}</body></body>"
    )


def _swing(angle: float, length: float, time: float) -> float:
    """Angle from the vertical [rad] of a pendulum of that effective length, let go at rest."""
    from scipy.integrate import solve_ivp

    run = solve_ivp(
        lambda _, y: [y[1], -GRAVITY / length * math.sin(y[0])],
        (0, time),
        [angle, 0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
    )
    return float(run.y[0, -1])


def leaning_arm_angle() -> float:
    """The upper arm's angle [rad] if both arms are one body."""
    inertia = _rod_inertia(UPPER, 1.0) + _rod_inertia(LOWER, 0.7)
    moment = 1.0 * UPPER / 2 + 0.7 * (UPPER + LOWER / 2)
    inertia += 1.0 * (UPPER / 2) ** 2 + 0.7 * (UPPER + LOWER / 2) ** 2
    return math.pi / 2 - _swing(math.pi / 2, inertia / moment, SWINGING)


def _leaning_arm(simulate: Simulate) -> float:
    return float(simulate(leaning_arm(), SWINGING).qpos[-1, 0])


ROPE_START = 0.6
"""Where the weight starts beside the hook [m]; the rope is 1 m long and taut."""


def taut_rope() -> World:
    """A weight in a vertical plane on a rope of 1 m, which is the limit of a tendon."""
    below = math.sqrt(1.0 - ROPE_START**2)
    return World(
        f"<site name='hook'/><body pos='{ROPE_START} 0 {-below:.17g}'>"
        "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
        "<geom size='.03' mass='1' contype='0' conaffinity='0'/><site name='weight'/></body>",
        sections="<tendon><spatial limited='true' range='0 1'><site site='hook'/>"
        "<site site='weight'/></spatial></tendon>",
    )


def _taut_rope(simulate: Simulate) -> float:
    return ROPE_START + float(simulate(taut_rope(), SWINGING).qpos[-1, 0])


CASES = (
    Case(
        "four-bar-energy",
        "A four-bar linkage turns freely in a vertical plane for 20 s, its loop closed by "
        "`connect`.",
        "change of energy [J]",
        0.0,
        "energy is conserved.",
        0.1,
        _four_bar_energy,
        form=".2g",
    ),
    Case(
        "slider-crank",
        "A slider-crank without gravity starts at 10 rad/s, its loop closed by `connect`.",
        "angle of the crank after 2 s [rad]",
        crank_angle(),
        "its one equation of motion, scipy's DOP853, tolerance 10⁻¹².",
        0.05,
        _slider_crank,
        form=".4g",
    ),
    Case(
        "atwood",
        "Weights of 1 and 1.5 kg hang on a rope over a pulley (a tendon equality).",
        "speed after 1 s [m/s]",
        GRAVITY * 0.5 / 2.5,
        "g (m₂ − m₁)/(m₁ + m₂) t.",
        0.02,
        _atwood,
    ),
    Case(
        "hanging-chain",
        "Twenty rods of 5 cm hang from two points that are 0.7 m apart, damped, after 8 s.",
        "sag [m]",
        sag(),
        "balance of forces on equal rods (a discrete catenary).",
        0.002,
        _sag,
        form=".4g",
    ),
    Case(
        "stop",
        "A pendulum swings at 8 rad/s into the limit of its joint at 30°.",
        "largest angle [°]",
        30.0,
        "30°, because a limit is not passed.",
        0.6,
        _overshoot,
        form=".4g",
    ),
    Case(
        "leaning-arm",
        "A double pendulum falls from the horizontal, its elbow pressed on its limit by a spring.",
        "angle of the upper arm after 5 s [rad]",
        leaning_arm_angle(),
        "both arms are one pendulum, scipy's DOP853, tolerance 10⁻¹².",
        0.01,
        _leaning_arm,
        form=".4g",
    ),
    Case(
        "taut-rope",
        "A weight swings on a taut rope of 1 m, the limit of a tendon, from 37° at rest.",
        "place beside the hook after 5 s [m]",
        math.sin(_swing(math.asin(ROPE_START), 1.0, SWINGING)),
        "a pendulum, scipy's DOP853, tolerance 10⁻¹².",
        0.01,
        _taut_rope,
        form=".4g",
    ),
)
