"""The demo runs, and does at its resets and intervals what it says."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from unlatch import randomization as dr

DEMO = Path(__file__).resolve().parents[3] / "examples" / "randomization_demo.py"

pytestmark = pytest.mark.integration


def test_the_demo_resets_every_200_frames(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    fired: list[tuple[int, str]] = []
    step = dr.Setup.step_randomization

    def watched(self: dr.Setup, reset_inds: object = None) -> None:
        step(self, reset_inds)
        fired.extend((self.steps - 1, rule.key) for rule in self.rules if len(rule.envs))

    monkeypatch.setattr(dr.Setup, "step_randomization", watched)
    runpy.run_path(str(DEMO))["main"](n_frames=401)
    setup = dr.current()
    dr.new_setup()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("frame")] == ["frame 0", "frame 200", "frame 400"]
    assert len(lines) == 3 * 5

    def frames(key: str) -> list[int]:
        return sorted({frame for frame, name in fired if name == key})

    # counters are 0 at a reset, so that frame 200 + 20 is the first multiple after the second one
    assert frames("simulation_context.gravity on_interval(20)") == [*range(20, 200, 20), *range(220, 400, 20)]
    assert frames("object_view.force on_interval(50)") == [50, 100, 150, 250, 300, 350]
    assert frames("franka_view.joint_velocities on_interval(10)") == [*range(10, 200, 10), *range(210, 400, 10)]
    assert frames("object_view.position on_env_reset()") == [0, 200, 400]
    assert frames("franka_view.joint_positions on_env_reset()") == [0, 200, 400]
    positions = setup.rules[3].slot.last_reset
    assert np.all(positions[:, 2] == 0.2)  # heights are those of the default
    assert len({tuple(row) for row in positions.tolist()}) == 4
