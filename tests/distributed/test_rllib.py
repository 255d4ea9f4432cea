"""RLlib takes the native vector environment, and has the same of it as of single environments."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

pytest.importorskip("ray.rllib", reason="needs the extra rllib", exc_type=ImportError)
pytest.importorskip("torch", reason="needs the extra rllib")

import ray

from asperity.envs import PegInHoleEnv

pytestmark = pytest.mark.extras

_EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_rllib.py"
OPTIONS: dict[str, Any] = {"max_steps": 12, "lowest": 0.002, "highest": 0.004, "spread": 0.001}


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("train_rllib", _EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield module
    ray.shutdown()


def test_worlds_bring_the_same_as_single_environments(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"worlds": 3, "batch": 96, "seed": 1, **OPTIONS}
    found = example.run(2, **settings)
    assert [iteration.steps for iteration in found] == [96, 192]
    # At the start an agent moves to and fro; no episode is longer than it may be, but for the step
    # in which it begins anew, which RLlib counts if a sample begins there.
    assert 0.0 < found[-1].length <= OPTIONS["max_steps"] + 1
    assert math.isfinite(found[-1].reward)

    class Centimetres(gymnasium.ObservationWrapper[np.ndarray, np.ndarray, np.ndarray]):
        def observation(self, observation: np.ndarray) -> np.ndarray:
            return (100.0 * (observation - example.MIDDLE)).astype(np.float32)

    configure = example.configure
    monkeypatch.setattr(example, "make_worlds", lambda _: Centimetres(PegInHoleEnv(**OPTIONS)))
    monkeypatch.setattr(
        example,
        "configure",
        lambda **given: configure(**given).env_runners(gym_env_vectorize_mode="sync"),
    )
    assert example.run(2, **settings) == found
