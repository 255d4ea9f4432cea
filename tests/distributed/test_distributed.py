"""Rollouts and sweeps over two nodes, one of which is killed while it works: the same bits."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp

ray = pytest.importorskip("ray")

from asperity import distributed  # noqa: E402

pytestmark = pytest.mark.extras

MODEL = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.15"><freejoint/><geom type="box" size="0.1 0.1 0.1"/><site name="in" size="0.2"/></body>
    <body pos="1 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="a"/></actuator>
  <sensor><touch site="in"/></sensor>
</mujoco>
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes on this machine, of one processor each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.second = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def inputs(count: int, nstep: int) -> tuple[mujoco.MjModel, np.ndarray, np.ndarray]:
    model = mujoco.MjModel.from_xml_string(MODEL)
    random = np.random.default_rng(4)
    states = np.zeros((count, 1 + model.nq + model.nv))
    states[:, 1 : 1 + model.nq] = model.qpos0
    states[:, 1 + model.nq :] = random.normal(0.0, 0.5, (count, model.nv))
    return model, states, random.uniform(-1.0, 1.0, (count, nstep, model.nu))


def test_a_node_that_is_killed_in_the_middle_makes_no_difference(cluster: Any) -> None:
    model, states, controls = inputs(24, 400)
    contact = asp.ContactParameters(stiffness=1e5)
    expected = asp.rollout(model, states, controls, contact=contact, threads=1)
    done = []

    def kill(count: int, total: int) -> None:
        # Both nodes are at work then, since a share is only done when others have begun.
        done.append((count, total))
        if count == 2:
            cluster.remove_node(cluster.second, allow_graceful=False)

    found = distributed.rollout(model, states, controls, contact=contact, share=2, progress=kill)
    assert done == [(k, 12) for k in range(1, 13)]
    # Ray itself may need a while to take the node for dead.
    deadline = time.monotonic() + 120.0
    while len([node for node in ray.nodes() if node["Alive"]]) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)


def test_external_systems_go_along(cluster: Any) -> None:
    """Functions that no worker can import, too."""
    model, states, controls = inputs(6, 20)
    systems = [
        asp.systems.PidController(["a"], kp=5.0, kd=0.5, ki=1.0, target=0.4),
        asp.systems.FunctionSystem(
            lambda z, x: [-x.parameters[0]], actuators=["motor"], parameters=[0.1]
        ),
    ]
    integrator = asp.Icf(time_step=2e-3)
    options: dict[str, Any] = {"integrator": integrator, "systems": systems}
    expected = asp.rollout(model, states, controls, **options)
    found = distributed.rollout(model, states, controls, share=2, progress=False, **options)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)
    plain, _ = asp.rollout(model, states, controls, integrator=integrator)
    assert not np.array_equal(found[0], plain)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_a_case_that_is_lost_is_done_again(cluster: Any, tmp_path: Path) -> None:
    # Workers cannot import this module; a function inside of another one is sent as it is.
    def begin(folder: str, case: int) -> tuple[int, float]:
        """Leave a note of who begins a case, and be at it until told to end."""
        Path(folder, f"{case}-{os.getpid()}").touch()
        while not Path(folder, "end").exists():
            time.sleep(0.05)
        model = mujoco.MjModel.from_xml_string(MODEL)
        return case, float(asp.simulate(model, (0.0, 0.01 * case)).qpos[-1, 2])

    def kill() -> None:
        while len(list(tmp_path.glob("*-*"))) < 2:
            time.sleep(0.05)
        processes = [int(path.name.partition("-")[2]) for path in tmp_path.glob("*-*")]
        cluster.remove_node(cluster.second, allow_graceful=False)
        # A process outlives its node by a moment, in which it would still deliver its case.
        while all(_runs(process) for process in processes):
            time.sleep(0.05)
        (tmp_path / "end").touch()

    threading.Thread(target=kill, daemon=True).start()
    cases = distributed.grid(folder=[str(tmp_path)], case=[1, 2, 3])
    found = distributed.sweep(begin, cases, progress=False)
    assert [case for case, _ in found] == [1, 2, 3]
    # One of the first two was begun twice.
    assert len(list(tmp_path.glob("*-*"))) == 4
    assert found == [begin(**case) for case in cases]


def test_delayed_controls_go_along(cluster: Any) -> None:
    text = MODEL.replace("<motor ", "<motor nsample='5' delay='.008' ")
    model = mujoco.MjModel.from_xml_string(text)
    _, _, controls = inputs(4, 20)
    bits = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, bits))
    mujoco.mj_getState(model, mujoco.MjData(model), state, bits)
    integrator = asp.Icf(time_step=2e-3)
    expected = asp.rollout(model, state, controls, integrator=integrator)
    found = distributed.rollout(
        model, state, controls, integrator=integrator, share=2, progress=False
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.ptp(found[0][:, -1, -1 - model.nhistory]) > 0.0


def test_what_goes_wrong_is_said(cluster: Any) -> None:
    model, states, controls = inputs(4, 5)
    controls[2, 3] = np.nan
    with pytest.warns(asp.AsperityWarning, match=r"1 of 4 rollouts .*\(2\)"):
        distributed.rollout(model, states, controls, share=1, progress=False)
    for call, message in (
        (lambda: distributed.rollout(model, states[:, :3]), "initial_state"),
        (lambda: distributed.rollout(model, states, threads=64), "threads=64 is more"),
        (lambda: distributed.rollout(model, states, share=0), "share"),
        (lambda: distributed.sweep("f", []), "function"),
        (lambda: distributed.sweep(max, [3]), r"cases\[0\]"),
    ):
        with pytest.raises(asp.ArgumentError, match=message):
            call()
