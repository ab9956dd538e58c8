"""One episode as every command sees it: a scene that is reset, driven frame by frame, judged and recorded.

An episode does not decide what the arms do: skills (`attempt.py`), a policy or a recorded episode do. It has one object
for each role:

- `Episode.planner` (`ChainPlanner`): with which arm and in which strategy each skill is planned;
- `LayoutSearch`: which layout is chosen; its report is `Episode.planner.layout_search`;
- `Episode.frames` (`FrameLoop`): the physics of a record frame, and its record;
- `Episode.judge` (`Judge`): what counts as success.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.errors import RecordingError, UnlatchError
from unlatch.simcore.randomization.config import RandomizationCfg, VisualDraw
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.keys import convert_to_stored_types
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.simcore.rng import EpisodeStreams, episode_seed
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.world import World
from unlatch.skills.context import Failure, earliest
from unlatch.skills.layout_search import LayoutSearchCfg, layout_search_of
from unlatch.skills.skill import Skill
from unlatch.tasks.language import phrasing_draws, task_language
from unlatch.tasks.layout import Layout, sample_layout
from unlatch.workflows.episode.assets import (
    describe_instances,
    language_step,
    language_steps,
    load_assets,
    recorded_regions,
    with_derived_task,
)
from unlatch.workflows.episode.chain_planner import ChainPlanner, PlannedSkill
from unlatch.workflows.episode.criteria import Actor, PolicyRules
from unlatch.workflows.episode.frame_loop import FrameLoop
from unlatch.workflows.episode.judge import Judge
from unlatch.workflows.episode.scene import EpisodeScene, build_scene, stand_range
from unlatch.workflows.episode.skill_run import SkillRun

if TYPE_CHECKING:
    from unlatch.workflows.episode.randomization import EpisodeRandomization
    from unlatch.workflows.episode.visual_views import Room

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EpisodeOptions:
    """Options of one episode beside its configuration and its number."""

    actor: Actor = Actor.planner
    """What moves the arms."""
    policy: PolicyRules | None = None
    """How it is judged if a policy moves the arms; None: as a demonstration."""
    run_seed: int | None = None
    """Seed of the run in place of the configuration's."""
    visual_draw: VisualDraw | None = None
    """Visuals that replace those of the configuration or the record."""
    scenery_seed: int | None = None
    """Seed of the room in images; None: that of the episode."""
    on_bug: Callable[[Exception], None] | None = None
    """Called with an unexpected exception before it becomes the failure of the episode, such as by a debugger."""
    on_state: Callable[[Episode], None] | None = None
    """Called after each recorded state, such as by a page that shows it; it must not change the episode."""
    on_planned: Callable[[Episode, int, Sequence[int], Sequence[PlannedSkill]], None] | None = None
    """Called after each planning of a search for a layout, such as by a page that shows the plans: with the number of
    the layout, the indices of the skills in the chain, and these skills, planned or refused."""


class Episode:
    """One episode. The order of calls is `begin`, then frames and skills, then `conclude` and `record`."""

    planner: ChainPlanner
    """Plans the skills; made by the reset."""
    scene: EpisodeScene
    """The world and everything in it; made by `build`."""
    judge: Judge
    """Decides on success; made by `build`."""
    frames: FrameLoop
    """Simulates and records frames; made by `build`."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        number: int,
        world: World,
        checker: BulletCollisionChecker,
        options: EpisodeOptions = EpisodeOptions(),
    ) -> None:
        """Makes an episode; nothing is built yet.

        Args:
            cfg: Its configuration.
            number: Its number, from 0.
            world: An open world, which is emptied.
            checker: An open collision checker.
            options: Who moves the arms, how it is judged, and what it calls on its way.
        """
        self.cfg = self._asked = cfg
        self.number = number
        self.options = options
        self.seed = episode_seed(cfg.seed if options.run_seed is None else options.run_seed, number)
        self.failure: Failure | None = None
        """Why the episode failed, as far as it is known."""
        self.timings_ms = {"reset": 0.0, "plan": 0.0, "execute": 0.0}
        self.settle: dict[str, Any] | None = None
        """The settling period, as an entry of the record."""
        self.randomization: EpisodeRandomization | None = None
        """Variations beyond the layout; None without any, or before the reset."""
        self.events: list[dict[str, Any]] = []
        """Events of the record, in order of time."""
        self._world = world
        self._checker = checker
        self._streams = EpisodeStreams(self.seed)
        self._bug: Failure | None = None
        self._is_reset = False
        self._assets: Mapping[str, ObjectAsset] = {}
        self._layout: Layout | None = None

    def begin(self, recorded: EpisodeRecord | None = None) -> None:
        """Resets the episode and simulates the first few frames, in which the arms stand still.

        Values of a `recorded` episode are applied in place of drawn ones.

        Raises:
            ConfigError, AssetError: The configuration names something that does not exist.
            RecordingError: The objects of the record have changed since the recording.
        """
        self.reset(recorded)
        start = time.perf_counter()
        self.frames.record_state()
        for _ in range(self._initial_frames if self.failure is None else 0):
            self.frames.advance(self.frames.idle_actions())
            self.frames.record_state()
        self.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)

    def reset(self, recorded: EpisodeRecord | None = None, *, redraws: bool = False) -> None:
        """Draws the layout, or takes that of a record, and builds the scene.

        Args:
            recorded: The record of the episode; None: all values are drawn.
            redraws: Whether the values of a recorded episode are drawn again all the same. Of the record, only the
                number of the layout that a search chose is used then: nothing is planned. Where a search chose none,
                the values of the record are applied.

        Raises:
            ConfigError, AssetError: The configuration names something that does not exist.
            RecordingError: The record does not fit the present objects, or names a layout that was not drawn.
        """
        start = time.perf_counter()
        rng = self._streams["layout"]
        self._take_objects(load_assets(self.cfg, self.number, recorded, rng))
        cfg = self.cfg
        failure: Failure | None = None
        if recorded is None:
            search = layout_search_of(cfg.skills)
            if search is not None:
                layout, failure = self._search_layout(search, rng)
            else:
                layout = self._draw_layout(rng)
        elif redraws and (number := _layout_number(cfg, recorded)) is not None:
            layout = [self._draw_layout(rng) for _ in range(1 + number)][-1]
        else:
            layout = Layout.from_dict(recorded.layout)
            applied = RandomizationCfg(name=cfg.randomization.name, recorded=dict(recorded.applied) or None)
            self.cfg = replace(cfg, randomization=applied)
        problem = self._build(layout)
        self.failure = failure or problem
        self._is_reset = True
        self.timings_ms["reset"] += 1e3 * (time.perf_counter() - start) - self.timings_ms.get("preplan", 0.0)

    def _take_objects(self, assets: dict[str, ObjectAsset]) -> ChainPlanner:
        """Takes objects, with the task that they give the configuration; returns the planner of both.

        Raises:
            ConfigError, AssetError: The task does not fit an object.
        """
        self._assets = assets
        self.cfg = with_derived_task(self._asked, assets)
        self.planner = ChainPlanner(self.cfg, assets, self._checker, seed=self.seed)
        return self.planner

    def _draw_layout(self, rng: np.random.Generator) -> Layout:
        """Draws a layout of the present objects."""
        homes = [(arm.name, arm.home, arm.home_std) for arm in self.cfg.robot.arms]
        return sample_layout(self.cfg.task, self._assets, homes, rng, stand=stand_range(self.cfg.stand, self.cfg.robot))

    def _build(self, layout: Layout) -> Failure | None:
        """Empties the world and builds the scene of a layout; returns why the layout is invalid."""
        self._layout, cfg, options = layout, self.cfg, self.options
        acted_on = self.planner.acted_on
        self.scene = build_scene(
            self._world,
            cfg.robot,
            self._assets,
            layout,
            acted_on,
            regions=recorded_regions(cfg, self._assets),
            sensors=self._fit_sensors(),
            seed=self.seed,
            object_views=any(skill.scene_force_threshold_n is not None for skill in cfg.skills),
        )
        room = self._make_room()
        self.randomization = None
        if cfg.randomization.active or options.visual_draw is not None:
            from unlatch.workflows.episode.randomization import make_randomization

            self.randomization = make_randomization(
                self.scene, cfg.randomization, self.seed, visual_draw=options.visual_draw, room=room
            )
            self._layout = replace(layout, q_home=self.randomization.homes(layout.q_home))
        if room is not None:
            room.show()
        unrest = self.scene.let_rest(self._layout)
        self.judge = Judge(cfg, self.scene, acted_on, policy=options.policy)
        self.frames = FrameLoop(
            self.scene,
            self.judge,
            self.randomization,
            records_labels=options.actor.records_labels(cfg),
            records_pushes=self.may_push,
            on_state=None if options.on_state is None else partial(options.on_state, self),
        )
        self.planner.scene, self.planner.layout = self.scene, self._layout
        problem = self.planner.find_problem()
        if problem is None and unrest is not None:
            problem = Failure("invalid_layout", unrest, 0.0)
        return problem

    def _fit_sensors(self) -> list[SensorCfg]:
        """Returns the sensors; the places of some follow from the hand or the task."""
        sensors = list(self._asked.all_sensors().values())
        if not any(sensor.mount.is_fitted for sensor in sensors):
            return sensors
        from unlatch.workflows.episode.visual_views import fit_sensors

        return fit_sensors(self._asked, sensors)

    def _make_room(self) -> Room | None:
        """Returns the room around the table, which only images show; None in a world without visual shapes."""
        if not self._world.visuals:
            return None
        from unlatch.workflows.episode.visual_views import Room

        seed = self.seed if self.options.scenery_seed is None else self.options.scenery_seed
        return Room(self.scene, self.cfg.scenery, seed)

    def _build_at_rest(self, layout: Layout) -> Failure | None:
        """Builds the scene of a layout and lets it come to rest; returns why the layout is invalid."""
        problem = self._build(layout)
        if problem is None:
            self.frames.stand_still(self._initial_frames)
        return problem

    def _search_layout(self, entry: LayoutSearchCfg, rng: np.random.Generator) -> tuple[Layout, Failure | None]:
        """Returns a layout in which the chain plans, or the last one that was tried and why it is refused.

        `rng` is the stream `layout`, from which the objects have been drawn.
        """
        from unlatch.workflows.episode.layout_search import SearchedEpisode, search_layout

        start, on_planned = time.perf_counter(), self.options.on_planned
        episode = SearchedEpisode(
            self._take_objects,
            self._take_planner,
            draw=self._draw_layout,
            build=self._build_at_rest,
            on_planned=None if on_planned is None else partial(on_planned, self),
        )
        found = search_layout(episode, self.planner, entry, rng)
        self.timings_ms["preplan"] = 1e3 * (time.perf_counter() - start)
        return found

    def _take_planner(self, planner: ChainPlanner, layout: Layout | None) -> None:
        """Takes the objects of an earlier search again, and the layout that it built last."""
        self.planner, self._layout = planner, layout
        self.cfg, self._assets = planner.cfg, planner.assets

    @property
    def may_push(self) -> bool:
        """Whether parts may be pushed from outside."""
        return self.options.actor.may_push(self.cfg)

    @property
    def _initial_frames(self) -> int:
        """Record frames in which the scene stands still before the first skill begins."""
        return self.cfg.world.frames(INITIAL_S)

    def begin_skill(
        self, index: int, *, concurrent: Sequence[Skill] = (), earlier: Sequence[SkillRun] = ()
    ) -> SkillRun:
        """Makes a skill in its first strategy and begins it; one that moves nothing ends at once.

        Args:
            index: Its place in the chain.
            concurrent: Planned skills that other arms carry out at the same time.
            earlier: Attempts at the same skill that were broken off.
        """
        attempts = [run.skill for run in earlier]
        entry = self.planner.strategies(index, earlier=attempts)[0]
        skill = self.planner.make_skill(entry, concurrent=concurrent, earlier=attempts)
        last = earlier[-1] if earlier else None
        run = self.judge.begin_skill(skill, self.planner.part_of(index), chain_index=index, earlier=last)
        if not skill.executes:
            self.judge.end_skill(run)
        return run

    def begin_recorded_skill(self, index: int, entry: Mapping[str, Any]) -> SkillRun:
        """Begins a skill as a recorded episode did: it is not planned, and takes the strategy of the record.

        Args:
            index: Its place in the chain.
            entry: Its entry in `skills` of the record.
        """
        earlier = self.judge.attempts_at(index) if entry.get("attempt") else []
        run = self.begin_skill(index, earlier=earlier)
        attempts = [each.skill for each in earlier]
        for item in self.planner.strategies(index, earlier=attempts) if run.skill.executes else ():
            if item.strategy == entry["strategy"] and item.arm == entry.get("arm", item.arm):
                run.skill = self.planner.make_skill(item, earlier=attempts)
                break
        return run

    def begin_due_skills(self) -> None:
        """Begins the skills that are due, if any: for arms that a policy moves."""
        while due := self.judge.end_reached_skills():
            begun = [self.begin_skill(index) for index in due]
            if any(run.skill.executes for run in begun):
                break

    def conclude(self, failure: Failure | None = None) -> None:
        """Takes the verdict: the judge's, or an earlier failure, such as a skill without a plan."""
        if self._bug is None:
            found = [item for item in (self.failure, failure, self.judge.failure) if item is not None]
            self.failure = earliest(found)
            self._say_weak_grip()
        if self.judge.window is not None:
            self.settle = self.judge.goal.settle_entry(*self.judge.window)

    def _say_weak_grip(self) -> None:
        """Adds to the failure, or else warns, that fingers pressed far less than they were told."""
        weak = [text for run in (self.judge.runs if self._is_reset else []) if (text := run.weak_grip)]
        if weak and self.failure is not None:
            self.failure = replace(self.failure, message=f"{self.failure.message.rstrip('.')}. {weak[0]}")
        elif weak:
            logger.warning("Episode %d: %s", self.number, weak[0])

    def fail_with_bug(self, exc: Exception) -> None:
        """Makes an unexpected exception the failure of the episode, whatever the judge decides."""
        if self.options.on_bug is not None:
            self.options.on_bug(exc)
        if self._is_reset:
            self.frames.record_open_frame()
        self.failure = self._bug = Failure(
            "error",
            f"{type(exc).__name__}: {exc}",
            self._world.time_s,
            {"traceback": "".join(traceback.format_exception(exc))},
        )

    def record(self) -> EpisodeRecord:
        """Returns the record of the episode, once `conclude` has taken its verdict.

        Raises:
            UnlatchError: It has neither succeeded nor failed yet.
        """
        if self.failure is None and not (self._is_reset and self.judge.success):
            raise UnlatchError(f"Episode {self.number} has neither succeeded nor failed. Finish it first.")
        runs = self.judge.runs if self._is_reset else []
        last_frame = self.frames.frame if self._is_reset else -1
        draws = phrasing_draws(self.seed, 1 + len(runs))[1:]
        repeats = self.cfg.replan > 0 or self.may_push or any(run.attempt for run in runs)
        return EpisodeRecord(
            number=self.number,
            seed=self.seed,
            success=self.failure is None,
            code=None if self.failure is None else self.failure.code,
            evidence={}
            if self.failure is None
            else self.failure.to_evidence(self.cfg.world, last_frame=max(0, last_frame)),
            language=self.language(),
            assets=self.content_hashes(),
            layout=self.layout(),
            applied={} if self.randomization is None else self.randomization.applied(),
            skills=[
                run.to_entry(
                    last_frame=last_frame,
                    draw=draw,
                    step=language_step(self.cfg, self._assets, run.chain_index),
                    may_repeat=repeats,
                )
                for run, draw in zip(runs, draws, strict=True)
            ],
            goal=self.judge.goal_entry() if self._is_reset else {"conditions": []},
            settle=self.settle,
            events=list(self.events),
            timings_ms=dict(self.timings_ms),
            arrays=convert_to_stored_types(self.frames.recorder.arrays()) if last_frame >= 0 else {},
        )

    def layout(self) -> dict[str, Any]:
        """Returns what the reset applied, as plain values."""
        layout = {} if self._layout is None else self._layout.to_dict()
        if self._is_reset and self.planner.layout_search is not None:
            layout["preplan"] = self.planner.layout_search.to_dict()
        layout["instances"] = describe_instances(self.cfg, self._assets)
        return layout

    def content_hashes(self) -> dict[str, str]:
        """Returns the content hash of each object by its name; none before the reset."""
        return {name: asset.content_hash for name, asset in self._assets.items()}

    def language(self) -> list[str]:
        """Returns the phrasings of the instruction, filled in, the episode's own first; none before the reset."""
        if not self._assets:
            return []
        steps = language_steps(self.cfg, self._assets)
        return task_language(self.cfg.task.language, steps, phrasing_draws(self.seed, 1)[0])


def _layout_number(cfg: EpisodeCfg, recorded: EpisodeRecord) -> int | None:
    """Returns which of its draws is the layout of a recorded episode; None if a search chose none of them.

    Raises:
        RecordingError: The search could not draw it.
    """
    search = layout_search_of(cfg.skills)
    if search is None:
        return 0
    chosen = recorded.layout.get("preplan", {}).get("chosen")
    if chosen is not None and not (isinstance(chosen, int) and 0 <= chosen < search.candidates):
        raise RecordingError(
            f"layout.preplan.chosen={chosen!r} of episode {recorded.number}, expected a number below "
            f"{search.candidates}. The record is damaged.",
            number=recorded.number,
        )
    return chosen
