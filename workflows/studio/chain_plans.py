"""Plans a whole chain for the page: every skill from where the plan of the one before it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from unlatch.configs.chain import entry_keys
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.skills.contract.command import ManipKind
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.planning.plan import KeyframePlan
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.chain_planner import PlannedSkill
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.layout_search import LayoutSearch
from unlatch.workflows.episode.layout_search_report import LayoutCandidate
from unlatch.workflows.runs.plan import plan_of_skill
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.studio.jobs import Array, ShownCarry, ShownKeyframe, ShownPlan, ShownSegment


@dataclass(frozen=True)
class _Stage:
    """Skills that begin together, as they were planned."""

    indices: tuple[int, ...]
    planned: tuple[PlannedSkill, ...]
    state: Mapping[str, Array]
    """State of the scene in which they were planned, by the key of the record."""
    bases: tuple[Pose, ...]
    """Pose of the base of each skill's arm in the world frame."""


class ChainPlans:
    """Keeps what is planned for an episode; a search for a layout plans the chain before the episode begins."""

    def __init__(self, runner: EpisodeRunner, number: int) -> None:
        """Makes an episode, which has not begun, and listens to its search for a layout."""
        self._stages: dict[int, dict[tuple[int, ...], _Stage]] = {}
        """By layout, then by the indices of the skills."""
        self.episode = runner.episode(number, replace(runner.options, on_planned=self._keep))
        """The episode."""

    def _keep(self, episode: Episode, layout: int, indices: Sequence[int], planned: Sequence[PlannedSkill]) -> None:
        state = episode.scene.state_tree.state_dict(exclude_tags=NOT_RECORDED)
        bases = tuple(skill.context.arm.T_world_base for skill, _ in planned)
        stage = _Stage(tuple(indices), tuple(planned), state, bases)
        self._stages.setdefault(layout, {})[stage.indices] = stage

    def plan(self) -> tuple[list[ShownPlan], list[Mapping[str, Array]]]:
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
        keys = entry_keys(episode.cfg.skills, episode.cfg.robot.name)
        plans = [
            replace(_shown_plan(planned, keys[index], T_world_base), stage=number)
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


def _shown_plan(planned: PlannedSkill, key: str, T_world_base: Pose) -> ShownPlan:
    skill, refused = planned
    made = plan_of_skill(skill)
    plan, context = skill.keyframe_plan, skill.context
    item = context.objects.get(skill.cfg.objects[0])
    part = skill.cfg.part
    joint = item.asset.articulation.part(part).joint if item is not None and part is not None else None
    evidence = {} if plan is None or plan.diagnosis is None else plan.diagnosis.evidence
    solution = None if plan is None else plan.solution
    return ShownPlan(
        arm=context.arm.name,
        skill=skill.cfg.name,
        key=key,
        object=skill.cfg.objects[0],
        part=part,
        joint=joint,
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
        keyframes=() if plan is None else tuple(_shown_keyframes(plan, T_world_base)),
        segments=() if plan is None else tuple(_shown_segments(planned, plan, T_world_base)),
        carried=_shown_carry(planned),
    )


def _shown_carry(planned: PlannedSkill) -> ShownCarry | None:
    """Returns what the hand carries, and in which frames of the plan's motion."""
    frame, first, last, name = 0, 0, None, ""
    for command in planned.skill.commands:
        if command.kind is ManipKind.attach_obj:
            first, name = frame, str(command.params["object"])
        elif command.kind is ManipKind.detach_obj:
            last, name = frame, str(command.params["object"])
        frame += 0 if command.motion is None else len(command.motion)
    return ShownCarry(name, first, frame if last is None else last) if name else None


def _shown_keyframes(plan: KeyframePlan, T_world_base: Pose) -> Iterator[ShownKeyframe]:
    for each in plan.keyframes:
        pose = T_world_base @ each.T_base_ee
        yield ShownKeyframe(each.label, np.asarray(each.q), each.s, pose.p, pose.quat_wxyz)


def _shown_segments(planned: PlannedSkill, plan: KeyframePlan, T_world_base: Pose) -> Iterator[ShownSegment]:
    model = planned.skill.context.arm_model
    tip = model.tool_keypoints.get("tool_head", np.zeros(3))
    for segment in plan.segments:
        R, p = model.kinematics.fk_batch(np.asarray(segment.q))  # (T, 3, 3), (T, 3)
        path: Array = (R @ tip + p) @ T_world_base.R.T + T_world_base.p  # (T, 3)
        yield ShownSegment(segment.kind, np.asarray(segment.q), segment.s, path)
