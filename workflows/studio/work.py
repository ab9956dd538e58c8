"""What a worker process of the page does: it composes, draws, plans and runs, and keeps what the next job needs."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from omegaconf import OmegaConf
from PIL import Image

from unlatch.configs.chain import entry_keys
from unlatch.configs.composition import Request, compose_config
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import PartKind
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.state import Rendering
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.catalog import SKILLS
from unlatch.skills.contract.config import SkillCfg, stages_of
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.settings.setting import SuccessMode
from unlatch.solver.terms.term import Term
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.randomization.visual_views import cameras
from unlatch.workflows.runs.loading import LoadedConfig, load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.studio.chain_plans import ChainPlans
from unlatch.workflows.studio.jobs import (
    VIEW_PX,
    Array,
    CheckJob,
    CheckResult,
    Job,
    PlanJob,
    PlanResult,
    Problem,
    ReachJob,
    ReachResult,
    RunJob,
    RunResult,
    SceneJob,
    SceneResult,
    ShownCamera,
    ShownConstraint,
    ShownPart,
    ShownScene,
    ShownSkill,
    TaskText,
    ViewJob,
    ViewResult,
)
from unlatch.workflows.studio.words import units_of, words_of_layout
from unlatch.workflows.studio.yaml_edit import read_tree
from unlatch.workflows.viewing.scene_picture import open_record

_COMMAND = "plan"
"""The command whose YAML file the task is composed with."""


class StudioWork:
    """Does the jobs of one worker process, one after the other."""

    def __init__(self) -> None:
        self._loaded: tuple[TaskText, LoadedConfig[PlanCfg]] | None = None
        self._bases: dict[str, Mapping[str, Any]] = {}
        """Configurations without the file's own values, by defaults list."""
        self._checked: tuple[str, Problem | None] | None = None
        """The text that was checked last, and what is wrong with it."""

    def do(self, job: Job) -> SceneResult | CheckResult | PlanResult | RunResult | ReachResult | ViewResult | Problem:
        """Does a job; a mistake of the user is an answer, too."""
        started = time.perf_counter()
        try:
            loaded = self._load(job.task)
            match job:
                case SceneJob():
                    return self._draw_scene(job.task, loaded, started)
                case CheckJob():
                    return CheckResult(self._check(job.task, loaded.cfg))
                case PlanJob():
                    return self._plan(job.task, loaded.cfg, started)
                case RunJob():
                    with EpisodeRunner(loaded.cfg) as runner:
                        record = runner.run(job.task.episode)
                    return RunResult(loaded.cfg, record, time.perf_counter() - started)
                case ViewJob():
                    return _look(loaded.cfg, job)
                case ReachJob():
                    return _try_place(loaded.cfg, job)
        except UnlatchError as exc:
            return _problem_of(exc)
        raise TypeError(f"{type(job).__name__} is no job.")

    def _load(self, task: TaskText) -> LoadedConfig[PlanCfg]:
        same = self._loaded is not None and replace(self._loaded[0], episode=task.episode) == task
        if self._loaded is None or not same:
            read_tree(task.text)  # names the line of a mistake
            with _written(task.name, task.text) as folder:
                loaded = load_config(_COMMAND, PlanCfg, [f"task={task.name}"], config_dirs=[folder, *task.config_dirs])
            self._loaded = (task, loaded)
        return self._loaded[1]

    def _base_of(self, task: TaskText) -> Mapping[str, Any]:
        """Returns the composed configuration without the file's own values, references unresolved."""
        defaults = read_tree(task.text).get("defaults", [])
        text = "# @package _global_\n" + yaml.safe_dump({"defaults": defaults} if defaults else {})
        if text not in self._bases:
            with _written(task.name, text) as folder:
                request = Request([f"task={task.name}"], [folder, *task.config_dirs])
                composed = compose_config(_COMMAND, PlanCfg, request)
            self._bases[text] = OmegaConf.to_container(composed, resolve=False, enum_to_str=True)  # type: ignore[assignment]
        return self._bases[text]

    def _draw_scene(self, task: TaskText, loaded: LoadedConfig[PlanCfg], started: float) -> SceneResult:
        cfg = loaded.cfg
        # a search for a layout plans many layouts; the first one is drawn at once
        with EpisodeRunner(replace(cfg, skills=_acting_skills(cfg) or cfg.skills)) as runner:
            episode = runner.episode(task.episode)
            episode.begin()
            return SceneResult(
                _shown_scene(episode),
                self._base_of(task),
                tuple(_shown_skills(cfg, episode)),
                tuple(_shown_parts(episode)),
                tuple(_shown_cameras(episode)),
                tuple(loaded.notices),
                time.perf_counter() - started,
            )

    def _check(self, task: TaskText, cfg: EpisodeCfg) -> Problem | None:
        """Returns why the commands refuse the task; it is checked once, in the episode that is shown then."""
        if self._checked is None or self._checked[0] != task.text:
            try:
                check_assets(cfg, number=task.episode)
                self._checked = (task.text, None)
            except UnlatchError as exc:
                self._checked = (task.text, _problem_of(exc))
        return self._checked[1]

    def _plan(self, task: TaskText, cfg: EpisodeCfg, started: float) -> PlanResult:
        with EpisodeRunner(cfg) as runner:
            chain = ChainPlans(runner, task.episode)
            episode = chain.episode
            episode.begin()
            shown = _shown_scene(episode)  # before later skills move arms and parts
            plans, states = chain.plan()
            found = bool(plans) and episode.failure is None and all(plan.found for plan in plans)
            return PlanResult(shown, tuple(plans), found, time.perf_counter() - started, tuple(states))


def _acting_skills(cfg: EpisodeCfg) -> list[SkillCfg]:
    """Returns the skills without a search for a layout."""
    return [entry for entry in cfg.skills if not isinstance(entry, LayoutSearchCfg)]


def _try_place(cfg: EpisodeCfg, job: ReachJob) -> ReachResult:
    """Plans the skills that begin first with an object at one place."""
    acting = _acting_skills(cfg)
    others = [region for region in cfg.task.regions if region.object != job.region.object]
    cfg = replace(cfg, skills=acting, task=replace(cfg.task, regions=[*others, job.region]))
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(job.task.episode)
        episode.begin()
        failure = episode.failure
        if failure is None:
            indices = [sequence[0] for sequence in stages_of(acting)[0]]
            planned = episode.planner.plan_together(indices, budget=episode.planner.budget.first_look())
            failure = next((item.skill.failure for item in planned if item.skill.failure is not None), None)
        return ReachResult(failure is None, *(("", "") if failure is None else (failure.code, failure.message)))


@contextmanager
def _written(name: str, text: str) -> Iterator[str]:
    """Writes a task file into a folder of its own, which is removed at the end; yields the folder."""
    with tempfile.TemporaryDirectory(prefix="unlatch-studio-") as folder:
        (Path(folder) / "task").mkdir()
        (Path(folder) / "task" / f"{name}.yaml").write_text(text, encoding="utf-8")
        yield folder


def _problem_of(exc: UnlatchError) -> Problem:
    return Problem(" ".join(exc.message.split()), str(exc.values.get("key", "") or ""))


def _look(cfg: EpisodeCfg, job: ViewJob) -> ViewResult:
    """Draws what every camera sees of a state."""
    scene = job.scene
    record = EpisodeRecord(
        scene.episode,
        scene.seed,
        True,
        assets=dict(scene.hashes),
        layout=dict(scene.layout),
        applied=dict(scene.applied),
        arrays={key: np.asarray(value)[None] for key, value in job.state.items()},
    )
    with open_record(cfg, record) as opened:
        opened.show(0)
        seen = cameras(opened.episode.scene)
        for camera in seen:
            camera.enable_rgb_rendering()
            camera.update_state()
        images = {camera.cfg.name: _as_webp(camera.image(Rendering.rgb)) for camera in seen}
        return ViewResult(images, tuple(_shown_cameras(opened.episode)))


def _as_webp(image: Array) -> bytes:
    """Returns an image (h, w, 3) with at most `VIEW_PX` columns as WebP."""
    scale = min(1.0, VIEW_PX / image.shape[1])
    size = (round(scale * image.shape[1]), round(scale * image.shape[0]))
    file = io.BytesIO()
    Image.fromarray(image).resize(size, Image.Resampling.LANCZOS).save(file, "WEBP", quality=80)
    return file.getvalue()


def _shown_scene(episode: Episode) -> ShownScene:
    layout, failure = episode.layout(), episode.failure
    search = episode.planner.layout_search
    return ShownScene(
        cfg=episode.cfg,
        episode=episode.number,
        seed=episode.seed,
        layout=layout,
        hashes=episode.content_hashes(),
        state=episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED),
        lines=tuple(words_of_layout(layout, units_of(list(_shown_parts(episode))))),
        search="" if search is None else str(search),
        failure=None if failure is None else Problem(f"{failure.code}: {failure.message}"),
        applied={} if episode.randomization is None else episode.randomization.applied(),
    )


def _shown_parts(episode: Episode) -> Iterator[ShownPart]:
    for name, item in episode.scene.objects.items():
        for part in item.asset.articulation.parts.values():
            yield ShownPart(
                object=name,
                part=part.name,
                joint=part.joint,
                column=item.joint_names.index(part.joint),
                unit="m" if part.kind is PartKind.slider else "rad",
                closed=part.openness.closed,
                open=part.openness.open,
                position=item.joint_position(part.joint),
            )


def _shown_cameras(episode: Episode) -> Iterator[ShownCamera]:
    for sensor in episode.scene.state_tree.sensors.children.values():
        if not isinstance(sensor, Camera):
            continue
        optics, pose = sensor.optics, sensor.T_world_sensor
        fov = 2.0 * np.arctan2(0.5 * optics.height, optics.fy)
        yield ShownCamera(sensor.cfg.name, pose.p, pose.quat_xyzw, float(fov), optics.width / optics.height)


def _shown_skills(cfg: EpisodeCfg, episode: Episode) -> Iterator[ShownSkill]:
    """Yields every entry of the chain; settings that are derived later than the scene is drawn have no strategies."""
    index, units = 0, units_of(list(_shown_parts(episode)))
    for key, entry in zip(entry_keys(cfg.skills, cfg.robot.name), cfg.skills, strict=True):
        if isinstance(entry, LayoutSearchCfg):
            yield ShownSkill(key=key, name=entry.name, object=entry.objects[0], part=None)
        else:
            strategies = entry.entries_by_strategy()
            part = episode.planner.part_of(index)
            if entry.planner_setting.derived:
                with suppress(UnlatchError):  # of a part that an earlier skill moves
                    strategies = episode.planner.strategies(index)
            index += 1
            unit = units.get((entry.objects[0], str(part)), "") if entry.objects else ""
            yield _shown_skill(key, entry, part, strategies, unit)


def _shown_skill(key: str, entry: SkillCfg, part: str | None, strategies: Sequence[SkillCfg], unit: str) -> ShownSkill:
    derived = entry.planner_setting.derived
    known = [each for each in strategies if not each.planner_setting.derived]
    first = known[0].planner_setting if known else None
    place = "" if derived else f"{key}.planner_setting."
    return ShownSkill(
        key=key,
        name=entry.name,
        object=entry.objects[0] if entry.objects else "",
        part=part,
        strategies=tuple(dict.fromkeys(each.strategy for each in known)),
        derived=derived,
        settings={each.strategy: each.planner_setting.to_yaml() for each in known} if derived else {},
        threshold=None if first is None else float(first.success_threshold),
        mode=(None if first is None else first.success_mode) or _default_mode(entry.name),
        unit=unit,
        constraints=()
        if first is None
        else tuple(
            _shown_constraint(term, f"{place}constraint_list[{number}]" if place else "")
            for number, term in enumerate(first.constraint_list)
        ),
    )


def _default_mode(skill: str) -> SuccessMode:
    """Returns how a skill compares its joint where its setting does not say."""
    cls = SKILLS.load(skill)
    return cls.success_modes[0] if issubclass(cls, ArticulationSkill) else SuccessMode.abs


def _shown_constraint(term: Term, key: str) -> ShownConstraint:
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
    return ShownConstraint(
        key=key,
        label=term.label,
        type=term.TYPE,
        words=f"{tool} of the hand → {' × '.join(word for word in targets if word)}".replace("_", " "),
        tolerance=float(plain["tolerance"]),
        unit="m" if "point2" in term.TYPE else "rad",
        inner_product=None if inner is None else float(inner),
    )


def _join(first: str | None, last: str | None) -> str:
    return f"{first} to {last}" if first and last else ""
