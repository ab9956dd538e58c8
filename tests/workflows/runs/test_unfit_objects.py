"""A drawn object that the skill does not fit costs only its own episode; if it is the first one, there is no run."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine
from unlatch.workflows.commands.check import evaluate_command as evaluate_main
from unlatch.workflows.commands.collect import collect_command as collect_main
from unlatch.workflows.commands.objects import make_object_command as make_object_main
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.assets import load_assets, with_derived_task
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.gym.config import SuccessWhen
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.policies.catalog import wrap_policy
from unlatch.workflows.policies.takeover import TakeoverRule, run_correction
from unlatch.workflows.runs.evaluate import run_episode
from unlatch.workflows.runs.loading import config_as
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg, EnvCfg

pytestmark = pytest.mark.integration
CHOICE = ["skill=close", "object.instances=round_robin"]
MISFIT = "'object' (urdf hand_wheel hand_wheel): skill=close does not fit part 'knob': it is a knob"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A folder of a drawer, which closes, and a hand wheel that no hand can hold; the drawer is the first."""
    folder = tmp_path_factory.mktemp("mixed")
    for kind in ("drawer", "hand_wheel"):
        assert make_object_main([kind, "seed=1", f"out={folder}/{kind}"]) == 0
    annotation = folder / "hand_wheel" / ANNOTATION_FILE
    text, count = re.subn(r"(handle:\s+type:) \w+", r"\1 none", annotation.read_text())
    assert count == 1
    annotation.write_text(text)
    return folder


def config(root: Path, *overrides: str) -> CollectCfg:
    words = [f"object={root}", *CHOICE, *overrides]
    (loaded,) = load_configs("collect", CollectCfg, CommandLine(overrides=words))
    return loaded.cfg


@pytest.fixture
def env(root) -> Iterator[UnlatchEnv]:
    cfg = config_as(EnvCfg, config(root, "task.max_duration_s=1"), success_when=SuccessWhen.still)
    cfg.observation.keys = ["robots.*"]
    with closing(UnlatchEnv(cfg=cfg)) as made:
        yield made


def assert_error(record: EpisodeRecord, message: str) -> None:
    assert (record.success, record.code) == (False, "error")
    assert message in record.evidence["message"]
    assert check_record(record) == []


def stay(observation: dict[str, np.ndarray]) -> np.ndarray:
    return np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)


@pytest.mark.slow
def test_a_demonstration_with_an_object_that_does_not_fit_fails_and_names_it(root):
    with EpisodeRunner(config(root)) as runner:
        record = runner.run(1)
    assert_error(record, MISFIT)
    assert "To leave this object out, list others in object.instances." in record.evidence["message"]
    assert record.layout["instances"]["object"]["instance"] == "hand_wheel"


def test_an_evaluated_episode_with_an_object_that_does_not_fit_fails_and_names_it(env):
    policy = wrap_policy(stay, env, name="stay")
    assert_error(run_episode(env, policy, 1), MISFIT)


def test_a_correction_with_an_object_that_does_not_fit_fails_and_names_it(env):
    policy = wrap_policy(stay, env, name="stay")
    assert_error(run_correction(env, policy, TakeoverRule.parse("3"), "stay", 1), MISFIT)


@pytest.mark.slow
@pytest.mark.parametrize("corrected", [False, True])
def test_a_later_skill_that_does_not_fit_ends_the_episode_of_a_policy(env, corrected, monkeypatch):
    def refuse(episode: Episode) -> None:
        raise AssetError("The second skill does not fit.")

    def act(observation: dict[str, np.ndarray]) -> np.ndarray:
        monkeypatch.setattr(Episode, "begin_due_skills", refuse)
        return stay(observation)

    policy = wrap_policy(act, env, name="stay")
    if corrected:
        record = run_correction(env, policy, TakeoverRule.parse("3"), "stay", 0)
    else:
        record = run_episode(env, policy, 0)
    assert_error(record, "The second skill does not fit.")


@pytest.mark.slow
def test_an_opening_that_a_later_object_does_not_have_costs_only_its_episode(root):
    cfg = config(root, "skill=open", "task.openness=[{object: object, part: drawer, range: [0.0, 9.0]}]")
    assets = load_assets(cfg, 0, None, np.random.default_rng(0))
    with pytest.raises(AssetError, match=r"range=\[0.0, 9.0\] exceeds the opening of 'drawer' of 'object' \(urdf "):
        with_derived_task(cfg, assets)


@pytest.mark.slow
def test_a_first_object_that_does_not_fit_is_refused_and_named(root):
    with pytest.raises(ConfigError) as caught:
        check_assets(config(root), number=1)
    assert MISFIT in caught.value.message
    with pytest.raises(ConfigError, match=r"'object' \(urdf drawer drawer\): skill=rotate does not fit part 'drawer'"):
        check_assets(config(root, "skill=rotate"))


def test_an_object_of_every_episode_that_does_not_fit_is_a_wrong_configuration(root):
    cfg = config(root, "skill=rotate")
    cfg.object = replace(cfg.object, instance="drawer", instances="random")
    with pytest.raises(ConfigError, match=r"^skill=rotate does not fit part 'drawer'"):
        with_derived_task(cfg, load_assets(cfg, 0, None, np.random.default_rng(0)))


@pytest.mark.slow
@pytest.mark.parametrize("main", [collect_main, evaluate_main], ids=["collect", "evaluate"])
def test_a_run_goes_on_after_an_object_that_does_not_fit(main, root, tmp_path, capsys):
    words = [f"object={root}", *CHOICE, "executor=serial", "pictures=0", f"out={tmp_path}/data", "episodes=3"]
    if main is evaluate_main:
        words += ["policy=random", "observation.keys=[robots.*]", "task.max_duration_s=1"]
    assert main(words) == 1  # one episode ended as `error`
    codes = [item.code for item in DataSet.open(tmp_path / "data").summaries()]
    assert [code == "error" for code in codes] == [False, True, False]
    capsys.readouterr()
    others = [word for word in words if not word.startswith(("skill=", "out="))]
    assert main([*others, "skill=closs", f"out={tmp_path}/other"]) == 2
    assert "Did you mean 'close'?" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
