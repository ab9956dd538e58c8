"""Randomized episodes: applied, recorded, replayed, applied again; and nothing of them outlives them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.integration.episodes import assert_success, assert_verified, run, same_bits
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.randomization.config import DistractorsCfg, RandomizationCfg, RuleCfg
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import ReplayMode, largest_deviation, replay_actions, replay_deviation, replay_record
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration

RULES = {
    "at reset": "{view: drawer, attribute: joint_friction, operation: scaling, "
    "distribution: {type: uniform, lower: 1.1, upper: 1.5}}",
    "every third step": "{view: franka_panda, attribute: joint_efforts, gate: on_interval, interval: 3, "
    "distribution: {type: normal, mean: 0.0, std: 0.2}}",
}
MOVED = (
    "{view: franka_panda, attribute: joint_positions, operation: additive, "
    "distribution: {type: uniform, lower: [-0.1,-0.1,-0.1,-0.1,-0.1,-0.1,-0.1,-0.01,-0.01], "
    "upper: [0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.0,0.0]}}",
    "{view: franka_panda, attribute: position, operation: additive, "
    "distribution: {type: uniform, lower: [-0.02,-0.02,0.0], upper: [0.02,0.02,0.02]}}",
    "{view: drawer, attribute: orientation, operation: additive, "
    "distribution: {type: uniform, lower: [0,0,-0.1], upper: [0,0,0.1]}}",
)


def config(*overrides: str, task: str = "open_drawer") -> CollectCfg:
    return load(task, *overrides)


def with_rules(*rules: str) -> CollectCfg:
    return config(f"randomization.rules=[{','.join(rules)}]")


@pytest.fixture(scope="module")
def plain(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    return episode("open_drawer")


@pytest.fixture(scope="module")
def record(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    return episode("open_drawer", f"randomization.rules=[{','.join(RULES.values())}]")


def test_applied_values_are_in_the_record(record: EpisodeRecord) -> None:
    assert_verified(record, with_rules(*RULES.values()))
    applied = record.applied
    assert [rule["attribute"] for rule in applied["rules"]] == ["joint_friction", "joint_efforts"]
    resets = [entry for entry in applied["firings"] if entry[1] == 0]
    pushes = [entry for entry in applied["firings"] if entry[1] == 1]
    assert [entry[0] for entry in resets] == [0]
    # a control step is a step, the reset is the first
    assert [entry[0] for entry in pushes] == list(range(3, 2 * record.n_actions + 1, 3))
    assert all(len(entry[2]) == 9 for entry in pushes)


@pytest.mark.slow
def test_a_catch_that_is_randomized_away_gives_another_episode_that_replays_exactly(plain: EpisodeRecord) -> None:
    rule = "{view: drawer, attribute: catch_efforts, operation: scaling, distribution: 0.0}"
    assert float(plain.layout["instances"]["drawer"]["parameters"]["drawer_catch_leave_n"]) >= 5.0
    with EpisodeRunner(with_rules(rule)) as runner:
        free = runner.run(0)
        assert replay_deviation(runner, free, ReplayMode.action).value == 0.0
    assert [entry[2] for entry in free.applied["firings"]] == [[0.0] * len(free.applied["firings"][0][2])]
    assert not same_bits(free, plain)


def test_the_layout_does_not_depend_on_what_is_randomized(record: EpisodeRecord, plain: EpisodeRecord) -> None:
    assert record.layout == plain.layout
    assert not same_bits(record, plain)


@pytest.mark.slow
def test_a_randomized_episode_is_replayed_exactly(record: EpisodeRecord) -> None:
    with EpisodeRunner(with_rules(*RULES.values())) as runner:
        deviation = replay_deviation(runner, record, ReplayMode.action)
        assert deviation.value == 0.0
        assert deviation.arrays > 20
        _, end = replay_actions(runner, record)
    assert largest_deviation({k: v[None] for k, v in end.items()}, {k: record.arrays[k][-1:] for k in end}).value == 0.0


@pytest.mark.slow
def test_a_replay_without_the_applied_values_differs(record: EpisodeRecord) -> None:
    with EpisodeRunner(config()) as runner:
        assert replay_deviation(runner, replace(record, applied={}), ReplayMode.action).value > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.heavy)])
def test_randomized_episodes_leave_the_world_unchanged(count: int) -> None:
    task = "close_drawer"  # of the shortest episodes
    full = config("randomization=full", task=task)
    first, plain = run(full, 12), run(config(task=task))
    with EpisodeRunner(full) as runner:
        for number in range(count):
            runner.run(number)
        again = runner.run(12)
        runner.cfg = config(task=task)
        unvaried = runner.run(0)
    assert same_bits(again, first)
    assert again.applied == first.applied
    assert same_bits(unvaried, plain)


@pytest.mark.slow
def test_the_planner_sees_arms_and_bodies_where_a_reset_puts_them(plain: EpisodeRecord) -> None:
    cfg = with_rules(*MOVED)
    with EpisodeRunner(cfg) as runner:
        made = runner.run(0)
        assert_success(made)
        assert replay_deviation(runner, made, ReplayMode.action).value == 0.0
    joints = "robots.franka_panda.left.joint_positions"
    targets = "actions.franka_panda.left.joint_targets"
    assert np.abs(made.arrays[joints][0] - plain.arrays[joints][0]).max() > 0.02
    # it stands where it was put until it is told to move
    assert np.array_equal(made.arrays[targets][0], made.arrays[joints][0])
    assert np.array_equal(made.layout["q_home"]["left"], made.arrays[joints][0])


@pytest.mark.slow
def test_a_recorded_set_is_applied_again(record: EpisodeRecord, tmp_path: Path) -> None:
    cfg = with_rules(*RULES.values())
    with DataSet.create_or_resume(tmp_path / "data", header=header_of(cfg), info={}) as data_set:
        data_set.write(record)
        folder = data_set.folder_of(0)
    for source in (f"{tmp_path / 'data'}:0", str(folder)):
        again = config(f"randomization.from='{source}'")
        assert same_bits(run(again), record)
        # another layout of the same drawer
        instance = record.layout["instances"]["drawer"]["instance"]
        other = run(config(f"randomization.from='{source}'", f"object.instance='{instance}'"), 1)
        assert other.success
        reset = [entry[2] for entry in record.applied["firings"] if entry[1] == 0]
        assert [entry[2] for entry in other.applied["firings"] if entry[1] == 0] == reset
    # the data set that is made then has the values itself
    kept = read_dataclass(RandomizationCfg, header_of(again)["config"]["randomization"], where="randomization")
    assert kept == again.randomization
    assert kept.recorded["firings"] == record.applied["firings"]


LAYERS = {
    "physics": RULES["at reset"] + "," + RULES["every third step"],
    "sensors": "{view: franka_panda, attribute: encoder_offset, distribution: {type: normal, mean: 0, std: 0.001}}, "
    "{view: drawer, attribute: seen_position, distribution: {type: normal, mean: 0, std: 0.003}}, "
    "{view: franka_panda, attribute: action_dropped, gate: on_interval, interval: 1, "
    "distribution: {type: choice, choices: [0, 1]}}",
    "visuals": "{view: drawer, attribute: tint, distribution: {type: uniform, lower: 0.5, upper: 1.3}}, "
    "{view: light, attribute: ambient, gate: on_interval, interval: 2, "
    "distribution: {type: uniform, lower: 0.3, upper: 0.9}}",
}
OTHERWISE = {
    "physics": "{view: franka_panda, attribute: body_masses, operation: scaling, "
    "distribution: {type: uniform, lower: 0.9, upper: 1.1}}, "
    "{view: simulation_context, attribute: gravity, operation: scaling, gate: on_interval, interval: 1, "
    "distribution: {type: normal, mean: 1, std: 0.01}}, " + RULES["every third step"].replace("3", "2"),
    "sensors": "{view: franka_panda, attribute: action_latency, distribution: {type: uniform, lower: 0, upper: 0.1}}, "
    "{view: drawer, attribute: seen_keypoints, gate: on_interval, interval: 1, "
    "distribution: {type: normal, mean: 0, std: 0.01}}",
    "visuals": "{view: floor, attribute: texture, distribution: {type: uniform, lower: 1, upper: 1000}}, "
    "{view: table, attribute: tint, gate: on_interval, interval: 1, "
    "distribution: {type: uniform, lower: 0.5, upper: 1.3}}",
}


def fired(runner: EpisodeRunner, layers: dict[str, str], distractors: DistractorsCfg) -> dict[str, list]:
    """What every layer wrote at the reset and in twelve control steps; nothing is simulated."""
    rules = [RuleCfg(**rule) for rule in yaml.safe_load(f"[{', '.join(filter(None, layers.values()))}]")]
    runner.cfg.randomization = RandomizationCfg(name="mine", rules=rules, distractors=distractors)
    episode = runner.episode(0)
    episode.reset()
    for _ in range(12):
        episode.randomization.step()
    applied = episode.randomization.applied()
    return {name: (applied if name == "physics" else applied.get(name, {})).get("firings", []) for name in LAYERS}


@pytest.mark.slow
def test_rules_of_one_stream_do_not_change_the_draws_of_the_others() -> None:
    with EpisodeRunner(config()) as runner:
        all_three = fired(runner, LAYERS, DistractorsCfg())
        assert all(len(firings) >= 5 for firings in all_three.values())
        for changed in LAYERS:
            for instead in (OTHERWISE[changed], ""):
                found = fired(runner, LAYERS | {changed: instead}, DistractorsCfg())
                assert found[changed] != all_three[changed]
                for other in LAYERS.keys() - {changed}:
                    assert found[other] == all_three[other], f"{other} after a change of {changed}"
        assert fired(runner, LAYERS, DistractorsCfg(least=3, most=6)) == all_three


def test_recorded_values_that_do_not_fit_are_refused(record: EpisodeRecord) -> None:
    firings = [[0, 0, [1.0, 2.0]]]
    odd = replace(record, applied={**record.applied, "firings": firings})
    with (
        EpisodeRunner(config()) as runner,
        pytest.raises(RecordingError, match=r"joint_friction .* has shape \(1, 2\)"),
    ):
        replay_record(runner, odd)


@pytest.mark.slow
def test_a_missing_or_unrandomized_episode_is_refused_as_a_source(
    record: EpisodeRecord, plain: EpisodeRecord, tmp_path: Path
) -> None:
    for name, made in (("varied", record), ("plain", plain)):
        with DataSet.create_or_resume(tmp_path / name, header=header_of(config()), info={}) as data_set:
            data_set.write(made)
    for source, message in (
        ("varied:7", r"Episode 7 is not in '.*varied'\. It has 1 episodes\. Name one of them\."),
        ("plain:0", "is an episode in which nothing was randomized. Name one that was made with a randomization."),
        ("varied", "is not an episode. Expected DATA:NUMBER, or the folder of an episode."),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            config(f"randomization.from='{tmp_path}/{source}'")
        assert caught.value.message.startswith(f"randomization.from='{tmp_path}/{source}'")


@pytest.mark.parametrize(
    ("rule", "values", "message"),
    [
        (
            {"view": "drawer", "attribute": "joint_friction", "distribution": 1.0},
            [1.0, 2.0],
            r"A firing of drawer\.joint_friction on_env_reset\(\) has shape \(1, 2\) for 1 members of 1 values\.",
        ),
        (
            {"view": "microwave", "attribute": "joint_friction", "distribution": 1.0},
            [1.0],
            r"its rules\[0\]\.view='microwave' is not a view of this episode\. Known: simulation_context, drawer, ",
        ),
    ],
)
def test_values_that_do_not_fit_stop_the_run_and_the_error_names_their_source(
    rule: dict, values: list[float], message: str
) -> None:
    cfg = config()
    cfg.randomization = RandomizationCfg(source="data:3", recorded={"rules": [rule], "firings": [[0, 0, values]]})
    advice = r"Name an episode of the same robot and objects, or keep the object the same by object\.instance\.$"
    with (
        EpisodeRunner(cfg) as runner,
        pytest.raises(ConfigError, match=rf"^randomization\.from='data:3' .* of drawer \d+: {message}.* {advice}"),
    ):
        runner.run(0)


def test_tendons_are_declared_in_the_configuration() -> None:
    cfg = config(
        "randomization.views=[{name: spring, body: drawer, tendons: [{joints: [drawer_slide], coefficients: [1.0]}]}]",
        "randomization.rules=[{view: spring, attribute: tendon_stiffnesses, distribution: 20.0}]",
    )
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        assert episode.cfg.object.name == "drawer"
        episode.begin()
        (rule,) = episode.randomization.applied()["rules"]
        assert rule["attribute"] == "tendon_stiffnesses"


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("light", marks=pytest.mark.heavy), "full"])
def test_a_group_stays_inside_what_the_design_allows(name: str) -> None:
    """Friction of hinges and slides, efforts within the data sheet, and the product of two frictions."""
    with EpisodeRunner(config(f"randomization={name}")) as runner:
        for number in range(20):
            episode = runner.episode(number)
            episode.reset()
            scene = episode.scene
            arm = scene.robot.arm(None)
            for joint, most in zip(arm.cfg.joints, arm.cfg.max_effort, strict=True):
                assert arm.drives.drives[joint].max_effort <= most
            item = scene.objects["drawer"]
            assert all(drive.friction >= 1.0 for drive in item.drives.drives.values())
            rows = {rule["view"] + "." + rule["attribute"]: entry for rule, entry in _resets(episode.randomization)}
            if "drawer.material_properties" in rows:
                fingers = np.reshape(rows["franka_panda.material_properties"], (-1, 3))[:, :2]
                products = np.outer(fingers, np.reshape(rows["drawer.material_properties"], (-1, 3))[:, :2])
                assert products.min() >= 0.3
                assert products.max() <= 1.2


def _resets(randomization: object) -> list[tuple[dict, list[float]]]:
    applied = randomization.applied()  # type: ignore[attr-defined]
    return [(applied["rules"][rule], values) for step, rule, values in applied["firings"] if step == 0]


SAID = re.compile(
    r"  (at reset|every (\d+) control steps \(([\d.]+) s\)): ([\w.]+) (\w+) (\w+)\((.*)\)( -> .*)? \[[^\[]*\]"
)


def test_the_listing_has_one_line_per_rule_with_its_time() -> None:
    """All that `unlatch plan randomization=full` prints of it."""
    with EpisodeRunner(config("randomization=full")) as runner:
        episode = runner.episode(0)
        episode.reset()
    made = episode.randomization
    title, *lines = made.lines()
    applied = made.applied()
    layers = [applied, applied["sensors"], applied["visuals"]]
    rules = [rule for layer in layers for rule in layer["rules"]]
    at_reset = [{rule: values for step, rule, values in layer["firings"] if step == 0} for layer in layers]
    wrote = [
        found.get(index) for layer, found in zip(layers, at_reset, strict=True) for index in range(len(layer["rules"]))
    ]
    assert title == f"randomization full: {len(rules)} rules"
    assert len(rules) >= 19
    counts = {key: len(applied["visuals"].get(key, ())) for key in ("distractors", "contents")}
    assert lines[len(rules) :] == [f"  {key}: {count}" for key, count in counts.items() if count]
    for line, rule, values in zip(lines[: len(rules)], rules, wrote, strict=True):
        said = SAID.fullmatch(line)
        assert said, line
        when, interval, seconds, what, operation, kind, parameters, became = said.groups()
        assert what == f"{rule['view']}.{rule['attribute']}"
        assert (operation, kind) == (rule["operation"], rule["distribution"]["type"])
        for name, value in rule["distribution"].items():
            assert name == "type" or f"{name} {value}" in parameters
        if rule["gate"] == "on_env_reset":
            assert when == "at reset"
            shown = ", ".join(f"{value:.4g}" for value in values[:6]) + (", ..." if len(values) > 6 else "")
            assert became.startswith(" -> [")
            assert became.endswith(f"] became [{shown}]")
        else:
            assert int(interval) == rule["interval"]
            assert float(seconds) == pytest.approx(rule["interval"] / 60, rel=0.01)
            assert (became, values) == (None, None)


# What planners are told and what lies between commands and motors: drawn, recorded, replayed, judged on the truth.

FRICTION = (
    "{view: drawer, attribute: joint_friction, operation: scaling, distribution: {type: uniform, lower: 1, upper: 1.5}}"
)
SIGNALS = (
    "{view: franka_panda, attribute: encoder_offset, distribution: {type: normal, mean: 0.0, std: 0.002}}",
    "{view: franka_panda, attribute: encoder_offset, operation: additive, gate: on_interval, interval: 1, "
    "distribution: {type: normal, mean: 0.0, std: 0.0003}}",
    "{view: franka_panda, attribute: action_latency, distribution: {type: uniform, lower: 0.02, upper: 0.05}}",
    "{view: franka_panda, attribute: action_dropped, gate: on_interval, interval: 1, "
    "distribution: {type: choice, choices: [0, 1], weights: [0.95, 0.05]}}",
)


def made(*overrides: str, rules: tuple[str, ...] = (FRICTION,)) -> EpisodeRecord:
    return run(config(f"randomization.rules=[{','.join(rules)}]", *overrides))


@pytest.fixture(scope="module")
def told_the_truth() -> EpisodeRecord:
    return made()


@pytest.mark.slow
def test_perception_noise_changes_the_plan_and_no_other_draw(told_the_truth: EpisodeRecord) -> None:
    record = made("randomization.perception.position_std_m=0.003", "randomization.perception.keypoint_std_m=0.001")
    assert_verified(record)
    assert record.layout == told_the_truth.layout
    assert record.applied["firings"] == told_the_truth.applied["firings"]
    applied = record.applied["sensors"]
    assert [rule["attribute"] for rule in applied["rules"]] == ["seen_position", "seen_keypoints"]
    (_, _, error), _ = applied["firings"]
    assert 0.0 < np.linalg.norm(error) < 0.02
    goals = [np.array(r.skills[0]["plan"]["keyframes"][-1]["p_base_ee"]) for r in (record, told_the_truth)]
    assert np.linalg.norm(goals[0] - goals[1]) > 1e-4
    # what is recorded of the object is the truth
    keys = [key for key in record.arrays if key.startswith(("keypoints.", "objects."))]
    assert all(np.array_equal(record.arrays[key][0], told_the_truth.arrays[key][0]) for key in keys)


@pytest.mark.slow
def test_the_planner_gets_the_perceived_opening(told_the_truth: EpisodeRecord) -> None:
    """A drawer that it takes for 20 mm further out is grasped 20 mm further out."""
    record = made(rules=(FRICTION, "{view: drawer, attribute: seen_joints, distribution: [0.02]}"))
    assert_verified(record)
    assert record.layout == told_the_truth.layout
    goals = []
    for found in (record, told_the_truth):
        plan = found.skills[0]["plan"]
        goals.append(np.array(plan["keyframes"][plan["contact_pose_index"]]["p_base_ee"]))
    assert np.linalg.norm(goals[0] - goals[1]) == pytest.approx(0.02, abs=2e-3)
    key = next(key for key in record.arrays if key.startswith("objects.") and key.endswith("joint_positions"))
    assert np.array_equal(record.arrays[key][0], told_the_truth.arrays[key][0])


@pytest.mark.slow
def test_success_is_judged_by_the_true_positions() -> None:
    """Told 15 cm beside the truth, the planner finds a way and the hand closes on nothing."""
    rule = "{view: drawer, attribute: seen_position, distribution: [0.0, 0.0, 0.15]}"
    record = made(rules=(rule,))
    assert record.skills[0]["plan"]["found"]
    assert not record.success
    assert record.code in ("grasp_missed", "collision", "motion_blocked")
    assert recompute_success(record).success is False


@pytest.mark.slow
def test_errors_of_encoders_and_commands_are_recorded_and_replayed_exactly(told_the_truth: EpisodeRecord) -> None:
    with EpisodeRunner(with_rules(FRICTION, *SIGNALS)) as runner:
        record = runner.run(0)
        deviation = replay_deviation(runner, record, ReplayMode.action)
    assert deviation.value == 0.0
    assert deviation.arrays > 20
    assert record.applied["firings"] == told_the_truth.applied["firings"]
    firings = record.applied["sensors"]["firings"]
    dropped = [values[0] for _, rule, values in firings if rule == 3]
    assert 0.01 < np.mean(dropped) < 0.12
    # at rest the joints stand beside their targets by what the encoders err
    offset = np.array(next(values for step, rule, values in firings if (step, rule) == (0, 0)))
    q, targets = (
        record.arrays[key]
        for key in ("robots.franka_panda.left.joint_positions", "actions.franka_panda.left.joint_targets")
    )
    assert np.abs(targets[0] - q[1] - offset).max() < 1.5e-3
    assert np.abs(offset).max() > 2e-3
