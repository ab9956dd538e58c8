"""One episode as every command sees it: a scene that is reset, driven frame by frame, judged and recorded.

Who decides what the arms do is not its business: skills (`attempt.py`), a policy or a recorded episode. The calls of
one record frame, in order: `Episode.advance` (record the action; give it to the robot; for every control step the
randomization, the motor targets and the physics steps, contacts and speeds read after each of them; read the state;
judge), then `Episode.keep` (record the state).
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.action import Action, ArmAction
from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.recorder import EpisodeRecorder
from unlatch.simcore.rng import EpisodeStreams, episode_seed
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.world import World
from unlatch.skills.artpreplan_cfg import ArtPreplanCfg, PreplanReport
from unlatch.skills.beside import planned_motion
from unlatch.skills.catalog import SKILLS
from unlatch.skills.contract.config import SkillCfg, part_acted_on
from unlatch.skills.contract.context import SkillContext
from unlatch.skills.contract.failure import Failure, earliest
from unlatch.skills.contract.skill import Skill
from unlatch.solver.planning.plan import PlanBudget
from unlatch.tasks.language import phrasing_draws, task_language
from unlatch.tasks.layout import Layout, sample_layout
from unlatch.workflows.episode.arm_status import Doing, stage_values
from unlatch.workflows.episode.assets import instances_of, load_assets, with_derived_task
from unlatch.workflows.episode.judge import Judge
from unlatch.workflows.episode.preplan import Preplanner
from unlatch.workflows.episode.randomization.episode_randomization import (
    EpisodeRandomization,
    VisualDraw,
    randomized,
    recorded_randomization,
)
from unlatch.workflows.episode.scene import arm_model, build_scene, robot_model
from unlatch.workflows.episode.stage import Stage, entry_of
from unlatch.workflows.episode.strategies import Ways

INITIAL_S = 0.16
"""Time of standing still before the first stage begins."""


class Episode:
    """One episode: `begin`, then `advance` and `keep` for every frame, then `record`; nothing of it outlives it."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        number: int,
        world: World,
        checker: BulletCollisionChecker,
        *,
        run_seed: int | None = None,
        arms_may_move: bool = False,
    ) -> None:
        """Makes an episode; nothing is built yet.

        Args:
            cfg: Its configuration.
            number: Its number, from 0.
            world: An open world, which is emptied.
            checker: An open collision checker.
            run_seed: Seed of the run in place of the configuration's.
            arms_may_move: Whether it may succeed while targets of arms change.
        """
        self.cfg = cfg
        self.number = number
        self.seed = episode_seed(cfg.seed if run_seed is None else run_seed, number)
        self.streams = EpisodeStreams(self.seed)
        self.failure: Failure | None = None
        """Why the episode failed, as far as it is known."""
        self.timings_ms = {"reset": 0.0, "plan": 0.0, "execute": 0.0}
        self.settle: dict[str, Any] | None = None
        self.state: dict[str, Any] = {}
        """The state that was recorded last, by record key."""
        self.recorder = EpisodeRecorder()
        self.preplan: PreplanReport | None = None
        """What came of the search for a layout, if the chain begins with one."""
        self.acted_on: list[tuple[str, str]] = []
        """Object and part that each skill of the chain acts on, once the scene is built."""
        self._world = world
        self._arms_may_move = arms_may_move
        self._checker = checker
        self._bug: Failure | None = None
        self._built = False
        self._events: list[dict[str, Any]] = []
        self._assets: dict[str, ObjectAsset] = {}
        self._layout: Layout | None = None
        self._interval: dict[str, Any] = {}
        self.randomization: EpisodeRandomization | None = None
        """What varies beyond the layout; None where nothing does, or before the reset."""
        self.visual_draw: VisualDraw | None = None
        """Visuals in place of those of the configuration or the record; taken at the reset."""
        self._ways = Ways(self)

    def begin(self, recorded: EpisodeRecord | None = None) -> None:
        """Resets, and stands still for the first few frames: whoever moves the arms takes over from here.

        Args:
            recorded: A record whose reset values are applied in place of drawn ones.

        Raises:
            ConfigError, AssetError: The configuration asks for what is not there.
            RecordingError: The objects of the record are not those that are there now.
        """
        self.reset(recorded)
        start = time.perf_counter()
        self.keep()
        for _ in range(self._still_frames if self.failure is None else 0):
            self.advance(self.standing())
            self.keep()
        self.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)

    def reset(self, recorded: EpisodeRecord | None = None) -> None:
        """Draws the layout, or takes that of a record, and builds the scene."""
        start = time.perf_counter()
        cfg, rng = self.cfg, self.streams["layout"]
        self._assets = load_assets(cfg, self.number, recorded, rng)
        self.cfg = cfg = with_derived_task(cfg, self._assets)
        failure: Failure | None = None
        if recorded is None:
            homes = [(arm.name, arm.home, arm.home_std) for arm in cfg.robot.arms]

            def draw() -> Layout:
                return sample_layout(cfg.task, self._assets, homes, rng)

            first = cfg.skills[0]
            layout, failure = self._preplanned(first, draw) if isinstance(first, ArtPreplanCfg) else (draw(), None)
        else:
            layout = Layout.from_dict(recorded.layout)
            self.cfg = replace(cfg, randomization=recorded_randomization(recorded.applied, name=cfg.randomization.name))
        overlap = self.build(layout)
        self.failure = failure or overlap
        self._built = True
        self.timings_ms["reset"] += 1e3 * (time.perf_counter() - start) - self.timings_ms.get("preplan", 0.0)

    def build(self, layout: Layout) -> Failure | None:
        """Empties the world and builds the scene of a layout.

        Args:
            layout: Where things stand.

        Returns:
            What is wrong with it, where things overlap.
        """
        self._layout, cfg, world = layout, self.cfg, self._world
        self.acted_on = [(entry.objects[0], self.part_of(index)) for index, entry in enumerate(cfg.skills)]
        self.scene = build_scene(
            world,
            cfg.robot,
            self._assets,
            layout,
            self.acted_on,
            sensors=list(cfg.all_sensors().values()),
            seed=self.seed,
        )
        self.randomization = randomized(self.scene, cfg.randomization, self.seed, visual_draw=self.visual_draw)
        if self.randomization is not None:
            self._layout = replace(layout, q_home=self.randomization.homes(layout.q_home))
        self.judge = Judge(cfg, self.scene, self.acted_on, arms_may_move=self._arms_may_move)
        found = (self._overlap(arm.name) for arm in cfg.robot.arms)
        return next((failure for failure in found if failure is not None), None)

    def _preplanned(self, entry: ArtPreplanCfg, draw: Callable[[], Layout]) -> tuple[Layout, Failure | None]:
        """A layout in which the chain plans; the last one that was tried, and why it is refused, where none does."""
        start = time.perf_counter()
        search = Preplanner(self, entry, draw=draw)
        layout, failure = search.search(), None
        self.preplan = search.report
        if layout is None:
            layout = self._layout or draw()
            failure = Failure(
                "invalid_layout",
                f"None of {search.report.tried} layouts that were tried plans: {search.report.counts_text()}. "
                f"{search.report.reason()}",
                0.0,
                {"preplan": search.report.counts()},
            )
        self.timings_ms["preplan"] = 1e3 * (time.perf_counter() - start)
        return layout, failure

    @property
    def _still_frames(self) -> int:
        """Record frames for which the scene stands still before the first stage begins."""
        return self.cfg.world.frames(INITIAL_S)

    def stand_still(self) -> None:
        """Simulates what comes before the first stage, without a record: for a look at what will be."""
        for _ in range(self._still_frames):
            self.scene.apply(Action(self.standing(), hold=self.scene.hold_flags({})))
            self.scene.advance_frame(None if self.randomization is None else self.randomization.step)

    def part_of(self, index: int) -> str:
        """Name of the part that the skill of an index acts on; of one that moves nothing, that of the next one."""
        entry = self.cfg.skills[index]
        if isinstance(entry, ArtPreplanCfg):
            return self.part_of(index + 1)
        return part_acted_on(entry.name, entry.part, self._assets[entry.objects[0]].articulation).name

    def _overlap(self, arm_name: str) -> Failure | None:
        """What overlaps in the scene as it is built, or had no place in it."""
        if self._layout is not None and self._layout.problem is not None:
            return Failure("invalid_layout", self._layout.problem, 0.0)
        context = self._context(arm_name)
        self._checker.load(context.robot_model, context.obstacles())
        hit = self._checker.overlap()
        if hit is None:
            return None
        return Failure(
            "invalid_layout",
            f"At the start {hit.link_a} overlaps {hit.link_b} by {1e3 * -hit.distance_m:.1f} mm",
            0.0,
            {"pair": [hit.link_a, hit.link_b], "distance_m": hit.distance_m},
        )

    @property
    def budget(self) -> PlanBudget:
        """How much the planner tries."""
        return PlanBudget.of(self.cfg.planner)

    @property
    def time_s(self) -> float:
        """Simulated time [s]."""
        return self._world.time_s

    @property
    def frame(self) -> int:
        """State frame that was recorded last."""
        return self.recorder.n_states - 1

    def ways(self, index: int) -> list[SkillCfg]:
        """The entry of the chain at an index once for each way to do it, as things are now; see `Ways`."""
        return self._ways.of(index)

    def make_skill(self, entry: SkillCfg, *, budget: PlanBudget | None = None, beside: Sequence[Skill] = ()) -> Skill:
        """A skill, made now.

        Args:
            entry: One of its `ways`.
            budget: How much its planner tries; None = the full budget of the configuration.
            beside: Planned skills that other arms carry out at the same time.
        """
        context = self._context(self.scene.robot.arm(entry.arm).name)
        context = replace(context, beside=tuple(planned_motion(skill) for skill in beside))
        if budget is not None:
            context = replace(context, budget=budget)
        skill: Skill = SKILLS.load(entry.name)(entry, context)
        return skill

    def _context(self, arm_name: str) -> SkillContext:
        scene = self.scene
        arm = scene.robot.arm(arm_name)
        if self._layout is None:
            raise SimCoreError("The episode was not reset. Call reset() first.")
        return SkillContext(
            robot=scene.robot,
            arm=arm,
            arm_model=arm_model(self.cfg.robot, arm.cfg),
            objects=scene.objects,
            views=scene.views[arm_name],
            checker=self._checker,
            robot_model=robot_model(scene.robot, arm.cfg, self._layout),
            fixtures=scene.fixtures,
            rates=self.cfg.world,
            budget=self.budget,
        )

    def standing(self) -> dict[str, ArmAction]:
        """The action in which every arm keeps its targets."""
        return {
            name: ArmAction.of(arm.q_target, arm.gripper_target_m, arm_model(self.cfg.robot, arm.cfg).kinematics.fk)
            for name, arm in self.scene.robot.arms.items()
        }

    def advance(self, arms: Mapping[str, ArmAction], *, skills: Sequence[Skill] = ()) -> None:
        """Simulates one record frame and judges it.

        Args:
            arms: Targets by arm name; arms that are left out keep theirs.
            skills: The skills whose stage it is; they say which joints are held.
        """
        idle = self.standing() if len(arms) < len(self.scene.robot.arms) else {}
        held: dict[str, frozenset[str]] = {}
        for skill in skills:
            for name, joints in skill.held_joints().items():
                held[name] = held.get(name, frozenset()) | joints
        self.advance_with(Action({**idle, **arms}, hold=self.scene.hold_flags(held)))

    def advance_with(self, action: Action) -> None:
        """Simulates one record frame with a whole action, hold events included, and judges it."""
        self.recorder.add_action(self.scene.action_values(action))
        self.scene.apply(action)
        speeds = self.scene.advance_frame(None if self.randomization is None else self.randomization.step)
        self._interval = self.scene.contact_values()
        self._interval[f"speeds.{self.cfg.robot.name}.max"] = np.float64(speeds.robot)
        for name, speed in speeds.objects.items():
            self._interval[f"speeds.{name}.max"] = np.float64(speed)
        self.judge.observe(action, speeds)

    def keep(self, doing: Mapping[str, Doing] = MappingProxyType({})) -> None:
        """Records the state that was read last.

        Args:
            doing: What each arm that acts is doing, by its name.
        """
        state: dict[str, Any] = self.scene.scene.state_dict(exclude_tags=NOT_RECORDED)
        state["time"] = np.float64(self._world.time_s)
        state.update(stage_values(self.judge, doing, list(self.scene.robot.arms)))
        self.recorder.add_frame(state, self._interval if self.recorder.n_states else None)
        self.state = state

    def begin_stage(self, index: int, *, beside: Sequence[Skill] = ()) -> Stage:
        """Makes the skill of an index and begins its stage, which ends at once if the skill moves nothing.

        Args:
            index: Its place in the chain.
            beside: Planned skills that other arms carry out at the same time.
        """
        skill = self.make_skill(self.ways(index)[0], beside=beside)
        stage = self.judge.begin_stage(skill, self.part_of(index), entry=index)
        if not skill.executes:
            self.judge.end_stage(stage)
        return stage

    def begin_due_stages(self) -> None:
        """Begins the stages whose turn it is, if any: for arms that no skill moves."""
        while due := self.judge.advance_stages():
            begun = [self.begin_stage(index) for index in due]
            if any(stage.skill.executes for stage in begun):
                break

    def conclude(self, failure: Failure | None = None) -> None:
        """Takes the verdict: the judge's, or a failure that came before its.

        Args:
            failure: What went wrong beside the rules that the judge keeps, such as a plan that does not exist.
        """
        if self._bug is None:
            found = [item for item in (self.failure, failure, self.judge.failure) if item is not None]
            self.failure = earliest(found)
        if self.judge.window is not None:
            self.settle = self.judge.settle_entry(*self.judge.window)

    def fail_with_bug(self, exc: Exception) -> None:
        """Notes an exception that nobody expected; it is why the episode failed, whatever the judge says."""
        self.failure = self._bug = Failure(
            "error",
            f"{type(exc).__name__}: {exc}",
            self._world.time_s,
            {"traceback": "".join(traceback.format_exception(exc))},
        )

    def record(self) -> EpisodeRecord:
        """The record of the episode, once `conclude` has taken its verdict.

        Raises:
            SimCoreError: It has neither succeeded nor failed yet.
        """
        if self.failure is None and not (self._built and self.judge.success):
            raise SimCoreError(f"Episode {self.number} has neither succeeded nor failed. Finish it first.")
        stages = self.judge.stages if self._built else []
        return EpisodeRecord(
            number=self.number,
            seed=self.seed,
            success=self.failure is None,
            code=None if self.failure is None else self.failure.code,
            evidence={} if self.failure is None else self.failure.entry(self.cfg.world, last_frame=max(0, self.frame)),
            language=self.language(),
            assets={name: asset.content_hash for name, asset in self._assets.items()},
            layout=self.layout(),
            applied={} if self.randomization is None else self.randomization.applied(),
            skills=[
                entry_of(stage, last_frame=self.frame, draw=draw)
                for stage, draw in zip(stages, phrasing_draws(self.seed, 1 + len(stages))[1:], strict=True)
            ],
            goal={"conditions": self.judge.goal if self._built else []},
            settle=self.settle,
            events=self._events,
            timings_ms=dict(self.timings_ms),
            arrays=self.recorder.arrays() if self.recorder.n_states else {},
        )

    def layout(self) -> dict[str, Any]:
        """What the reset applied, as plain values."""
        layout = self._layout.to_dict() if self._layout is not None else {}
        if self.preplan is not None:
            layout["preplan"] = self.preplan.to_dict()
        layout["instances"] = instances_of(self.cfg, self._assets)
        return layout

    def language(self) -> list[str]:
        """Phrasings of the instruction, filled in, the episode's own first; none before the reset."""
        if not self._assets:
            return []
        steps = [
            (entry.name, self._assets[entry.objects[0]], self.part_of(index))
            for index, entry in enumerate(self.cfg.skills)
            if not isinstance(entry, ArtPreplanCfg)
        ]
        return task_language(self.cfg.task.language, steps, phrasing_draws(self.seed, 1)[0])
