"""Contract checks of robots, sensors, skills, tasks, terms, generators and export formats for authors of plugins."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import check_episode
from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.checks import check_robot as check_limits
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.catalogs import EXPORTERS
from unlatch.simcore.errors import ConfigError, RecordingError, SkillError
from unlatch.simcore.geometry import Array, Pose, matrix_from_axis_angle
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Exporter, run_export
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.config import SENSORS, SensorCfg
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.solver.goal_solver import GoalSolver
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel, PlanningScene
from unlatch.solver.solution import row_excess
from unlatch.solver.term import Term, read_term
from unlatch.solver.term_kinds import COSTS, TERMS
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.judge import goal_failure
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.replay import ReplayMode, replay_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg, PlanCfg, PreviewCfg


def require(holds: bool, message: str) -> None:
    """Raises an AssertionError with the message unless a condition of a contract holds."""
    if not holds:
        raise AssertionError(message)


def begin_valid_episode(runner: EpisodeRunner, number: int) -> Episode:
    """Begins an episode, which must have a valid layout."""
    episode = runner.episode(number)
    episode.begin()
    task = episode.cfg.task.name
    require(episode.failure is None, f"Episode {number} of '{task}' has no valid layout: {episode.failure}")
    return episode


def require_success(records: Sequence[EpisodeRecord], task: str) -> None:
    """Raises an AssertionError with the reason of every failure unless an episode succeeded."""
    reasons = [f"{record.number}: {record.code}, {record.evidence.get('message')}" for record in records]
    succeeded = any(record.success for record in records)
    require(succeeded, f"None of {len(records)} episodes of '{task}' succeeded. {'; '.join(reasons)}")


_OPENINGS = 4
_SAME_M, _SAME_RAD = 1e-6, 1e-6
_WIDTH_M = 1e-3


def check_robot(name: str, *, task: str = "open_drawer", config_dirs: Sequence[str] = ()) -> None:
    """Checks the contract of a robot, by its model and in a world of its own.

    The robot has the name of its entry; its links and joints exist in the model; no limit exceeds the maker's; the home
    pose lies inside the limits and touches nothing; planner and engine have equal kinematics; the gripper opens by the
    width that is set.

    Args:
        name: Name of the robot.
        task: A task for the configuration.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such robot, or its configuration is wrong.
    """
    if name in ROBOTS.names():
        made: RobotCfg = ROBOTS.make(name)
        require(
            made.name == name,
            f"Robot '{name}' is made with the name '{made.name}'. Expected the name of its catalog entry.",
        )
    cfg = load_config("plan", PlanCfg, [f"task={task}", f"robot={name}"], config_dirs=config_dirs).cfg.robot
    try:
        check_limits(cfg, object_friction=OBJECT_FRICTION)
    except ConfigError as exc:
        raise AssertionError(exc.message) from exc
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        for arm in cfg.arms:
            _check_home(world, robot, arm)
            _check_kinematics(robot, arm)
            _check_gripper(robot, arm)


def _check_home(world: World, robot: Robot, cfg: ArmCfg) -> None:
    for joint, home, low, high in zip(cfg.joints, cfg.home, cfg.lower, cfg.upper, strict=True):
        require(low < home < high, f"Arm '{cfg.name}' has home={home} of {joint}, outside its limits {low} to {high}.")
    for arm in robot.arms.values():
        arm.reset(arm.cfg.home, gripper_m=arm.cfg.gripper.max_width_m)
    links = {*cfg.forbidden_links, *cfg.gripper.finger_links}
    monitor = ContactMonitor(world, robot.body)
    touching = monitor.add(ContactView("itself", lambda a, other, _: a in links and other == robot.cfg.name))
    world.step()
    monitor.sample()
    monitor.end_frame()
    force_n = float(np.max(touching.force_max_n.get_value() or 0.0))
    require(
        force_n == 0.0, f"Arm '{cfg.name}' touches its own robot at home, with {force_n:.1f} N. Choose another home."
    )


def _check_kinematics(robot: Robot, cfg: ArmCfg) -> None:
    arm = robot.arm(cfg.name)
    kinematics = Kinematics.from_urdf(model_path(robot.cfg), base_link=cfg.base_link, tip_link=cfg.ee_link)
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = np.asarray(rng.uniform(np.array(cfg.lower), np.array(cfg.upper)))
        arm.reset(q, gripper_m=0.0)
        planned = Pose.from_matrix(kinematics.fk(q))
        require(
            planned.is_close(arm.T_base_ee, atol_m=_SAME_M, atol_rad=_SAME_RAD),
            f"Arm '{cfg.name}' has its ee at {arm.T_base_ee} in the engine and at {planned} for the planner.",
        )


def _check_gripper(robot: Robot, cfg: ArmCfg) -> None:
    arm, gripper = robot.arm(cfg.name), cfg.gripper
    for width in np.linspace(gripper.opening_range()[0], gripper.max_width_m, _OPENINGS):
        arm.reset(cfg.home, gripper_m=float(width))
        opening = arm.gripper_opening_m
        require(
            abs(opening - width) <= _WIDTH_M,
            f"The gripper of '{cfg.name}' opens by {opening:.4f} m instead of the commanded {width:.4f} m.",
        )
        _check_pads(robot, cfg, float(width))


def _check_pads(robot: Robot, cfg: ArmCfg, width_m: float) -> None:
    """Checks that the fingers lie on both sides of `tool_head`."""
    T_ee_world = robot.body.link_pose(cfg.ee_link).inverse()
    head, side = np.array(cfg.keypoints["tool_head"]), np.array(cfg.keypoints["tool_side"])
    across = (side - head) / np.linalg.norm(side - head)
    places = {
        link: float((T_ee_world @ robot.body.link_aabb(link).mean(axis=0) - head) @ across)
        for link in cfg.gripper.finger_links
    }
    require(
        min(places.values()) < 0.0 < max(places.values()),
        f"All finger links of '{cfg.name}' lie to one side of tool_head at an opening of {width_m:.3f} m: "
        f"{', '.join(f'{link} {place:.3f}' for link, place in places.items())} m towards tool_side. Mend the "
        "keypoints or gripper.finger_links.",
    )


_Frames = list[dict[str, Array]]


def check_sensor(
    entry: str | Mapping[str, Any], *, task: str = "open_drawer", frames: int = 10, config_dirs: Sequence[str] = ()
) -> None:
    """Checks the contract of a sensor, in an episode in which the robot stands still.

    Its type is listed and its entry is read as its `cfg_type`; its values exist from the first state on and keep shape
    and type; the same episode gives the same readings; reading changes nothing: all other values are recorded exactly
    as without the sensor; a state that is written back gives the recorded readings.

    Args:
        entry: Name of a YAML file of the group `sensor`, or an entry of `sensors` with its `type`.
        task: A task whose scene is used.
        frames: How many frames are recorded.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such sensor, or its entry is wrong.
    """
    named = [f"sensors=[{entry}]"] if isinstance(entry, str) else []
    cfg = load_config("plan", PlanCfg, [f"task={task}", *named], config_dirs=config_dirs).cfg
    if not isinstance(entry, str):
        kind = entry.get("type")
        require(kind is None or kind in SENSORS.names(), f"Sensor type '{kind}' is not listed. Is it installed?")
        cfg_type = SensorCfg if kind is None else SENSORS.load(str(kind)).cfg_type
        cfg.sensors = [read_dataclass(cfg_type, entry, where="sensors[0]")]  # raises if the type is missing
        check_episode(cfg)
    try:
        _check_episodes(cfg, frames)
    except RecordingError as exc:  # a state that cannot be recorded breaks the contract
        raise AssertionError(exc.message) from exc
    except SkillError as exc:  # no skill runs: it is the sensor that moved something
        names = ", ".join(exc.values["changed"])
        raise AssertionError(f"Sensor '{cfg.sensors[0].name}' moves {names}. A sensor must only read.") from exc


def _check_episodes(cfg: PlanCfg, frames: int) -> None:
    (sensor,) = cfg.sensors
    with EpisodeRunner(cfg) as runner:
        readings, others = _record_frames(runner, sensor.name, frames)
        again, _ = _record_frames(runner, sensor.name, frames)
        _check_readings(sensor.name, readings, again)
        _check_written_back(runner, sensor.name)
    with EpisodeRunner(replace(cfg, sensors=[])) as runner:
        _, without = _record_frames(runner, sensor.name, frames)
    for number, (state, bare) in enumerate(zip(others, without, strict=True)):
        for key, value in bare.items():
            require(
                np.array_equal(state[key], value, equal_nan=value.dtype.kind == "f"),
                f"Sensor '{sensor.name}' changes '{key}' in state {number}. A sensor must only read.",
            )


def _record_frames(runner: EpisodeRunner, name: str, frames: int) -> tuple[_Frames, _Frames]:
    """Returns the values of the sensor in every state, and all other values."""
    episode = begin_valid_episode(runner, 0)
    mounted = episode.scene.state_tree.sensors.children.get(name)  # None in the episode without the sensor
    for key, buffer in () if mounted is None else mounted.named_buffers():
        require(
            buffer.get_value() is not None or bool(buffer.tags & set(NOT_RECORDED)),
            f"'{key}' of sensor '{name}' has no value in the first state. Fill it in _measure, or tag it as not "
            "recorded.",
        )
    mine = f"sensors.{name}."
    readings, others = [], []
    for frame in range(frames + 1):
        if frame:
            episode.frames.advance(episode.frames.idle_actions())
            episode.frames.record_state()
        state = {k: np.array(v) for k, v in episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED).items()}
        readings.append({key.removeprefix(mine): value for key, value in state.items() if key.startswith(mine)})
        others.append({key: value for key, value in state.items() if not key.startswith(mine)})
    return readings, others


def _check_readings(name: str, readings: _Frames, again: _Frames) -> None:
    first = readings[0]
    for number, (state, second) in enumerate(zip(readings, again, strict=True)):
        require(
            state.keys() == first.keys(),
            f"Sensor '{name}' records {sorted(state)} in state {number}, and {sorted(first)} in the first.",
        )
        for key, value in state.items():
            form, wanted = (value.shape, value.dtype), (first[key].shape, first[key].dtype)
            require(
                form == wanted, f"'{key}' of sensor '{name}' is {form} in state {number}, and {wanted} in the first."
            )
            require(
                np.array_equal(value, second[key], equal_nan=value.dtype.kind == "f"),
                f"'{key}' of sensor '{name}' in state {number} differs when the episode is made again.",
            )


def _check_written_back(runner: EpisodeRunner, name: str) -> None:
    scene = begin_valid_episode(runner, 0).scene.state_tree
    before = {key: np.array(value) for key, value in scene.state_dict(exclude_tags=NOT_RECORDED).items()}
    scene.load_state_dict(before)
    scene.write_replay_data()
    scene.update_state()
    after = scene.state_dict(exclude_tags=NOT_RECORDED)
    for key, value in before.items():
        if key.startswith(f"sensors.{name}."):
            is_float = value.dtype.kind == "f"
            equal = (
                np.allclose(after[key], value, atol=1e-6, equal_nan=True)
                if is_float
                else np.array_equal(after[key], value)
            )
            require(
                equal,
                f"'{key}' reads {after[key]} after the recorded state is written back. The record has {value}.",
            )


class SkillReport(NamedTuple):
    """The result of `check_skill`."""

    records: list[EpisodeRecord]
    """The episodes, in order."""

    @property
    def successes(self) -> int:
        """Number of episodes that succeeded."""
        return sum(record.success for record in self.records)


def check_skill(
    name: str, task: str, *, episodes: int = 2, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()
) -> SkillReport:
    """Makes episodes of a task and checks the contract of a skill.

    The skill is listed; it refuses to start without a plan; planning changes nothing in the scene; an episode that is
    made twice is the same; its record is complete and states what the configuration and the skill say, its verdict is
    recomputed, and a replay of its actions gives its states. At least one episode succeeds.

    Args:
        name: Name of the skill.
        task: Name of a task whose chain contains it.
        episodes: How many are made, from number 0.
        overrides: Further values, as on the command line: `robot=xarm6`.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such task, or its configuration is wrong.
    """
    cfg = load_config("collect", CollectCfg, [f"task={task}", *overrides], config_dirs=config_dirs).cfg
    require(name in SKILLS.names(), f"Skill '{name}' is not listed. Is its package installed?")
    entries = [entry for entry in cfg.skills if entry.name == name]
    require(bool(entries), f"Task '{task}' has no entry of skill '{name}'.")
    kind = SKILLS.load(name)
    require(type(entries[0]) is kind.cfg_type, f"An entry of '{name}' is read as {type(entries[0]).__name__}.")
    records = []
    with EpisodeRunner(cfg) as runner:
        if kind.executes:
            _check_plan(runner, name)
        for number in range(episodes):
            records.append(_make_checked_episode(runner, number, CriteriaSource(cfg)))
    require_success(records, task)
    return SkillReport(records)


def _check_plan(runner: EpisodeRunner, name: str) -> None:
    """Checks that a skill without a plan does not start, and that planning moves nothing."""
    episode = begin_valid_episode(runner, 0)
    index = next(i for i, entry in enumerate(episode.cfg.skills) if SKILLS.load(entry.name).executes)
    if episode.cfg.skills[index].name == name:
        skill = episode.planner.make_skill(episode.planner.strategies(index)[0])
        try:
            skill.start()
        except SkillError:
            pass
        else:
            raise AssertionError(f"Skill '{name}' starts without a plan.")
        before = episode.scene.world.signature()
        Attempt(episode).plan(index)
        require(episode.scene.world.signature() == before, f"Planning '{name}' moves something in the scene.")


def _make_checked_episode(runner: EpisodeRunner, number: int, source: CriteriaSource) -> EpisodeRecord:
    record, again = runner.run(number), runner.run(number)
    trace = record.evidence.get("traceback", "")
    require(record.code != "error", f"Episode {number} ended with an error: {record.evidence.get('message')}\n{trace}")
    for key, array in record.arrays.items():
        require(np.array_equal(array, again.arrays[key]), f"Episode {number} made twice differs in '{key}'.")
    problems = check_record(record, source.derive)
    require(not problems, f"The record of episode {number}: {'; '.join(problems)}")
    deviation = replay_deviation(runner, record, ReplayMode.action)
    require(deviation.value == 0.0, f"The actions of episode {number} do not reproduce its states: {deviation}")
    return record


_LEAST_PHRASINGS = 3


def check_task(
    name: str, *, layouts: int = 2, episodes: int = 0, overrides: Sequence[str] = (), config_dirs: Sequence[str] = ()
) -> None:
    """Checks the contract of a task from a YAML file or a function.

    The task composes for every command, has the name by which it is chosen, a summary and at least three phrasings; its
    objects have the parts that it names; its layouts are valid; the goal does not hold at the start. If `episodes` is
    given, at least one episode succeeds.

    Args:
        name: Name of the task.
        layouts: How many are drawn.
        episodes: How many are made.
        overrides: Further values, as on the command line: `robot=xarm6`.
        config_dirs: Folders of further YAML files.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: There is no such task, or its configuration is wrong.
    """
    line = [f"task={name}", *overrides]
    load_config("plan", PlanCfg, line, config_dirs=config_dirs)
    load_config("preview", PreviewCfg, line, config_dirs=config_dirs)
    cfg = load_config("collect", CollectCfg, line, config_dirs=config_dirs).cfg
    require(cfg.task.name == name, f"Task '{name}' has task.name='{cfg.task.name}'. Expected '{name}'.")
    require(bool(cfg.task.summary), f"Task '{name}' has no task.summary, which `unlatch list tasks` shows.")
    n_phrasings = len(set(cfg.task.language))
    require(
        n_phrasings >= _LEAST_PHRASINGS,
        f"Task '{name}' has {n_phrasings} phrasings in task.language. Expected at least {_LEAST_PHRASINGS}.",
    )
    check_assets(cfg, number=0)
    with EpisodeRunner(cfg) as runner:
        for number in range(layouts):
            _check_layout(runner, name, number)
        records = [runner.run(number) for number in range(episodes)]
    if records:
        require_success(records, name)


def _check_layout(runner: EpisodeRunner, name: str, number: int) -> None:
    episode = begin_valid_episode(runner, number)
    goal = episode.judge.goal
    missing = goal_failure("not_reached", goal.conditions, goal.positions, goal.positions, 0.0)
    require(
        missing is not None, f"The goal of '{name}' holds at the start of episode {number}, before anything is done."
    )


_POSES = 8
_UNITS = ("m", "rad")
_SLACK = 1e-5


def check_term(entry: Mapping[str, Any], *, task: str = "open_microwave") -> None:
    """Checks the contract of a term with an entry that can be satisfied.

    Its type is the name of its entry point; its fields are read, and an unknown field is refused; it lists the
    keypoints of its fields; its row depends on fields, hand and scene alone and has finite values. For a constraint,
    the solver finds joints that satisfy it, and its own value there is within the tolerance.

    Args:
        entry: As in `constraint_list` or `cost_list`, with its `type`.
        task: A task whose first skill gives arm and part.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: The entry is wrong.
    """
    name = str(entry.get("type"))
    catalog = COSTS if name in COSTS.names() else TERMS
    require(name in catalog.names(), f"Term '{name}' is not listed. Is its package installed?")
    cls: type[Term] = catalog.load(name)
    require(name == cls.TYPE, f"Term '{name}' has TYPE='{cls.TYPE}'. Expected the name of its entry point.")
    term = read_term(cls, entry, where="entry")
    with suppress(ConfigError):
        read_term(cls, {**entry, "not_a_field": 1}, where="entry")
        raise AssertionError(f"Term '{cls.TYPE}' accepts an entry with the unknown field 'not_a_field'.")
    for what, names in (("tool_names", term.tool_names()), ("object_names", term.object_names())):
        for field, value in names.items():
            stated = entry.get(field)
            text = f"Term '{name}' says in {what} that its field '{field}' is '{value}', the entry has {stated!r}."
            require(stated == value, text)
    with EpisodeRunner(load_config("plan", PlanCfg, [f"task={task}"]).cfg) as runner:
        episode = runner.episode(0)
        episode.begin()
        index = next(i for i, item in enumerate(episode.cfg.skills) if item.name != "artpreplan")
        skill = episode.planner.make_skill(episode.planner.strategies(index)[0])
        if not isinstance(skill, ArticulationSkill):
            raise ConfigError(f"task={task}: its first skill acts on no part. Expected one that does. Name another.")
        request = skill.request()
    _check_row(term, request.arm, request.scene)
    if catalog is TERMS:
        _check_solved(term, request.arm, request.scene)


def _check_row(term: Term, arm: ArmModel, scene: PlanningScene) -> None:
    row, again = term.row(arm.tool_keypoints, scene), term.row(arm.tool_keypoints, scene)
    require(row.unit in _UNITS, f"The row of term '{term.TYPE}' is in '{row.unit}'. Expected one of {_UNITS}.")
    rng = np.random.default_rng(0)
    for _ in range(_POSES):
        R, p = matrix_from_axis_angle(rng.normal(size=3), rng.uniform(0.1, 3.0)), rng.uniform(-0.5, 0.5, 3)
        value, second = float(row.value(R, p)), float(again.value(R, p))
        require(np.isfinite(value), f"Term '{term.TYPE}' has the value {value} at the hand's pose {R.tolist()}, {p}.")
        require(value == second, f"Term '{term.TYPE}' has the value {value}, and {second} when it is computed again.")


def _check_solved(term: Term, arm: ArmModel, scene: PlanningScene) -> None:
    solution = GoalSolver(arm).solve([term], scene, q_reference=arm.q_home)
    require(
        solution.found,
        f"No joints are found at which term '{term.TYPE}' holds: {solution}. Give an entry that can be met, or mend "
        "its row.",
    )
    R, p = arm.kinematics.fk_batch(solution.q[None])
    tool = dict(arm.tool_variants())[solution.tool_variant]
    out = float(row_excess([term.row(tool, scene)], R, p).max())
    require(out <= _SLACK, f"Term '{term.TYPE}' misses its tolerance by {out:.2g} at the joints that the solver found.")


def check_object(category: str, *, seeds: int = 3) -> None:
    """Checks the contract of a generator: each seed gives another object, and the same seed the same object.

    The object has a size, and the openness of each part lies within the limits of its joint.

    Args:
        category: Name of the generator.
        seeds: How many objects are made, from seed 0.

    Raises:
        AssertionError: A condition is broken; the message names it.
    """
    generate = GENERATORS.load(category)
    made = [generate(seed) for seed in range(seeds)]
    for seed, item in enumerate(made):
        again = generate(seed)
        require(
            again.parameters == item.parameters, f"'{category}' of seed {seed} gives another object the second time."
        )
        require(item.articulation.category == category, f"'{category}' is annotated as '{item.articulation.category}'.")
        low, high = item.bounds_obj
        require(bool(np.all(high > low)), f"'{category}' of seed {seed} has no size: {low} to {high}.")
        for part in item.articulation.parts.values():
            joint = item.model.joints[part.joint]
            for end in (part.openness.closed, part.openness.open):
                require(
                    joint.lower - 1e-9 <= end <= joint.upper + 1e-9,
                    f"'{category}' of seed {seed}: openness {end} of part '{part.name}' is outside the limits "
                    f"{joint.lower} to {joint.upper} of its joint.",
                )
    require(seeds < 2 or made[0].parameters != made[1].parameters, f"Seeds 0 and 1 of '{category}' are the same.")


_MAX_ATTEMPTS = 10


def check_exporter(name: str, *, data: str | Path | None = None, keys: Mapping[str, Any] | None = None) -> None:
    """Checks the contract of an export format.

    The format is listed and its keys are read; it exports every episode; two exports have equal files; the data set
    stays unchanged; an interrupted export leaves no target; the same command on an existing target adds nothing or is
    refused, and the target stays unchanged.

    Args:
        name: Name of the format.
        data: A data set with two successes; None = two episodes of `close_drawer` are made in a few seconds.
        keys: Keys of the format, as for `unlatch export`.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: A key is wrong.
        RecordingError: The data set cannot be read.
    """
    require(name in EXPORTERS.names(), f"Format '{name}' is not listed. Is its package installed?")
    cls: type[Exporter] = EXPORTERS.load(name)
    require(issubclass(cls.cfg_type, ExportCfg), f"cfg_type of format '{name}' is no ExportCfg: {cls.cfg_type}.")
    cfg = read_dataclass(cls.cfg_type, dict(keys or {}), where="")
    with TemporaryDirectory(prefix="unlatch-export-") as scratch:
        folder = Path(scratch)
        data_set = make_successes(folder / "data") if data is None else DataSet.open(data)
        _check_exports(name, cls, cfg, data_set, folder)


def _check_exports(name: str, cls: type[Exporter], cfg: ExportCfg, data_set: DataSet, folder: Path) -> None:
    before = _file_digests(data_set.path)
    targets = [folder / f"{place}{cls.suffix}" for place in ("first", "second", "broken")]
    reports = [run_export(cls(ExportSource(data_set, cfg), cfg), target) for target in targets[:2]]
    wanted = len(ExportSource(data_set, cfg).numbers)
    require(wanted > 0, f"Data set '{data_set.path}' has no episode that would be exported.")
    require(reports[0].taken == wanted, f"Format '{name}' took {reports[0].taken} of {wanted} episodes.")
    first, second = _file_digests(targets[0]), _file_digests(targets[1])
    require(bool(first), f"Format '{name}' wrote nothing to {targets[0].name}.")
    differing = sorted(key for key in {*first, *second} if first.get(key) != second.get(key))
    require(not differing, f"Format '{name}' wrote {', '.join(differing)} differently the second time.")
    _check_interruption(name, cls, cfg, data_set, targets[2])
    try:
        again = run_export(cls(ExportSource(data_set, cfg), cfg), targets[0])
    except RecordingError:
        pass  # this format does not extend a target
    else:
        require(again.taken == 0, f"Format '{name}' took {again.taken} episodes that its target had already.")
    require(_file_digests(targets[0]) == first, f"The same command again changed what format '{name}' had written.")
    require(_file_digests(data_set.path) == before, f"Format '{name}' changed the data set that it exports.")


class _InterruptedError(Exception):
    pass


def _check_interruption(name: str, cls: type[Exporter], cfg: ExportCfg, data_set: DataSet, target: Path) -> None:
    def stop(_done: int, _of: int) -> None:
        raise _InterruptedError

    try:
        run_export(cls(ExportSource(data_set, cfg), cfg), target, on_episode=stop)
    except _InterruptedError:
        pass
    else:
        raise AssertionError(f"Format '{name}' ignores an error while its episodes are read, or does not read them.")
    require(not target.exists(), f"Format '{name}' left {target.name} behind after an interruption.")


def make_successes(path: Path) -> DataSet:
    """Makes a data set with two successes in a folder."""
    cfg = load_config("collect", CollectCfg, ("task=close_drawer", "seed=1")).cfg
    with EpisodeRunner(cfg) as runner, DataSet.create_or_resume(path, header=header_of(cfg)) as data_set:
        found = 0
        for number in range(_MAX_ATTEMPTS):
            record = runner.run(number)
            data_set.write(record)
            found += record.success
            if found == 2:
                break
    return DataSet.open(path)


def _file_digests(path: Path) -> dict[str, str]:
    """Returns the digests of the files in a folder, or of one file, by relative path."""
    files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()
    }
