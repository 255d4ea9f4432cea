"""The registry of integrators, and that an entry is all that a new one needs."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import re
from types import ModuleType

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.cli import main
from asperity.integrators import registry
from asperity.integrators.integrator import SteppedIntegrator
from asperity.integrators.registry import Registration, options_of, register, registered
from asperity.plant.model.material import Material
from asperity.study import work_precision

OSCILLATOR = """
<mujoco><option gravity="0 0 0"/>
  <worldbody><body><joint name="x" type="slide" axis="1 0 0" stiffness="100"/>
    <geom size="0.1" mass="1"/></body></worldbody>
  <keyframe><key name="out" qpos="0.1"/></keyframe>
</mujoco>
"""
DRAG = 3.0


pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")


@functools.cache
def _import_toy() -> tuple[ModuleType, dict[str, Registration]]:
    """A module that registers an integrator when it is imported, and the registry with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_REGISTERED", dict(registered()))
        return importlib.import_module("toy_method"), dict(registered())


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The same module, registered for one test."""
    module, known = _import_toy()
    monkeypatch.setattr(registry, "_REGISTERED", known)
    return module


def _exact(time: float) -> float:
    """Solution of q'' = -100 q - 3 q' that starts from rest at 0.1."""
    decay, omega = 0.5 * DRAG, math.sqrt(100.0 - 0.25 * DRAG**2)
    return (
        0.1
        * math.exp(-decay * time)
        * (math.cos(omega * time) + decay / omega * math.sin(omega * time))
    )


def _end(integrator: asp.integrators.Integrator) -> tuple[float, asp.Statistics]:
    sim = asp.Simulator(OSCILLATOR, integrator=integrator)
    sim.reset("out")
    assert sim.advance_to(1.0).success
    return float(sim.data.qpos[0]), sim.stats


def test_a_toy_runs_from_python(toy: ModuleType) -> None:
    steps = (4e-3, 2e-3, 1e-3)
    errors = [abs(_end(toy.Toy(time_step=h, own_option=DRAG))[0] - _exact(1.0)) for h in steps]
    assert errors[-1] < 5e-6
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


def test_a_toy_runs_under_error_control(toy: ModuleType) -> None:
    (rough, few), (fine, many) = (
        _end(toy.Toy(accuracy=accuracy, own_option=DRAG)) for accuracy in (1e-4, 1e-6)
    )
    assert abs(fine - _exact(1.0)) < 0.1 * abs(rough - _exact(1.0))
    # The error of a step is of third order.
    assert 3.0 < many.steps / few.steps < 7.0


def test_a_toy_runs_from_the_command_line(toy: ModuleType, tmp_path, capsys) -> None:
    model, target = tmp_path / "oscillator.xml", tmp_path / "run.npz"
    model.write_text(OSCILLATOR)
    command = ["simulate", str(model), "--keyframe", "out", "--duration", "1"]
    command += ["--integrator", "toy", "--save", str(target)]
    assert main([*command, "--time-step", "1e-3", "--own-option", "3"]) == 0
    assert np.load(target)["qpos"][-1, 0] == pytest.approx(_exact(1.0), abs=5e-6)
    capsys.readouterr()
    assert main([*command, "--own-option", "-3"]) == 2
    assert "--own-option must be non-negative and finite, got -3.0" in capsys.readouterr().err
    assert main(["simulate", str(model), "--own-option", "3"]) == 2
    assert "--own-option does not apply to the integrator cenic; omit it, or choose " in (
        capsys.readouterr().err
    )
    assert main([*command, "--stiffness", "1e5"]) == 2
    assert "--stiffness does not apply to the integrator toy" in capsys.readouterr().err
    assert main(["simulate", "--help"]) == 0
    assert "everything loses the part" in capsys.readouterr().out
    assert main(["info", "--integrators"]) == 0
    assert "Explicit midpoint steps" in capsys.readouterr().out


def test_a_toy_is_studied(toy: ModuleType) -> None:
    study = work_precision(
        mujoco.MjModel.from_xml_string(OSCILLATOR),
        methods=["toy"],
        time_steps=[4e-3, 2e-3],
        duration=0.5,
        keyframe="out",
    )
    assert [trial.expression for trial in study.trials] == [
        "Toy(time_step=0.004)",
        "Toy(time_step=0.002)",
    ]
    first, second = (trial.errors for trial in study.trials)
    assert first is not None
    assert second is not None
    assert first.position / second.position == pytest.approx(4.0, rel=0.2)


def test_every_option_is_explained() -> None:
    for name, entry in registered().items():
        options = options_of(entry.preset)
        assert {option.name for option in options} == {
            field.name for field in dataclasses.fields(entry.preset)
        }, name
        for option in options:
            assert option.help.endswith("."), (name, option.name)
            if option.kind is str:
                assert option.default in option.choices, (name, option.name)
                listed = re.search(rf"^ +{option.name} : \{{(.*)\}}", entry.preset.__doc__, re.M)
                if listed is not None:
                    assert set(re.findall(r'"([^"]+)"', listed[1])) == set(option.choices)
            for choice in option.choices:
                # Of error control, where there are fixed steps by default.
                controlled = {"accuracy": 1e-3} if option.name == "error_norm" else {}
                entry.preset(**{option.name: choice}, **controlled)


def test_every_integrator_is_public() -> None:
    fields = {field.name for field in dataclasses.fields(Material)}
    for entry in registered().values():
        assert entry.preset.__name__ in asp.__all__
        assert getattr(asp, entry.preset.__name__) is entry.preset
        assert entry.preset.contact_parameters <= fields


def test_what_cannot_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", dict(registered()))

    class Other(asp.Icf):
        pass

    with pytest.raises(ValueError, match="'icf' is registered already"):
        register("icf")(Other)

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Demanding(SteppedIntegrator):
        viscosity: float

    with pytest.raises(ValueError, match="need defaults: viscosity"):
        register("demanding")(Demanding)
    assert "demanding" not in registered()
