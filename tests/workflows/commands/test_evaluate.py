"""Policies: where they come from, what they score, and what happens when they misbehave."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import AssetError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.commands.check import evaluate_command as main
from unlatch.workflows.commands.collect import collect_command as collect_main
from unlatch.workflows.commands.objects import make_object_command as make_object_main
from unlatch.workflows.episode.episode import Episode

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[3]
COMMON = ["task=close_drawer", "executor=serial", "pictures=0"]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def evaluate(*arguments: str, out: str = "eval") -> int:
    return main([*COMMON, f"out={out}", *arguments])


def collect(*overrides: str) -> None:
    assert collect_main([*COMMON, *overrides, "out=data"]) == 0


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Returns what the command printed, with single spaces."""
    return " ".join(capsys.readouterr().out.split())


def codes(out: str = "eval") -> list[str | None]:
    assert check_dataset(out) == []
    return [item.code for item in DataSet.open(out).summaries()]


REPLAYS = """
import numpy as np
from unlatch import open_dataset
class Again:
    def __init__(self, observation_space, action_space):
        arrays, arm = open_dataset("data")[0].arrays, "actions.franka_panda.left"
        self.actions = np.hstack([arrays[f"{arm}.joint_targets"], arrays[f"{arm}.gripper_target"]])
        self.frame, s = 4, arrays["objects.drawer.joint_positions"][:, 0]
        self.half_way = int(np.argmax(s < s[0] / 2))
    def act(self, observation):
        self.frame += 1
        return self.actions[min(self.frame, len(self.actions) - 1)]
class Half(Again):
    def act(self, observation):
        return super().act(observation) if self.frame + 1 < self.half_way else None
"""
"""Policies that repeat the actions of episode 0 of `data`: all of them, or those until the drawer is half closed."""


@pytest.mark.slow
def test_recorded_actions_score_what_was_recorded(here):
    overrides = ["skills.0.contact_force_threshold_n=0", "episodes=3"]  # a rule that some episodes break
    collect(*overrides)
    assert evaluate(*overrides, "policy=recorded:data") == 0
    collected, evaluated = DataSet.open("data"), DataSet.open("eval")
    assert [item.success for item in evaluated.summaries()] == [item.success for item in collected.summaries()]
    assert check_dataset("eval") == []
    shares = [item.policy.share for item in evaluated.summaries() if item.policy is not None and item.success]
    assert shares == [1.0] * len(shares)
    said = evaluated.header["evaluate"]
    found = [said[key] for key in ("policy", "success_when", "end_at_violation")]
    assert found == ["recorded:data", "still", False]


@pytest.mark.slow
def test_random_actions_are_never_clean(here, capsys):
    assert evaluate("policy=random", "episodes=3", "task.max_duration_s=4") == 0
    said = printed(capsys)
    assert "goal " in said  # arms that throw themselves about close a drawer at times
    assert "clean 0/3" in said
    assert check_dataset("eval") == []


OWN = """
import numpy as np
def stay(observation):
    return np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)
class Stayer:
    def __init__(self, observation_space, action_space):
        self.size = action_space.shape[0]
    def reset(self, observation, info):
        assert info["language"]
        self.left = 5
    def act(self, observation):
        self.left -= 1
        return stay(observation) if self.left else None
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code", "n_actions"), [("stay", "timeout", 31), ("Stayer", "not_reached", 9)])
def test_a_policy_of_the_users_own_is_found_in_the_current_folder(here, name, code, n_actions, capsys):
    (here / f"own_{name}.py").write_text(OWN)
    assert evaluate(f"policy=own_{name}:{name}", "episodes=1", "task.max_duration_s=1") == 0
    record = DataSet.open("eval").read(0)
    assert (record.code, record.n_actions) == (code, n_actions)
    assert "share mean 0.0 % (95 % interval 0.0 to 79.3 %)" in printed(capsys)


def test_a_bug_at_the_reset_ends_the_episode_not_the_run(here, monkeypatch, capsys):
    def broken(self: Episode) -> None:
        raise RuntimeError("a sensor has a bug")

    monkeypatch.setattr(Episode, "begin", broken)
    assert evaluate("policy=random", "episodes=2") == 1
    assert codes() == ["error"] * 2
    said = capsys.readouterr().out
    assert "first error, episode 0: RuntimeError: a sensor has a bug\n" in said
    assert f'  File "{__file__}", line ' in said


@pytest.mark.slow
def test_a_fixed_policy_acts_again_in_the_episodes_that_its_bug_ended(here, capsys):
    (here / "to_fix.py").write_text("from to_fix_too import act\n")
    (here / "to_fix_too.py").write_text("def act(observation):\n    raise KeyError('wrist')\n")
    words = ["task=close_drawer", "pictures=0", "workers=1", "out=eval", "policy=to_fix:act", "episodes=2"]
    assert [main(words), main(words)] == [1, 1]
    assert "made again" not in capsys.readouterr().err  # nothing has changed
    (here / "to_fix_too.py").write_text("def act(observation):\n    return None\n")
    assert main(words) == 0
    assert "2 episodes ended as `error`; made again now: to_fix_too.py has changed" in capsys.readouterr().err
    assert codes() == ["not_reached"] * 2


@pytest.mark.slow
def test_a_policy_that_breaks_a_rule_and_goes_on_reaches_the_goal_and_is_not_clean(here, capsys):
    collect("episodes=1")
    (here / "again.py").write_text(REPLAYS)
    rule = "robot.arms.0.gripper.finger_force_limit_n=5"  # a limit that pushing the drawer exceeds
    capsys.readouterr()
    assert evaluate("policy=again:Again", rule, "episodes=1") == 0
    said = printed(capsys)
    assert "goal 1/1" in said
    assert "clean 0/1" in said
    record = DataSet.open("eval").read(0)
    assert (record.success, record.code, record.goal["reached"]) == (False, "overload", True)
    assert record.evidence["frame"] < record.goal["reached_frame"]
    assert evaluate("policy=again:Again", rule, "episodes=1", "end_at_violation=true", out="ended") == 0
    ended = DataSet.open("ended").read(0)
    assert (ended.code, ended.evidence["frame"]) == (record.code, record.evidence["frame"])
    assert ended.n_actions == ended.evidence["frame"]
    assert "reached" not in ended.goal
    assert check_dataset("eval") == check_dataset("ended") == []


@pytest.mark.slow
def test_a_policy_that_stops_half_way_has_a_share_of_the_asked_motion(here, capsys):
    collect("episodes=1")
    (here / "half.py").write_text(REPLAYS)
    capsys.readouterr()
    assert evaluate("policy=half:Half", "episodes=1") == 0
    record = DataSet.open("eval").read(0)
    s = record.arrays["objects.drawer.joint_positions"][:, record.skills[0]["joint_index"]]
    (outcome,) = [item.policy for item in DataSet.open("eval").summaries()]
    assert outcome.share == pytest.approx((s[0] - s[-1]) / (s[0] - 0.01), abs=0.01)
    assert 0.3 < outcome.share < 0.7
    assert f"share mean {100 * outcome.share:.1f} %" in printed(capsys)
    assert check_dataset("eval") == []


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_a_policy_acts_in_a_task_that_is_derived_from_an_object(here, several):
    for number in range(1 + several):
        assert make_object_main(["drawer", f"seed={number}", f"out=own/{number}"]) == 0
    path = here / "own" if several else here / "own" / "0"
    common = ["skill=open", "part=drawer", "executor=serial", "pictures=0", "task.max_duration_s=1"]
    assert main([f"object={path}", *common, "policy=random", "episodes=3", "out=eval"]) == 0
    evaluated = DataSet.open("eval")
    assert {record.skills[-1]["name"] for record in evaluated} == {"open"}
    assert len({record.assets["object"] for record in evaluated}) == 1 + several
    assert check_dataset("eval") == []


@pytest.mark.slow
def test_an_observation_that_another_object_of_a_folder_lacks_is_named(here, capsys):
    for kind in ("drawer", "microwave"):
        assert make_object_main([kind, "seed=1", f"out=own/{kind}"]) == 0
    common = ["object=own", "object.instances=round_robin", "skill=close", "executor=serial", "pictures=0"]
    run = [*common, "policy=random", "episodes=2", "task.max_duration_s=1"]
    assert main([*run, "out=eval"]) == 2
    message = capsys.readouterr().err
    assert "is not in episode 1, but in the first: it varies with the part that is acted on" in message
    assert "Set observation.keys=[robots.*]" in message
    assert main([*run, "observation.keys=[robots.*]", "out=other"]) == 0
    assert {record.skills[-1]["part"] for record in DataSet.open("other")} == {"drawer", "door"}


@pytest.mark.slow
def test_a_damaged_object_costs_only_the_episode_that_draws_it(here, monkeypatch):
    def load_or_raise(cfg: ObjectCfg, *, rng: np.random.Generator, number: int = 0) -> ObjectAsset:
        if number == 1:
            raise AssetError("drawer/1 is damaged.")
        return load_object(cfg, rng=rng, number=number)

    monkeypatch.setattr("unlatch.workflows.episode.assets.load_object", load_or_raise)
    assert evaluate("policy=random", "episodes=3", "task.max_duration_s=1") == 1  # an episode ended as `error`
    assert [code == "error" for code in codes()] == [False, True, False]
    assert "drawer/1 is damaged." in DataSet.open("eval").read(1).evidence["message"]


BATCHED = """
import numpy as np
class Stayer:
    def __init__(self, observation_space, action_space):
        self.steps = {}
    def reset(self, slot, observation, info):
        self.steps[slot] = 0
        self.episode = info["episode"]
    def act_batch(self, observations, slots):
        for slot in slots:
            self.steps[int(slot)] += 1
        if self.episode == 1 and max(self.steps.values()) > 3:
            raise KeyError("wrist")
        q = observations["robots.franka_panda.left.joint_positions"]
        return np.hstack([q, np.full((len(q), 1), 0.04)])
"""


@pytest.mark.slow
def test_a_batched_policy_acts_as_one_per_worker_and_a_bug_ends_its_episode_only(here, capsys):
    (here / "batched.py").write_text(BATCHED)
    assert evaluate("policy=batched:Stayer", "episodes=2", "task.max_duration_s=1") == 1
    assert "in batches of 1.0 on average" in printed(capsys)
    assert codes() == ["timeout", "error"]
    assert "KeyError: 'wrist'" in DataSet.open("eval").read(1).evidence["message"]


@pytest.fixture
def server() -> Iterator[str]:
    program = [sys.executable, str(ROOT / "examples" / "policy_server.py"), "--port", "0"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().rpartition(":")[2].strip()
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.slow
def test_a_policy_in_another_process_is_asked_over_tcp(here, server):
    assert evaluate(f"policy=tcp://127.0.0.1:{server}", "episodes=2", "task.max_duration_s=1") == 0
    assert codes() == ["timeout", "timeout"]
    data_set = DataSet.open("eval")
    q = data_set.read(0).arrays["robots.franka_panda.left.joint_positions"]
    assert np.abs(q[-1] - q[5]).max() < 0.01  # the example holds still
    assert data_set.header["evaluate"]["success_when"] == "held"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy=nowhere:act"], "module 'nowhere' cannot be imported"),
        (["policy=recorded:nowhere"], "is not a data set"),
        (["policy=random", "batch=true"], "batch=true needs a policy of yours or of LeRobot, got policy=random"),
        pytest.param(["policy=own:stay", "batch=true"], "has no method act_batch", marks=pytest.mark.slow),
    ],
)
def test_a_policy_that_cannot_be_used_is_one_line_and_nothing_is_written(here, assert_refused, words, message):
    (here / "own.py").write_text(OWN)
    assert_refused("evaluate", *COMMON, "out=eval", "episodes=1", *words, text=message, folder=here)
