"""The example that learns: a tiny network, trained for seconds, looks at the object."""

from pathlib import Path

import numpy as np
import pytest

import unlatch

torch = pytest.importorskip("torch", reason="extra train")

STATE = ["joint_position", "gripper", "hand_keypoints", "openness", "geometry"]
OF_OBJECT = ("hand_keypoints", "openness", "geometry")


@pytest.mark.slow
def test_a_tiny_network_predicts_the_hand_better_than_one_that_sees_another_place(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "learn"))
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
