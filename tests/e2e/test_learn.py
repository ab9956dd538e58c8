"""The example that learns: its networks look at the object."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unlatch

torch = pytest.importorskip("torch", reason="extra train")

STATE = ["joint_position", "gripper", "hand_keypoints", "openness", "geometry"]
OF_OBJECT = ("hand_keypoints", "openness", "geometry")
EXAMPLE = Path(__file__).parents[2] / "examples" / "learn"


@pytest.mark.slow
def test_a_tiny_network_predicts_the_hand_better_than_one_that_sees_another_place(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import train

    cfg = unlatch.load("close_drawer", "variety=0", "object.instance=3", seed=1)  # one drawer in many places
    data = unlatch.collect(cfg, episodes=24, out=tmp_path / "drawers", workers=2)
    unlatch.export(data, format="lerobot", out=tmp_path / "lerobot", state=STATE, objects=False, keypoints=False)
    options = {**train.OPTIONS, "out": str(tmp_path / "policy.pt"), "steps": 400, "width": 128, "batch": 128}
    network = train.train([tmp_path / "lerobot"], options)

    names, states, actions, ends = train.read_sets([tmp_path / "lerobot"])
    episodes = np.unique(ends)
    rows = np.flatnonzero(np.isin(ends, episodes[11::12]))  # held out
    target = actions[np.minimum(rows + 7, ends[rows]), :-1]
    told = states[rows].copy()
    of_object = [i for i, name in enumerate(names) if any(word in name for word in OF_OBJECT)]
    told[:, of_object] = states[0, of_object]  # where the drawer of another episode stands

    def hand_error_m(seen):
        q = network.act(torch.tensor(seen))[:, 7, :-1]
        return float((network.arm(q)[0] - network.arm(torch.tensor(target))[0]).norm(dim=1).mean())

    assert hand_error_m(states[rows]) < hand_error_m(told)


@pytest.mark.slow
def test_the_shipped_policy_opens_microwaves_and_one_that_never_looks_does_not(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setenv("UNLATCH_POLICY", str(EXAMPLE / "open_microwave.pt"))
    import policy

    class NeverLooks(policy.ChunkPolicy):
        """The same network, which is told the first microwave that it sees for ever."""

        def act_batch(self, observations: Mapping[str, Any], slots: Sequence[int]) -> list[np.ndarray]:
            seen = np.array(observations["observation.state"])
            names = self._network.cfg.names
            of_object = [i for i, name in zip(self._columns, names, strict=True) if any(w in name for w in OF_OBJECT)]
            if not hasattr(self, "_told"):
                self._told = seen[0, of_object]
            seen[:, of_object] = self._told
            return super().act_batch({"observation.state": seen}, slots)

    def opened(kind: type) -> int:
        result = unlatch.evaluate(
            unlatch.load("open_microwave", seed=7),
            kind,
            episodes=6,
            out=tmp_path / kind.__name__,
            observation={"columns": True, "keys": [], "state": STATE, "objects": False, "keypoints": False},
        )
        return result.clean.successes

    looks, never_looks = opened(policy.ChunkPolicy), opened(NeverLooks)
    assert looks >= 4, looks
    assert never_looks <= 1, never_looks
