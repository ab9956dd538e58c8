"""A user's policy where each worker has its own, batched or not."""

import re
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.workflows.commands.check import evaluate_command as evaluate
from unlatch.workflows.commands.collect import collect_command as collect
from unlatch.workflows.gym.config import ActionMode
from unlatch.workflows.policies.catalog import load_policy, wrap_policy

pytestmark = pytest.mark.integration

Array = np.ndarray
CFG = SimpleNamespace(action=SimpleNamespace(mode=ActionMode.joint_position))
ENV: Any = SimpleNamespace(observation_space="observations", action_space=SimpleNamespace(shape=(2,)), cfg=CFG)
COMMON = ["task=close_drawer", "executor=serial", "pictures=0", "episodes=1"]
COUNTING = """
import numpy as np

calls = []

class Still:
    def __init__(self, observation_space, action_space):
        calls.append("made")
    def reset(self, slot, observation, info):
        calls.append(("reset", slot, info["episode"]))
    def act_batch(self, observations, slots):
        calls.append("act")
        q = observations["robots.franka_panda.left.joint_positions"]
        assert q.shape == (1, 7) and slots.tolist() == [0]
        return np.hstack([q, np.full((1, 1), 0.04)])
    def close(self):
        calls.append("closed")
"""


@pytest.fixture
def counting(tmp_path, monkeypatch) -> Any:
    """The module `counting` in the current folder, with the calls of its policy."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "counting", raising=False)
    (tmp_path / "counting.py").write_text(COUNTING)
    import counting

    return counting


class Batched:
    """Answers twice the observation; None for negative numbers."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def reset(self, slot: int, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        self.calls.append(("reset", slot, float(observation["x"]), info["episode"]))

    def act_batch(self, observations: Mapping[str, Array], slots: Array) -> list[Array | None]:
        self.calls.append(("act", observations["x"].shape, slots.tolist()))
        return [None if x < 0 else np.array([2 * x]) for x in observations["x"]]

    def close(self) -> None:
        self.calls.append("close")


class CallableBatched(Batched):
    """Can also be called, as a network of torch can."""

    def __call__(self, values: Array) -> Array:
        raise AssertionError("the network itself was called")


@pytest.mark.parametrize("kind", [Batched, CallableBatched])
def test_a_batched_policy_is_asked_for_one_worker_in_slot_0(kind):
    target = kind()
    policy = wrap_policy(target, ENV, name="batched")
    policy.reset({"x": np.array(1.0)}, {"episode": 4})
    action, last = policy.act({"x": np.array(3.0)}), policy.act({"x": np.array(-1.0)})
    policy.close()
    assert (action.tolist(), last) == ([6.0], None)
    assert target.calls == [("reset", 0, 1.0, 4), ("act", (1,), [0]), ("act", (1,), [0]), "close"]


def test_a_policy_may_have_act_alone_and_no_action_for_an_observation_is_named():
    both = SimpleNamespace(act=lambda observation: np.ones(1), act_batch=lambda observations, slots: np.zeros((1, 1)))
    assert wrap_policy(both, ENV, name="both").act({}) == np.ones(1)
    policy = wrap_policy(SimpleNamespace(act_batch=lambda observations, slots: []), ENV, name="batched")
    policy.reset({}, {})
    with pytest.raises(ValueError, match="act_batch returned 0 actions for 1 observations"):
        policy.act({"x": np.array(1.0)})
    policy.close()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("nowhere:act", "module 'nowhere' cannot be imported"),
        ("json:dumpz", "has no 'dumpz'. Did you mean 'dump"),
        ("math:pi", "policy='math:pi' is of type float"),
        ("tcp://127.0.0.1:1", "does not answer"),
        ("tcp://127.0.0.1", "Expected tcp://host:port"),
        ("recorded:nowhere", "is not a data set"),
        ("best", "Expected one of: lerobot:PATH, lerobot://host:port/type/checkpoint, module:name, never_looks"),
        (3, "is of type int. Expected a function of the observation, or a class or object with act(observation) or "),
    ],
)
def test_what_is_no_policy_is_refused(policy, message):
    with pytest.raises(UnlatchError, match=re.escape(message)):
        load_policy(policy, ENV, timeout_s=5.0)


@pytest.mark.slow
def test_batch_false_gives_each_worker_a_batched_policy_of_its_own(counting):
    options = ["policy=counting:Still", "batch=false", "task.max_duration_s=1", "out=eval"]
    assert evaluate([*COMMON, *options]) == 0
    record = DataSet.open("eval").read(0)
    assert record.code == "timeout"
    n_acts = record.n_actions - 5  # the environment begins with 5 frames of standing still
    # made and closed once before the run, so that an error comes before anything is written
    assert counting.calls == ["made", "closed", "made", ("reset", 0, 0), *["act"] * n_acts, "closed"]


@pytest.mark.slow
def test_a_batched_policy_acts_before_the_planner_takes_over_and_images_end_with_it(counting, monkeypatch):
    renderings: list[int] = []
    render = SoftwareRenderer.render

    def count(self: SoftwareRenderer, world: Any, request: Any) -> Any:
        renderings.append(world.steps)
        return render(self, world, request)

    monkeypatch.setattr(SoftwareRenderer, "render", count)
    camera = ["sensors=[front]", "sensors.0.width=32", "sensors.0.height=24", "observation.images=[rgb]"]
    assert collect([*COMMON, *camera, "policy=counting:Still", "takeover=6", "out=corrected"]) == 0
    record = DataSet.open("corrected").read(0)
    assert record.success
    assert record.events[0]["event"] == "takeover"
    assert record.events[0]["frame"] == 5 + 6
    assert counting.calls == ["made", ("reset", 0, 0), *["act"] * 6, "closed"]
    # for the shapes of the observation, after the reset, in each frame of the policy
    assert len(renderings) == 1 + 1 + 6
