"""Models, random states of theirs in contact, and central differences of whole steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

import asperity as asp
from asperity.derivatives import Transition
from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.tangent import StepState
from asperity.integrators.methods.icf import IcfMethod
from asperity.integrators.methods.tamsi.tamsi_method import TamsiMethod
from asperity.integrators.methods.theta import ThetaMethod

FLOOR = '<geom name="floor" type="plane" size="5 5 .1" friction=".6"/>'

_LEG = """
<body pos="{x} {y} 0">
  <joint name="{n}1" axis="1 0 0" range="-45 45" damping=".2" armature=".005"/>
  <joint name="{n}2" axis="0 1 0" range="-120 120" damping=".2" armature=".005"/>
  <geom type="capsule" size=".02" fromto="0 0 0 -.08 0 -.12" mass=".4" contype="0" conaffinity="0"/>
  <body pos="-.08 0 -.12">
    <joint name="{n}3" axis="0 1 0" range="-150 150" damping=".2" armature=".005"/>
    <geom type="capsule" size=".015" fromto="0 0 0 .08 0 -.12" mass=".2" contype="0" conaffinity="0"/>
    <geom type="sphere" size=".02" pos=".08 0 -.12" mass=".05"/>
  </body>
</body>"""
_LEGS = {"a": (0.2, 0.12), "b": (0.2, -0.12), "c": (-0.2, 0.12), "d": (-0.2, -0.12)}
QUADRUPED = (
    "<mujoco><compiler autolimits='true'/><worldbody>"
    + FLOOR
    + "<body name='trunk' pos='0 0 .258'><freejoint/>"
    + "<geom type='box' size='.22 .1 .04' mass='6' contype='0' conaffinity='0'/>"
    + "".join(_LEG.format(n=n, x=x, y=y) for n, (x, y) in _LEGS.items())
    + "</body></worldbody><actuator>"
    + "".join(
        f"<position name='{n}{i}' joint='{n}{i}' kp='60' kv='1'/>" for n in _LEGS for i in (1, 2, 3)
    )
    + "</actuator></mujoco>"
)

MODELS = {
    "sliding box": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .0995"><freejoint/><geom type="box" size=".15 .1 .1" mass="2"/></body>
      </worldbody></mujoco>""",
    "ball": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .0999"><freejoint/><geom type="sphere" size=".1" mass="1"/></body>
      </worldbody></mujoco>""",
    "capsule on a ramp": """<mujoco><worldbody>
      <geom type="plane" size="5 5 .1" euler="0 20 0" friction=".4"/>
      <body pos="0 0 .1"><freejoint/>
        <geom type="capsule" size=".08" fromto="-.1 .05 0 .15 -.02 .03" mass="1"/></body>
      </worldbody></mujoco>""",
    "chain of springs": """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint type="slide" stiffness="10"/><geom size=".05" mass="1" contype="0"/>
      <body><joint type="slide" stiffness="100"/><geom size=".05" mass="1" contype="0"/>
      <body><joint type="slide" stiffness="1000"/><geom size=".05" mass="1" contype="0"/>
      </body></body></body></worldbody></mujoco>""",
    "opposed springs": """<mujoco><option gravity="0 0 0"/><worldbody>
      <body><joint type="slide" stiffness="200"/><geom size=".05" mass="1" contype="0"/>
      <body><joint type="slide" stiffness="400" damping="60"/>
        <geom size=".05" mass="1" contype="0"/>
      <body><joint type="slide" stiffness="100" damping="3"/>
        <geom size=".05" mass="1" contype="0"/>
      </body></body></body></worldbody></mujoco>""",
    "double pendulum on the floor": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .45"><joint axis="0 1 0" damping=".05"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .25 0 -.2" mass="1"/>
        <body pos=".25 0 -.2"><joint name="j" axis="0 1 .1" stiffness="2"/>
          <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.23" mass=".7"/></body></body>
      </worldbody><actuator><motor joint="j"/></actuator></mujoco>""",
    "four-bar linkage": f"""<mujoco><worldbody>{FLOOR}
      <body name="a" pos="0 0 .3"><joint name="a" axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 .2" mass=".5"/>
        <body name="b" pos="0 0 .2"><joint axis="0 1 0"/>
          <geom type="capsule" size=".02" fromto="0 0 0 .4 0 0" mass=".5"/></body></body>
      <body name="c" pos=".4 0 .3"><joint axis="0 1 0"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 .2" mass=".5"/></body>
      </worldbody><contact><exclude body1="b" body2="c"/></contact>
      <equality><connect body1="b" body2="c" anchor=".4 0 0"/></equality>
      <actuator><velocity joint="a" kv="2"/></actuator></mujoco>""",
    "arm at its limits": f"""<mujoco><compiler autolimits="true"/><worldbody>{FLOOR}
      <body pos="0 0 .5"><joint name="s" axis="0 1 0" range="-20 30" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/>
        <body pos=".3 0 0"><joint name="e" axis="0 1 0" range="0 60" frictionloss=".3"/>
          <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0" mass=".5"/></body></body>
      </worldbody><actuator><motor joint="s" gear="3"/><motor joint="e"/></actuator></mujoco>""",
    "two boxes": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .0999"><freejoint/><geom type="box" size=".2 .2 .1" mass="3"/></body>
      <body pos=".03 .02 .2797" euler="0 0 20"><freejoint/>
        <geom type="box" size=".1 .12 .08" mass="1"/></body>
      </worldbody></mujoco>""",
    "servo with activation": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .35"><joint name="s" axis="0 1 0" damping=".5"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 -.1" mass="1"/>
        <body pos=".3 0 -.1"><joint name="e" axis="0 1 0"/>
          <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.2" mass=".5"/></body></body>
      </worldbody><actuator>
        <position joint="s" kp="30" kv="2" timeconst=".02"/>
        <general joint="e" dyntype="filter" dynprm=".05" gainprm="2"/></actuator></mujoco>""",
    "motors with inner states": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .35"><joint name="s" axis="0 1 0" damping=".5"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .3 0 -.1" mass="1"/>
        <body pos=".3 0 -.1"><joint name="e" axis="0 1 0"/>
          <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.2" mass=".5"/></body></body>
      </worldbody><actuator>
        <pid joint="s" kp="30" kv="2" ki="5"/>
        <dcmotor joint="e" motorconst="1" resistance="2" inductance=".02"
          thermal="1 1 20 .01 25 25" lugre="100 1 .1 .2 .01"/></actuator></mujoco>""",
    "ball joint and free body": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .4"><joint type="ball" damping=".01"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .05 .02 -.3" mass="1"/>
        <geom type="sphere" size=".08" pos=".05 .02 -.325" mass=".5"/></body>
      <body pos=".25 0 .0999"><freejoint/>
        <geom type="ellipsoid" size=".12 .1 .1" mass="2"/></body>
      </worldbody></mujoco>""",
    "conveyor belt": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .3"><joint type="slide" axis="0 0 1" damping="30" stiffness="4000"/>
        <joint axis="0 1 .2" stiffness="50" damping="1"/>
        <geom type="box" size=".5 .3 .05" mass="3" surfacevel=".4 .1 0 0 0 .3"/></body>
      <body pos=".05 .02 .4495"><freejoint/><geom type="box" size=".15 .1 .1" mass="2"/></body>
      <body pos="-.3 .02 .4495"><freejoint/><geom size=".1" mass="1"/></body>
      </worldbody></mujoco>""",
    "sticky ball with a plugin": """<mujoco><extension><plugin plugin="mujoco.pid"/></extension>
      <worldbody><geom type="plane" size="5 5 .1" friction=".6" gap=".05"/>
      <body pos="0 0 .0999"><freejoint/><geom size=".1" mass="1" adhesion="3"/>
        <body pos="0 0 .2"><joint name="j" axis="0 1 0"/>
          <geom size=".03" pos=".1 0 0" contype="0" conaffinity="0"/></body></body></worldbody>
      <actuator><plugin joint="j" plugin="mujoco.pid"><config key="kp" value="5"/>
        <config key="kd" value=".1"/></plugin></actuator></mujoco>""",
    "fingers with torsion": """<mujoco><default><geom friction=".8 .02 .005"/></default><worldbody>
      <body pos="-.07 0 .5" euler="0 10 5"><joint name="l" type="slide" axis="1 0 0" damping="5"/>
        <joint axis="0 1 0" damping=".1"/><geom size=".03" mass=".1" condim="4"/></body>
      <body pos=".07 0 .5"><joint name="r" type="slide" axis="-1 0 0" damping="5"/>
        <joint axis="0 1 .3" damping=".1"/><geom size=".03" mass=".1" condim="6"/></body>
      <body pos="0 .02 .49"><joint type="slide" axis="0 0 1"/><joint type="slide" axis=".1 1 0"/>
        <joint type="ball"/><geom type="capsule" size=".04 .05" mass=".3" euler="90 0 0"/></body>
      </worldbody><actuator><position joint="l" kp="300" ctrlrange="-1 1"/>
        <motor joint="r" gear="9"/></actuator></mujoco>""",
    "balls that roll": f"""<mujoco><worldbody>{FLOOR}
      <body pos="0 0 .0999"><freejoint/><geom size=".1" mass="1" condim="6"
        friction=".5 .02 .003"/></body>
      <body pos=".01 .01 .2997"><freejoint/><geom size=".1" mass=".5" condim="4"
        friction=".5 .02 .003"/></body>
      <body pos=".5 0 .3"><joint axis="0 1 0"/><geom size=".02" pos=".1 0 0"/>
        <body pos=".2 0 0"><joint axis="1 0 .3"/><geom size=".05" pos="0 0 -.2503" condim="6"
          friction=".9 .02 .01"/></body></body>
      </worldbody></mujoco>""",
    "quadruped": QUADRUPED,
}

# Rebounds have no derivative.
INTEGRATORS = {
    "icf": asp.Icf(time_step=1e-3, resolve_impacts=False),
    "lagged": asp.Icf(time_step=1e-3, friction_bound="lagged", resolve_impacts=False),
    "similar": asp.Icf(time_step=1e-3, friction_bound="similar", resolve_impacts=False),
    "sap": asp.Sap(time_step=2e-3, resolve_impacts=False),
    "midpoint": asp.Sap(time_step=2e-3, theta_scheme="midpoint"),
    "implicit": asp.Sap(time_step=2e-3, theta_scheme="implicit-euler"),
    "explicit": asp.Sap(time_step=1e-3, theta_scheme="explicit-euler"),
    "tamsi": asp.Tamsi(time_step=1e-3, resolve_impacts=False),
    "parabolic": asp.Tamsi(time_step=1e-3, friction_law="parabolic", resolve_impacts=False),
    "one-way": asp.Tamsi(time_step=1e-4, coupling="one-way", resolve_impacts=False),
}


def load(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(MODELS[name])


def states(model: mujoco.MjModel, count: int, seed: int) -> Iterator[mujoco.MjData]:
    """Random motion: thrown about, and simulated for a random time."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        data = mujoco.MjData(model)
        speed = random.choice([0.02, 0.3, 1.0])
        data.qvel[:] = speed * random.normal(size=model.nv)
        data.ctrl[:] = random.normal(size=model.nu) * 0.3
        asp.step(model, data, 1 + int(random.integers(5, 100)), integrator=asp.Icf())
        yield data


class Differences:
    """Central differences of one step, solved to round-off."""

    def __init__(
        self,
        model: mujoco.MjModel,
        integrator: Any,
        contact: asp.ContactParameters | None = None,
    ) -> None:
        self.model = model
        self.simulator = asp.Simulator(model, integrator=integrator, contact=contact)
        method = self.simulator.session.method.base
        assert isinstance(method, IcfMethod | ThetaMethod | TamsiMethod)
        self.convex = ConvexStep(self.simulator.session.world, method)
        self.step = integrator.time_step

    def end(self, data: mujoco.MjData, change: np.ndarray) -> Any:
        """Positions, velocities and activations after a step from a displaced state."""
        model = self.model
        nv, na = model.nv, model.na
        qpos = data.qpos.copy()
        mujoco.mj_integratePos(model, qpos, change[:nv].copy(), 1.0)
        for state in self.simulator.session.world.evaluated_states:
            state.data.ctrl[:] = data.ctrl + change[2 * nv + na :]
        end = self.convex.end(
            StepState(
                data.time,
                qpos,
                data.qvel + change[nv : 2 * nv],
                data.act + change[2 * nv : 2 * nv + na],
            ),
            self.step,
        )
        return end.qpos, end.qvel, end.act

    def simulated(self, data: mujoco.MjData) -> Any:
        """The same as the simulator itself finds it."""
        own = self.simulator.data
        for name in ("qpos", "qvel", "act", "ctrl"):
            getattr(own, name)[:] = getattr(data, name)
        self.simulator.take_over()
        report = self.simulator.step()
        assert report.success, report.message
        return own.qpos.copy(), own.qvel.copy(), own.act.copy()

    def sides(self, data: mujoco.MjData, size: float) -> tuple[np.ndarray, np.ndarray]:
        """Forward and backward differences, (2nv + na, 2nv + na + nu)."""
        model = self.model
        count = 2 * model.nv + model.na + model.nu
        base = self.end(data, np.zeros(count))
        result = []
        for sign in (1.0, -1.0):
            columns = []
            for index in range(count):
                change = np.zeros(count)
                change[index] = sign * size
                columns.append(sign / size * self.difference(base, self.end(data, change)))
            result.append(np.array(columns).T)
        return result[0], result[1]

    def difference(self, first: Any, second: Any) -> np.ndarray:
        positions = np.zeros(self.model.nv)
        mujoco.mj_differentiatePos(self.model, positions, 1.0, first[0], second[0])
        return np.concatenate([positions, second[1] - first[1], second[2] - first[2]])


def error(one: np.ndarray, other: np.ndarray) -> float:
    """Largest difference in a row, relative to the row's largest entry, or to 0.01."""
    rows = np.abs(other).max(axis=1, keepdims=True)
    return float(np.max(np.abs(one - other) / np.maximum(rows, 1e-2)))


def central_differences(
    transition: Transition, state: np.ndarray, control: np.ndarray, size: float
) -> np.ndarray:
    """What a step's end changes by with its beginning, by steps from displaced states."""
    ends = [
        transition.difference(
            transition(transition.displace(state, -size * one), control),
            transition(transition.displace(state, size * one), control),
        )
        for one in np.eye(transition.tangent_size)
    ]
    return np.array(ends).T / (2.0 * size)
