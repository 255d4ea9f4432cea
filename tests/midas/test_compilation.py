"""What has to be compiled before this engine runs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asperity as asp
from asperity.convex.block_cholesky import factorize
from asperity.convex.convex_newton import solve_problem
from asperity.plant.evaluate import evaluate
from asperity.simulator.compiled_publication import solve_forces

sim = asp.Simulator(
    '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .2"><freejoint/>'
    '<geom size=".05"/></body></worldbody><sensor><clock/></sensor></mujoco>',
    integrator=asp.Midas(),
)
assert sim.advance_to(0.3).success
assert len(sim.contacts.geom)
sim.reset()
used = [k.name for k in (factorize, solve_problem, evaluate) if k._compiled is not None]
assert not used, used
assert not solve_forces._dispatcher.overloads
"""


def test_kernels_of_convex_steps_are_neither_compiled_nor_loaded():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
