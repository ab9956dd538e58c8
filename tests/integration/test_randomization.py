"""Randomized episodes: applied, recorded, replayed, applied again; and nothing of them outlives them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import yaml

from tests.integration.episodes import assert_success, assert_verified, run, same_bits
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.config import DistractorsCfg, RandomizationCfg, RuleCfg
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import ReplayMode, largest_deviation, replay_actions, replay_deviation
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


def test_applied_values_are_in_the_record_and_its_layout_does_not_depend_on_them(record, plain):
    assert record.layout == plain.layout
    assert not same_bits(record, plain)
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
def test_a_randomized_episode_is_replayed_exactly(record):
    with EpisodeRunner(with_rules(*RULES.values())) as runner:
        deviation = replay_deviation(runner, record, ReplayMode.action)
        assert deviation.value == 0.0
        assert deviation.arrays > 20
        _, end = replay_actions(runner, record)
    assert largest_deviation({k: v[None] for k, v in end.items()}, {k: record.arrays[k][-1:] for k in end}).value == 0.0


@pytest.mark.slow
def test_randomized_episodes_leave_the_world_unchanged():
    task = "close_drawer"  # of the shortest episodes
    full = config("randomization=full", task=task)
    first, plain = run(full, 12), run(config(task=task))
    with EpisodeRunner(full) as runner:
        for number in range(2):
            runner.run(number)
        again = runner.run(12)
        runner.cfg = config(task=task)
        unvaried = runner.run(0)
    assert same_bits(again, first)
    assert again.applied == first.applied
    assert same_bits(unvaried, plain)


@pytest.mark.slow
def test_the_planner_sees_arms_and_bodies_where_a_reset_puts_them(plain):
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
def test_a_recorded_set_is_applied_again(record, tmp_path):
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
def test_rules_of_one_stream_do_not_change_the_draws_of_the_others():
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


def test_values_that_do_not_fit_stop_the_run_and_the_error_names_their_source():
    cfg, rule = config(), {"view": "drawer", "attribute": "joint_friction", "distribution": 1.0}
    cfg.randomization = RandomizationCfg(source="data:3", recorded={"rules": [rule], "firings": [[0, 0, [1.0, 2.0]]]})
    message = r"A firing of drawer\.joint_friction on_env_reset\(\) has shape \(1, 2\) for 1 members of 1 values\."
    advice = r"Name an episode of the same robot and objects, or keep the object the same by object\.instance\.$"
    with (
        EpisodeRunner(cfg) as runner,
        pytest.raises(ConfigError, match=rf"^randomization\.from='data:3' .* of drawer \d+: {message}.* {advice}"),
    ):
        runner.run(0)


@pytest.mark.slow
def test_the_full_group_stays_inside_what_the_design_allows():
    """Friction of hinges and slides, efforts within the data sheet, and the product of two frictions."""
    with EpisodeRunner(config("randomization=full")) as runner:
        for number in range(10):
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
def test_perception_noise_changes_the_plan_and_no_other_draw(told_the_truth):
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
def test_the_planner_gets_the_perceived_opening(told_the_truth):
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
def test_success_is_judged_by_the_true_positions():
    """Told 15 cm beside the truth, the planner finds a way and the hand closes on nothing."""
    rule = "{view: drawer, attribute: seen_position, distribution: [0.0, 0.0, 0.15]}"
    record = made(rules=(rule,))
    assert record.skills[0]["plan"]["found"]
    assert not record.success
    assert record.code in ("grasp_missed", "collision", "motion_blocked")
    assert recompute_success(record).success is False


@pytest.mark.slow
def test_errors_of_encoders_and_commands_are_recorded_and_replayed_exactly(told_the_truth):
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


def test_tendons_are_declared_in_the_configuration():
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
