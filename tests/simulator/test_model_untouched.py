"""No one changes the user's model, not even for a moment: others may be using it."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant import native
from asperity.plant.model.own_options import OwnOptions

# The ball starts inside of the floor, so that Midas has to move it out; the arm has a limit, dry
# friction and an equality, which are rows of MuJoCo's that Midas does without.
SCENE = """
<mujoco><option><flag energy="enable"/></option><worldbody>
<geom name="floor" type="box" size="2 2 .1" pos="0 0 -.1"/>
<body name="ball" pos="0 0 .0999"><freejoint/><geom name="ball" size=".1"/><site name="pad" pos="0 0 .01" size=".2"/></body>
<body pos="1 0 1"><joint name="a" axis="0 1 0" range="-1 1" limited="true" frictionloss=".01"/>
 <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
<body pos="1 1 1"><joint name="b" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>
</worldbody><equality><joint joint1="a" joint2="b"/></equality>
<sensor><touch site="pad"/></sensor></mujoco>"""

INTEGRATORS = [
    asp.Midas(time_step=0.01, overlaps="separate"),
    asp.Cenic(),
    asp.Tamsi(time_step=0.01),
    asp.ImplicitEuler(time_step=0.01),
]


def memory_of(model: mujoco.MjModel) -> bytes:
    """The whole model: sizes, options, and all arrays."""
    struct = ctypes.string_at(model._address, native.struct_size("mjModel"))
    start = native.offset("mjModel", "buffer")
    buffer = int.from_bytes(struct[start : start + 8], "little")
    return struct + ctypes.string_at(buffer, model.nbuffer)


def watched(monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]) -> list[str]:
    """Call ``check`` before and after every call of MuJoCo; returns the names of those called."""
    called: list[str] = []

    def watch(name: str) -> None:
        original = getattr(mujoco, name)

        def function(*args: object) -> object:
            called.append(name)
            check()
            result = original(*args)
            check()
            return result

        monkeypatch.setattr(mujoco, name, function)

    for name in dir(mujoco):
        if name.startswith("mj_"):
            watch(name)
    return called


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_not_a_byte_changes_at_any_time(integrator, monkeypatch) -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    before = memory_of(model)

    def check() -> None:
        assert memory_of(model) == before

    called = watched(monkeypatch, check)
    sim = asp.Simulator(model, integrator=integrator)
    check()
    # Calls of MuJoCo in compiled code cannot be watched: let Python publish.
    sim.session.at_once = False
    for _ in range(5):
        assert sim.advance_to(sim.time + 0.02).success
        assert len(sim.contacts.geom) > 0
        check()
    assert "mj_sensorPos" in called


def test_not_a_byte_changes_where_sensors_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they read without delay is noted before every step."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep=".01"/><worldbody><body><joint name="x" type="slide"/>'
        '<geom size=".1"/></body></worldbody><sensor>'
        '<jointpos joint="x" delay=".03" nsample="4"/></sensor></mujoco>'
    )
    before = memory_of(model)

    def check() -> None:
        assert memory_of(model) == before

    called = watched(monkeypatch, check)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.01))
    positions = [0.0]
    for _ in range(8):
        sim.step()
        positions.append(float(sim.data.qpos[0]))
        assert sim.data.sensordata[0] == positions[max(len(positions) - 4, 0)]
    assert called.count("mj_sensorPos") >= 16


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_an_observer_in_another_thread_sees_no_change(integrator) -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    seen: set[tuple[int, int, float]] = set()
    stop = threading.Event()

    def observe() -> None:
        while not stop.is_set():
            option = model.opt
            seen.add((int(option.disableflags), int(option.enableflags), float(option.o_margin)))

    observer = threading.Thread(target=observe)
    observer.start()
    try:
        sim = asp.Simulator(model, integrator=integrator)
        for _ in range(30):
            assert sim.advance_to(sim.time + 0.01).success
    finally:
        stop.set()
        observer.join()
    assert len(seen) == 1


def test_midas_hears_what_the_user_changes_between_steps() -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.01, overlaps="separate"))
    assert sim.advance_to(0.02).success
    model.site_pos[0, 2] = 0.07
    model.opt.gravity[2] = -20.0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    sim.data.sensordata[:] = 77.0
    assert sim.advance_to(0.04).success
    at = sim.data.body("ball").xpos + sim.data.body("ball").xmat.reshape(3, 3) @ [0, 0, 0.07]
    np.testing.assert_allclose(sim.data.site("pad").xpos, at, atol=1e-15)
    assert sim.data.sensordata[0] == 77.0
    mass = model.body("ball").mass[0]
    np.testing.assert_allclose(sim.data.qfrc_bias[2], 20.0 * mass)


def test_own_options_share_arrays_and_nothing_else() -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    own = OwnOptions(model)
    with own as lent:
        lent.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        mujoco.mj_forward(lent, data)
        assert data.ncon == 0
        model.body_pos[1, 2] = 0.5
    assert model.opt.disableflags == 0
    mujoco.mj_forward(model, data)
    assert data.ncon > 0
    with own as lent:
        # Options are the user's again, and arrays are as the user left them.
        mujoco.mj_forward(lent, data)
        assert data.ncon > 0


def test_own_options_own_nothing_of_the_user_s() -> None:
    """Destroying them leaves the model as it is, after an error too."""
    model = mujoco.MjModel.from_xml_string(SCENE)
    before = memory_of(model)
    own = OwnOptions(model)
    with pytest.raises(ZeroDivisionError), own as lent:
        _ = 1 / lent.opt.disableflags
    assert lent.nq == 0
    del own, lent
    gc.collect()
    assert memory_of(model) == before
    mujoco.mj_forward(model, mujoco.MjData(model))
