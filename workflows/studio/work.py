"""What a worker process of the page does: it composes, draws, plans and runs, and keeps what the next job needs."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from omegaconf import OmegaConf
from PIL import Image

from unlatch.configs.composition import Request, compose_config
from unlatch.configs.dataclass_reader import entry_keys
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import PartKind
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.state import Rendering
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.commands import ManipKind
from unlatch.skills.config import SkillCfg, stages_of
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.mechanism_steps import explain_held
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.setting import SuccessMode
from unlatch.solver.term import Term
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.chain_planner import PlannedSkill
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.layout_search import LayoutSearch
from unlatch.workflows.episode.layout_search_report import LayoutCandidate
from unlatch.workflows.episode.visual_views import cameras
from unlatch.workflows.runs.loading import LoadedConfig, load_config
from unlatch.workflows.runs.plan import plan_of_skill
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.studio import jobs
from unlatch.workflows.studio.document import read_tree
from unlatch.workflows.studio.page_state import units_of, words_of_layout, words_of_success
from unlatch.workflows.viewing.phase_moments import with_what_frees
from unlatch.workflows.viewing.recorded_scene import load_assets
from unlatch.workflows.viewing.scene_picture import open_record


@dataclass(frozen=True)
class _Stage:
    """Skills that begin together, as they were planned."""

    indices: tuple[int, ...]
    planned: tuple[PlannedSkill, ...]
    state: Mapping[str, jobs.Array]
    """State of the scene in which they were planned, by the key of the record."""
    bases: tuple[Pose, ...]
    """Pose of the base of each skill's arm in the world frame."""


class ChainPlans:
    """Keeps what is planned for an episode; a search for a layout plans the chain before the episode begins."""

    def __init__(self, runner: EpisodeRunner, number: int) -> None:
        """Makes an episode, which has not begun, and listens to its search for a layout."""
        self._stages: dict[int, dict[tuple[int, ...], _Stage]] = {}
        """By layout, then by the indices of the skills."""
        self._stated = runner.cfg.skills
        self.episode = runner.episode(number, replace(runner.options, on_planned=self._keep))
        """The episode."""

    def _keep(self, episode: Episode, layout: int, indices: Sequence[int], planned: Sequence[PlannedSkill]) -> None:
        state = episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED)
        bases = tuple(skill.context.arm.T_world_base for skill, _ in planned)
        stage = _Stage(tuple(indices), tuple(planned), state, bases)
        self._stages.setdefault(layout, {})[stage.indices] = stage

    def plan(self) -> tuple[list[jobs.ShownPlan], list[Mapping[str, jobs.Array]]]:
        """Plans what the search has not planned.

        Returns:
            The plans, up to the first skill without one, and the state at the beginning of each stage.
        """
        episode = self.episode
        stages = self._searched_stages() if episode.planner.layout_search is not None else []
        report = episode.planner.layout_search
        if episode.failure is None and (len(stages) < 2 or report is None or not report.at_first_look):
            # the episode plans its last skill, and after a second search all skills, with the full budget
            stages = [self._plan_first(), *stages[1:]]
            if report is None:
                stages += self._plan_others(stages[0])
        keys = entry_keys(self._stated, episode.cfg.robot.name)
        served = _served_entries(self._stated, episode.cfg.skills)
        # what frees a part has no entry of its own in the text
        plans = [
            replace(_shown_plan(planned, keys[served[index]] if index in served else "", T_world_base), stage=number)
            for number, stage in enumerate(stages)
            for index, planned, T_world_base in zip(stage.indices, stage.planned, stage.bases, strict=False)
        ]
        return plans, [stage.state for stage in stages]

    def _searched_stages(self) -> list[_Stage]:
        """Returns the stages of the chosen layout, or of the last one that was refused."""
        report = self.episode.planner.layout_search
        if report is None:
            return []
        number = report.chosen.number if report.chosen is not None else int(report.failures[-1]["candidate"])
        return list(self._stages.get(number, {}).values())

    def _plan_first(self) -> _Stage:
        """Plans the skills that begin first, as the episode does."""
        episode = self.episode
        skills = Attempt(episode).plan_stage()
        runs = {id(run.skill): run for run in episode.judge.runs}
        return _Stage(
            tuple(runs[id(skill)].chain_index for skill in skills),
            tuple(PlannedSkill(skill, runs[id(skill)].refused) for skill in skills),
            episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED),
            tuple(skill.context.arm.T_world_base for skill in skills),
        )

    def _plan_others(self, first: _Stage) -> list[_Stage]:
        """Plans the later skills of a chain without a search."""
        episode = self.episode
        if len(first.indices) == len(episode.cfg.skills) or not all(skill.commands for skill, _ in first.planned):
            return []
        self._stages.clear()
        walk = LayoutSearch(
            episode.planner,
            LayoutSearchCfg(name="artpreplan"),
            draw=lambda: episode.planner.layout,
            build=lambda _: None,
            on_planned=partial(self._keep, episode),
        )
        walk.plan_chain(LayoutCandidate(0, episode.planner.layout), episode.planner.budget)
        return list(self._stages.get(0, {}).values())[1:]


def _shown_plan(planned: PlannedSkill, key: str, T_world_base: Pose) -> jobs.ShownPlan:
    skill, refused = planned
    made = plan_of_skill(skill)
    plan, context = skill.keyframe_plan, skill.context
    item = context.objects.get(skill.cfg.objects[0])
    moved = skill.part if isinstance(skill, ArticulationSkill) and item is not None else None
    evidence = {} if plan is None or plan.diagnosis is None else plan.diagnosis.evidence
    solution = None if plan is None else plan.solution
    return jobs.ShownPlan(
        arm=context.arm.name,
        skill=skill.cfg.name,
        key=key,
        object=skill.cfg.objects[0],
        part=skill.cfg.part if moved is None else moved.name,
        joint=None if moved is None else moved.joint,
        strategy=skill.cfg.strategy,
        found=made.found,
        code=made.code or "",
        message=made.message,
        lines=tuple(made.lines()),
        residuals=() if solution is None else tuple(asdict(each) for each in solution.residuals),
        contradictions=tuple(evidence.get("contradictions", ())),
        remedies=tuple(evidence.get("relaxations", ())),
        refused=tuple(refused),
        timings_ms={} if plan is None else plan.timings_ms,
        compromise=None if made.found or solution is None else solution.configuration,
        keyframes=tuple(
            jobs.ShownKeyframe(each.label, np.asarray(each.q), each.s, (T_world_base @ each.T_base_ee).p)
            for each in ([] if plan is None else plan.keyframes)
        ),
        segments=() if plan is None else tuple(_shown_segments(planned, plan, T_world_base)),
        carried=_shown_carry(planned),
    )


def _shown_carry(planned: PlannedSkill) -> jobs.ShownCarry | None:
    """Returns what the hand carries, and in which frames of the plan's motion."""
    frame, first, last, name = 0, 0, None, ""
    for command in planned.skill.commands:
        if command.kind is ManipKind.attach_obj:
            first, name = frame, str(command.params["object"])
        elif command.kind is ManipKind.detach_obj:
            last, name = frame, str(command.params["object"])
        frame += 0 if command.motion is None else len(command.motion)
    return jobs.ShownCarry(name, first, frame if last is None else last) if name else None


def _shown_segments(planned: PlannedSkill, plan: KeyframePlan, T_world_base: Pose) -> Iterator[jobs.ShownSegment]:
    model = planned.skill.context.arm_model
    tip = model.tool_keypoints.get("tool_head", np.zeros(3))
    for segment in plan.segments:
        R, p = model.kinematics.fk_batch(np.asarray(segment.q))  # (T, 3, 3), (T, 3)
        path: jobs.Array = (R @ tip + p) @ T_world_base.R.T + T_world_base.p  # (T, 3)
        yield jobs.ShownSegment(segment.kind, np.asarray(segment.q), segment.s, path)


_COMMAND = "plan"
"""The command whose YAML file the task is composed with."""


class StudioWork:
    """Does the jobs of one worker process, one after the other."""

    def __init__(self) -> None:
        self._loaded: tuple[jobs.TaskText, LoadedConfig[PlanCfg]] | None = None
        self._bases: dict[str, Mapping[str, Any]] = {}
        """Configurations without the file's own values, by defaults list."""
        self._checked: tuple[str, jobs.JobProblem | None] | None = None
        """The text that was checked last, and what is wrong with it."""
        self._methods: dict[str, Callable[[jobs.StudioJob, LoadedConfig[PlanCfg]], Any]] = {
            jobs.SCENE: self._draw_scene,
            jobs.CHECK: self._check,
            jobs.PLAN: _plan,
            jobs.RUN: _run,
            jobs.REACH: _try_place,
            jobs.VIEW: _look,
        }

    def do(self, job: jobs.StudioJob) -> Any:
        """Does a job and returns its answer; a mistake of the user is an answer, too."""
        try:
            return self._methods[job.kind](job, self._load(job.task))
        except UnlatchError as exc:
            return _problem_of(exc)

    def _load(self, task: jobs.TaskText) -> LoadedConfig[PlanCfg]:
        same = self._loaded is not None and replace(self._loaded[0], episode=task.episode) == task
        if self._loaded is None or not same:
            read_tree(task.text)  # names the line of a mistake
            with _written(task.name, task.text) as folder:
                loaded = load_config(_COMMAND, PlanCfg, [f"task={task.name}"], config_dirs=[folder, *task.config_dirs])
            self._loaded = (task, loaded)
        return self._loaded[1]

    def _base_of(self, task: jobs.TaskText) -> Mapping[str, Any]:
        """Returns the composed configuration without the file's own values, references unresolved."""
        defaults = read_tree(task.text).get("defaults", [])
        text = "# @package _global_\n" + yaml.safe_dump({"defaults": defaults} if defaults else {})
        if text not in self._bases:
            with _written(task.name, text) as folder:
                request = Request([f"task={task.name}"], [folder, *task.config_dirs])
                composed = compose_config(_COMMAND, PlanCfg, request)
            self._bases[text] = OmegaConf.to_container(composed, resolve=False, enum_to_str=True)  # type: ignore[assignment]
        return self._bases[text]

    def _draw_scene(self, job: jobs.StudioJob, loaded: LoadedConfig[PlanCfg]) -> jobs.SceneResult:
        cfg, task, started = loaded.cfg, job.task, time.perf_counter()
        # a search for a layout plans many layouts; the first one is drawn at once
        with EpisodeRunner(replace(cfg, skills=_acting_skills(cfg) or cfg.skills)) as runner:
            episode = runner.episode(task.episode)
            episode.begin()
            return jobs.SceneResult(
                _shown_scene(episode),
                self._base_of(task),
                tuple(_shown_skills(cfg, episode)),
                tuple(_shown_parts(episode)),
                tuple(_shown_cameras(episode)),
                tuple(loaded.notices),
                time.perf_counter() - started,
            )

    def _check(self, job: jobs.StudioJob, loaded: LoadedConfig[PlanCfg]) -> jobs.JobProblem | None:
        """Returns why the commands refuse the task; it is checked once, in the episode that is shown then."""
        task = job.task
        if self._checked is None or self._checked[0] != task.text:
            try:
                check_assets(loaded.cfg, number=task.episode)
                self._checked = (task.text, None)
            except UnlatchError as exc:
                self._checked = (task.text, _problem_of(exc))
        return self._checked[1]


def _plan(job: jobs.StudioJob, loaded: LoadedConfig[PlanCfg]) -> jobs.PlanResult:
    started = time.perf_counter()
    with EpisodeRunner(loaded.cfg) as runner:
        chain = ChainPlans(runner, job.task.episode)
        episode = chain.episode
        episode.begin()
        shown = _shown_scene(episode)  # before later skills move arms and parts
        plans, states = chain.plan()
        found = bool(plans) and episode.failure is None and all(plan.found for plan in plans)
        return jobs.PlanResult(shown, tuple(plans), found, time.perf_counter() - started, tuple(states))


def _run(job: jobs.StudioJob, loaded: LoadedConfig[PlanCfg]) -> jobs.RunAnswer:
    started, cfg = time.perf_counter(), loaded.cfg
    with EpisodeRunner(cfg) as runner:
        record = runner.run(job.task.episode)
    begun = (skill for skill in record.skills if skill.get("frame_start") is not None)
    moved: list[Mapping[str, Any]] = [skill for skill in begun if skill.get("object") is not None]
    if moved:
        assets, _ = load_assets([cfg.object, *cfg.objects], record.layout, record.assets, number=record.number)
        moved = with_what_frees(record, moved, assets)
    return jobs.RunAnswer(cfg, record, time.perf_counter() - started, tuple(moved))


def _acting_skills(cfg: EpisodeCfg) -> list[SkillCfg]:
    """Returns the skills without a search for a layout."""
    return [entry for entry in cfg.skills if not isinstance(entry, LayoutSearchCfg)]


def _served_entries(stated: Sequence[SkillCfg], chain: Sequence[SkillCfg]) -> dict[int, int]:
    """Returns the indices of stated entries by those of the chain of an episode.

    What frees a part comes before the entry of the part, and has none of its own: it is left out.
    """
    found, at = {}, len(stated)
    for index in reversed(range(len(chain))):
        before = next((n for n in reversed(range(at)) if _is_same_entry(chain[index], stated[n])), None)
        if before is not None:
            found[index] = at = before
        elif at < len(stated) and _is_same_entry(chain[index], stated[at]):  # an earlier hold of the same entry
            found[index] = at
    return found


def _is_same_entry(entry: SkillCfg, stated: SkillCfg) -> bool:
    return all(
        getattr(entry, key, None) == getattr(stated, key, None) for key in ("name", "objects", "part", "opening")
    )


def _try_place(job: jobs.StudioJob, loaded: LoadedConfig[PlanCfg]) -> jobs.ReachResult:
    """Plans the skills that begin first with an object at one place."""
    cfg, acting = loaded.cfg, _acting_skills(loaded.cfg)
    regions = {region.object: region for region in (*cfg.task.regions, *filter(None, [job.region]))}
    cfg = replace(cfg, skills=acting, task=replace(cfg.task, regions=list(regions.values())))
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(job.task.episode)
        episode.begin()
        failure = episode.failure
        if failure is None:
            indices = [sequence[0] for sequence in stages_of(acting)[0]]
            planned = episode.planner.plan_together(indices, budget=episode.planner.budget.first_look())
            failure = next((item.skill.failure for item in planned if item.skill.failure is not None), None)
        return jobs.ReachResult(failure is None, *(("", "") if failure is None else (failure.code, failure.message)))


@contextmanager
def _written(name: str, text: str) -> Iterator[str]:
    """Writes a task file into a folder of its own, which is removed at the end; yields the folder."""
    with tempfile.TemporaryDirectory(prefix="unlatch-studio-") as folder:
        (Path(folder) / "task").mkdir()
        (Path(folder) / "task" / f"{name}.yaml").write_text(text, encoding="utf-8")
        yield folder


def _problem_of(exc: UnlatchError) -> jobs.JobProblem:
    return jobs.JobProblem(" ".join(exc.message.split()), str(exc.values.get("key", "") or ""))


def _look(job: jobs.StudioJob, loaded: LoadedConfig[PlanCfg]) -> jobs.ViewResult:
    """Draws what every camera sees of a state."""
    scene = job.scene
    if scene is None:
        raise TypeError("A job `view` has no scene.")
    record = EpisodeRecord(
        scene.episode,
        scene.seed,
        True,
        assets=dict(scene.hashes),
        layout=dict(scene.layout),
        applied=dict(scene.applied),
        arrays={key: np.asarray(value)[None] for key, value in job.state.items()},
    )
    with open_record(loaded.cfg, record) as opened:
        opened.show(0)
        seen = cameras(opened.episode.scene)
        for camera in seen:
            camera.enable_rgb_rendering()
            camera.update_state()
        images = {camera.cfg.name: _as_webp(camera.image(Rendering.rgb)) for camera in seen}
        return jobs.ViewResult(images, tuple(_shown_cameras(opened.episode)))


def _as_webp(image: jobs.Array) -> bytes:
    """Returns an image (h, w, 3) with at most `VIEW_PX` columns as WebP."""
    scale = min(1.0, jobs.VIEW_PX / image.shape[1])
    size = (round(scale * image.shape[1]), round(scale * image.shape[0]))
    file = io.BytesIO()
    Image.fromarray(image).resize(size, Image.Resampling.LANCZOS).save(file, "WEBP", quality=80)
    return file.getvalue()


def _shown_scene(episode: Episode) -> jobs.ShownScene:
    layout, failure = episode.layout(), episode.failure
    search = episode.planner.layout_search
    return jobs.ShownScene(
        cfg=episode.cfg,
        episode=episode.number,
        seed=episode.seed,
        layout=layout,
        hashes=episode.content_hashes(),
        state=episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED),
        lines=(*words_of_layout(layout, units_of(list(_shown_parts(episode)))), *_held_lines(episode)),
        search="" if search is None else str(search),
        failure=None if failure is None else jobs.JobProblem(f"{failure.code}: {failure.message}"),
        applied={} if episode.randomization is None else episode.randomization.applied(),
    )


def _held_lines(episode: Episode) -> Iterator[str]:
    """Yields what the mechanisms of an object hold at the start, and what frees it."""
    for name, item in episode.scene.objects.items():
        positions = {joint: item.joint_position(joint) for joint in item.joint_names}
        parts = item.asset.articulation.parts.values()
        lines = dict.fromkeys(line for part in parts for line in explain_held(item.asset, part, positions))
        if lines:
            yield f"{name}: {'; '.join(lines)}"


def _shown_parts(episode: Episode) -> Iterator[jobs.ShownPart]:
    for name, item in episode.scene.objects.items():
        for part in item.asset.articulation.parts.values():
            yield {
                **{"object": name, "part": part.name, "joint": part.joint},
                "unit": "m" if part.kind is PartKind.slider else "rad",
                "closed": part.openness.closed,
                "open": part.openness.open,
                "position": item.joint_position(part.joint),
            }


def _shown_cameras(episode: Episode) -> Iterator[jobs.ShownCamera]:
    for sensor in episode.scene.state_tree.sensors.children.values():
        if not isinstance(sensor, Camera):
            continue
        optics, pose = sensor.optics, sensor.T_world_sensor
        fov = 2.0 * np.arctan2(0.5 * optics.height, optics.fy)
        yield jobs.ShownCamera(sensor.cfg.name, pose.p, pose.quat_xyzw, float(fov), optics.width / optics.height)


_ANY_SKILL: dict[str, Any] = {
    **{"part": None, "strategies": [], "derived": False, "settings": {}},
    **{"threshold": None, "success": words_of_success(SuccessMode.abs, ""), "constraints": []},
}


def _shown_skills(cfg: EpisodeCfg, episode: Episode) -> Iterator[dict[str, Any]]:
    """Yields every entry of the chain; settings that are derived later than the scene is drawn have no strategies."""
    index, units = 0, units_of(list(_shown_parts(episode)))
    own = {stated: at for at, stated in _served_entries(_acting_skills(cfg), episode.cfg.skills).items()}
    for key, entry in zip(entry_keys(cfg.skills, cfg.robot.name), cfg.skills, strict=True):
        if isinstance(entry, LayoutSearchCfg):
            yield {**_ANY_SKILL, "key": key, "name": entry.name, "object": entry.objects[0]}
        else:
            strategies = entry.entries_by_strategy()
            part = episode.planner.part_of(own.get(index, index))
            if entry.planner_setting.derived:
                with suppress(UnlatchError):  # of a part that an earlier skill moves
                    strategies = episode.planner.strategies(own.get(index, index))
            index += 1
            unit = units.get((entry.objects[0], str(part)), "") if entry.objects else ""
            yield _shown_skill(key, entry, part, strategies, unit)


def _shown_skill(
    key: str, entry: SkillCfg, part: str | None, strategies: Sequence[SkillCfg], unit: str
) -> dict[str, Any]:
    derived = entry.planner_setting.derived
    known = [each for each in strategies if not each.planner_setting.derived]
    first = known[0].planner_setting if known else None
    place = "" if derived else f"{key}.planner_setting."
    cls = SKILLS.load(entry.name)
    # how a skill compares its joint where its setting does not say
    default = cls.success_modes[0] if issubclass(cls, ArticulationSkill) else SuccessMode.abs
    shown: dict[str, Any] = {
        **_ANY_SKILL,
        "key": key,
        "name": entry.name,
        "object": entry.objects[0] if entry.objects else "",
        "part": part,
        "strategies": list(dict.fromkeys(each.strategy for each in known)),
        "derived": derived,
        "settings": {each.strategy: each.planner_setting.to_yaml() for each in known} if derived else {},
        "success": words_of_success((None if first is None else first.success_mode) or default, unit),
    }
    if first is not None:
        shown["threshold"] = float(first.success_threshold)
        shown["constraints"] = [
            _shown_constraint(term, f"{place}constraint_list[{number}]" if place else "")
            for number, term in enumerate(first.constraint_list)
        ]
    return shown


def _shown_constraint(term: Term, key: str) -> dict[str, Any]:
    """Returns an entry of a constraint list; its `words` say which direction or point of the hand goes where."""
    plain = term.to_yaml()
    tool = (
        plain.get("keypoint_name") or f"{plain.get('axis_from_keypoint_name')} to {plain.get('axis_to_keypoint_name')}"
    )
    targets = [
        _join(plain.get("target_axis_from_keypoint_name"), plain.get("target_axis_to_keypoint_name")),
        _join(plain.get("cross_target_axis1_from_keypoint_name"), plain.get("cross_target_axis1_to_keypoint_name")),
        str(plain.get("target_axis") or ""),
        str(plain.get("target_keypoint_name") or ""),
    ]
    inner = plain.get("target_inner_product")
    return {
        "key": key,  # in the YAML; empty if it was derived from the part
        "label": term.label,
        "type": term.TYPE,
        "words": f"{tool} of the hand → {' × '.join(word for word in targets if word)}".replace("_", " "),
        "tolerance": float(plain["tolerance"]),
        "unit": "m" if "point2" in term.TYPE else "rad",
        "inner_product": None if inner is None else float(inner),
    }


def _join(first: str | None, last: str | None) -> str:
    return f"{first} to {last}" if first and last else ""
