"""The examples of ``docs/external-systems.md`` run, and do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "external-systems.md"


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_examples_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.DOTALL | re.M)
    assert len(blocks) == 3
    namespace: dict = {"__name__": "documentation"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{DOCUMENT.name}, block {number}", "exec"), namespace)
        if number == 0:
            np.testing.assert_allclose(namespace["held"].data.qpos, 0.0, atol=1e-2)
            printed = capsys.readouterr().out
            assert "[ 0.5 -0.8]" in re.sub(r"(\d\.\d)\d*", r"\1", printed.splitlines()[0])
        else:
            assert np.all(np.abs(namespace["sim"].data.qpos) < 1.0)
