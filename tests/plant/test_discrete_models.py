"""Models that ask MuJoCo for its integrator ``discrete``."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import mujoco, asperity as asp
for integrator in ("Euler", "discrete"):
    model = mujoco.MjModel.from_xml_string(
        f'''<mujoco><option integrator="{integrator}"/><worldbody>
        <body name="a" pos="0 0 1"><freejoint/><geom size=".1" pos=".3 0 0"/>
        <body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
        </body></worldbody><equality><connect body1="a" anchor="0 0 0"/>
        <joint joint1="b" polycoef=".2 0 0 0 0" solref=".1 1"/></equality></mujoco>'''
    )
    simulator = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    assert simulator.advance_to(0.5).success
    print(simulator.data.qpos.tolist())
"""


def test_equalities_do_not_depend_on_what_memory_holds() -> None:
    """MuJoCo 4.0 fills no ``efc_diagA`` then, which regularises rows; new memory is not zero."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MALLOC_PERTURB_": "170"},
        capture_output=True,
        text=True,
        check=True,
    )
    euler, discrete = ended.stdout.splitlines()
    assert euler == discrete
