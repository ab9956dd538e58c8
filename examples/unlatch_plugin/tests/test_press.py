"""The skill meets its contract, keeps the part pressed, and gives a reason when it fails."""

from collections.abc import Callable

import pytest
from unlatch_press.press import PressCfg

from unlatch import CollectCfg, ConfigError, EpisodeRunner
from unlatch.testing import CommandLine, check_skill, check_task, load_configs


def test_press_meets_the_skill_contract_with_a_stapler() -> None:
    report = check_skill("press", "press_stapler")
    assert report.successes == 2


@pytest.mark.parametrize("task", ["press_toaster", "press_toaster_long"])
def test_the_other_tasks_meet_the_task_contract(task: str) -> None:
    check_task(task, episodes=1 if task == "press_toaster_long" else 0)


@pytest.fixture
def run_toaster() -> Callable[..., EpisodeRunner]:
    def make(*overrides: str) -> EpisodeRunner:
        (loaded,) = load_configs("collect", CollectCfg, CommandLine(["task=press_toaster", *overrides]))
        return EpisodeRunner(loaded.cfg)

    return make


def test_the_lever_stays_down_for_hold_s(run_toaster: Callable[..., EpisodeRunner]) -> None:
    with run_toaster("skills.0.hold_s=1.5") as runner:
        record = runner.run(0)
    assert record.success
    skill = record.skills[0]
    s = record.arrays["objects.toaster.joint_positions"][:, skill["joint_index"]]
    force = record.arrays["contacts.franka_panda.left.toaster.fingers_link.force_max_n"]
    pressed = abs(s[1:] - skill["s_closed"]) <= skill["success_threshold"]
    assert (pressed & (force.reshape(len(pressed), -1).max(axis=1) > 0.0)).sum() >= 1.5 * 30 * 0.8


def test_a_part_that_does_not_stay_down_fails_with_slipped(
    run_toaster: Callable[..., EpisodeRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unlatch_press.press._LEAST_SHARE", 1.01)  # no part could stay for so long
    with run_toaster() as runner:
        record = runner.run(0)
    assert record.code == "slipped"
    assert "was kept pressed in" in record.evidence["message"]


@pytest.mark.parametrize("hold_s", [0.0, 11.0])
def test_hold_s_out_of_range_raises_a_config_error(hold_s: float) -> None:
    with pytest.raises(ConfigError, match=r"hold_s=.* is out of range"):
        PressCfg(name="press", hold_s=hold_s)
