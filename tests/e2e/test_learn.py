"""The example that learns: a tiny network, trained for seconds, looks at the object."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unlatch

torch = pytest.importorskip("torch", reason="extra train")

STATE = ["joint_position", "gripper", "hand_keypoints", "openness", "geometry"]
OF_OBJECT = ("hand_keypoints", "openness", "geometry")


@pytest.mark.slow
def test_a_tiny_policy_closes_more_unseen_drawers_than_one_that_never_looks(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "learn"))
    monkeypatch.setenv("UNLATCH_POLICY", str(tmp_path / "policy.pt"))
    import policy
    import train

    cfg = unlatch.load("close_drawer", seed=1)
    data = unlatch.collect(cfg, episodes=60, out=tmp_path / "drawers", workers=2)
    unlatch.export(data, format="lerobot", out=tmp_path / "lerobot", state=STATE, objects=False, keypoints=False)
    options = {**train.OPTIONS, "out": str(tmp_path / "policy.pt"), "steps": 1000, "width": 128, "batch": 128, "hand": 0}
    train.train([tmp_path / "lerobot"], options)
    names, states, *_ = train.read_sets([tmp_path / "lerobot"])
    of_object = [i for i, name in enumerate(names) if any(word in name for word in OF_OBJECT)]

    class NeverLooks(policy.ChunkPolicy):
        """The same network, which is told another drawer in another place."""

        def act_batch(self, observations: Mapping[str, Any], slots: Sequence[int]) -> list[np.ndarray]:
            seen = np.array(observations["observation.state"])
            seen[:, of_object] = states[0, of_object]
            return super().act_batch({"observation.state": seen}, slots)

    def closed(kind: type) -> int:
        observation = {"columns": True, "keys": [], "state": STATE, "objects": False, "keypoints": False}
        result = unlatch.evaluate(
            unlatch.load("close_drawer", seed=2), kind, episodes=12, out=tmp_path / kind.__name__, observation=observation
        )
        assert result.goal is not None
        return result.goal.successes

    looks, never_looks = closed(policy.ChunkPolicy), closed(NeverLooks)
    assert looks > never_looks + 3, (looks, never_looks)
