"""Plans an episode without executing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import count_noun
from unlatch.skills.commands import ManipCommand
from unlatch.skills.skill import Skill
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import KeyframePlan
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.viewing.scene_picture import DrawnScene, open_scene


@dataclass(frozen=True)
class SkillPlan:
    """What one arm planned for its first skill."""

    arm: str
    skill: str
    part: str | None
    """The part it acts on."""
    plan: KeyframePlan | None
    """Keyframes, path, residuals and timings, or the diagnosis; None if the planner was not reached."""
    code: str | None
    """Failure code if the skill cannot be executed, else None."""
    message: str
    """Why, in one line; empty if the skill can be executed."""
    commands: tuple[ManipCommand, ...] = ()
    """What the arm does, one command after the other; empty if the skill cannot be executed."""

    @property
    def found(self) -> bool:
        """Whether the skill can be executed."""
        return self.code is None and self.plan is not None and self.plan.found

    def lines(self) -> list[str]:
        """Returns the plan, or why there is none, in lines of text."""
        if self.plan is None:
            return [] if self.code is None else [f"no plan, {self.code}: {self.message}"]
        spent = ", ".join(f"{stage} {value:.1f}" for stage, value in self.plan.timings_ms.items())
        tried = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in self.plan.counts.items())
        ends = [f"tried: {tried}", f"timings [ms]: {spent}"]
        if not self.plan.found:
            return [*self._refusal_lines(self.plan), *ends]
        lines = [*repr(self.plan).splitlines(), *_residual_lines(self.plan)]
        if self.code is not None:
            lines.append(f"{self.code}: {self.message}")
        if self.commands:
            lines.append("commands:")
        for number, command in enumerate(self.commands):
            still = f", {command.dwell_frames} of them at rest" if command.dwell_frames else ""
            frames = count_noun(command.frames, "frame")
            lines.append(f"  [{number}] {command.phase.name:8} {command.kind.value}: {frames}{still}")
        return [*lines, *ends]

    def _refusal_lines(self, plan: KeyframePlan) -> list[str]:
        """Returns why there is no plan; with the residuals of the goal if one was found."""
        if plan.diagnosis is not None:
            lines = ["no plan", *(f"  {line}" for line in plan.diagnosis.lines())]
        else:
            lines = ["no plan" if self.code is None else f"no plan, {self.code}: {self.message}"]
        lines += [f"  note: {notice}" for notice in plan.notices]
        return [*lines, *_residual_lines(plan)] if plan.solution is not None and plan.solution.found else lines


def _residual_lines(plan: KeyframePlan) -> list[str]:
    if plan.solution is None:
        return []
    return ["residuals at the goal:", *(f"  {residual}" for residual in plan.solution.residuals)]


@dataclass(frozen=True)
class EpisodePlan:
    """What was planned for one episode, or why there is no plan; `print(plan)` shows it."""

    episode: int
    scene: tuple[str, ...]
    """What was drawn for this episode, in lines of text."""
    skills: tuple[SkillPlan, ...] = ()
    """One for each arm that acts first; empty if the scene was refused."""
    code: str | None = None
    """Failure code if the scene was refused, else None."""
    search_diagnosis: Diagnosis | None = None
    """Why the typical layout of a search that chose none has no plan; see `diagnosis`."""

    @property
    def found(self) -> bool:
        """Whether there is a plan for every arm that acts first."""
        return self.code is None and bool(self.skills) and all(skill.found for skill in self.skills)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Why there is no plan: terms that contradict each other, what is out of reach, or what is in the way.

        Where `artpreplan` refused all layouts, it is that of the last layout with the most frequent reason. None if
        there is a plan, or if the planner was not reached, such as where things overlap at the start.
        """
        plans = [skill.plan for skill in self.skills if skill.plan is not None]
        return next((plan.diagnosis for plan in plans if plan.diagnosis is not None), self.search_diagnosis)

    def lines(self) -> list[str]:
        """Returns scene, plan and diagnosis in lines of text."""
        lines = list(self.scene)
        for skill in self.skills:
            if len(self.skills) > 1:
                lines.append(f"{skill.arm}: {skill.skill} '{skill.part}'")
            lines += skill.lines()
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def plan(cfg: EpisodeCfg, *, episode: int = 0) -> EpisodePlan:
    """Plans the first skill of an episode without executing it; if two arms begin together, the skills of both.

    Args:
        cfg: The configuration, see `load`.
        episode: Episode number.

    Returns:
        The plan, or a diagnosis of why there is none: both are values. `plan.skills[0].plan` is a `KeyframePlan` with
        keyframes, path segments (joint positions of shape (T, n_q) [rad]), residuals and timings.

    Raises:
        ConfigError: The configuration does not fit its objects or its robot.
        AssetError: An object is missing or damaged.

    Example:
        >>> plan = unlatch.plan(unlatch.load("open_microwave", seed=7), episode=3)
        >>> plan.found
        True
        >>> plan.skills[0].plan.segments[0].q.shape
        (31, 7)
    """
    with planned_scene(cfg, episode) as (_, _, found):
        return found


@contextmanager
def planned_scene(
    cfg: EpisodeCfg, episode: int, *, visuals: bool = False
) -> Iterator[tuple[DrawnScene, list[Skill], EpisodePlan]]:
    """Plans an episode and keeps its scene open: yields the scene, the skills that were planned, and the plan."""
    check_assets(cfg, number=episode)
    with EpisodeRunner(cfg) as runner:
        runner.warm_up()  # the timings are those of an episode in a run
    with open_scene(cfg, episode, visuals=visuals) as scene:
        lines = list(scene.description())
        if scene.episode.randomization is not None:
            lines += scene.episode.randomization.lines()
        failure = scene.episode.failure
        skills = Attempt(scene.episode).plan_stage() if failure is None else []
        plans = tuple(plan_of_skill(skill) for skill in skills)
        search = scene.episode.planner.layout_search
        yield (
            scene,
            skills,
            EpisodePlan(
                episode,
                tuple(lines),
                plans,
                code=None if failure is None else failure.code,
                search_diagnosis=None if failure is None or search is None else search.diagnosis(),
            ),
        )


def plan_of_skill(skill: Skill) -> SkillPlan:
    """Returns what a skill planned, or why it has no plan."""
    failure = skill.failure
    return SkillPlan(
        arm=skill.context.arm.name,
        skill=skill.cfg.name,
        part=skill.cfg.part,
        plan=skill.keyframe_plan,
        code=None if failure is None else failure.code,
        message="" if failure is None else failure.message,
        commands=tuple(skill.commands) if failure is None else (),
    )
