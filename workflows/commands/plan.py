"""`unlatch plan`: plans one episode without executing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unlatch.workflows.cli.arguments import FLAGS, CommandLine, load_configs, parse_command_line
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import FAILED, OK, banner_hidden, print_line, print_note, print_wrapped

if TYPE_CHECKING:
    import numpy as np

    from unlatch.skills.contract.skill import Skill
    from unlatch.solver.planning.plan import KeyframePlan
    from unlatch.workflows.runs.schema import PlanCfg
    from unlatch.workflows.viewing.overlay import Overlay
    from unlatch.workflows.viewing.scene_picture import DrawnScene

HELP = f"""usage: unlatch plan task=TASK [key=value ...]
       unlatch plan object=PATH skill=open|close|rotate [part=NAME] [key=value ...]

Plans the first skill of one episode, or the first skill of each arm if two arms begin together. Prints keyframes,
residuals and timings, or why there is no plan (exit code 1). Executes nothing.

  episode=0          episode number
  picture=true       draw keyframes and path; out=FILE also does this
  out=FILE.png       the picture; default: plan-<task>-s<seed>-<episode>.png

{FLAGS}"""

PICTURE_SIZE = (960, 720)
"""Width and height of the picture [pixels]."""
_COLORS = {
    "transit": (130, 130, 130),
    "approach": (40, 90, 220),
    "contact": (230, 120, 20),
    "follow": (20, 150, 60),
    "retreat": (150, 60, 170),
}
_AXES = ((220, 40, 40), (40, 170, 60), (50, 90, 230))
_AXIS_M = 0.05


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, lambda arguments: _main(parse_command_line(arguments)))


def _main(line: CommandLine) -> int:
    from unlatch.workflows.runs.schema import PlanCfg

    code = OK
    for job in load_configs("plan", PlanCfg, line):
        if line.show:
            print_line(job.yaml.rstrip())
            continue
        for notice in job.notices:
            print_note(notice)
        code = max(code, plan(job.cfg))
    return code


def plan(cfg: PlanCfg) -> int:
    """Plans the first skills of an episode, one for each arm that acts first, and prints what came of it.

    Args:
        cfg: The episode, and whether and where to draw it.

    Returns:
        The exit code: 0, or 1 if there is no plan.
    """
    from unlatch.workflows.episode.asset_checks import check_assets

    with banner_hidden():
        from unlatch.workflows.episode.attempt import Attempt
        from unlatch.workflows.runs.runner import EpisodeRunner
        from unlatch.workflows.viewing.picture import write_picture
        from unlatch.workflows.viewing.scene_picture import open_scene

    check_assets(cfg, number=cfg.episode)
    with EpisodeRunner(cfg) as runner:
        runner.warm_up()  # the times that are printed are those of an episode in a run
    with open_scene(cfg, cfg.episode, visuals=cfg.picture or cfg.out is not None) as scene:
        for text in scene.description():
            print_wrapped(text)
        if scene.episode.randomization is not None:
            for text in scene.episode.randomization.lines():
                print_wrapped(text)
        if scene.episode.failure is not None:
            return FAILED
        skills = Attempt(scene.episode).plan_stage()
        for skill in skills:
            if len(skills) > 1:
                print_line(f"{skill.context.arm.name}: {skill.cfg.name} '{skill.cfg.part}'")
            for text in plan_lines(skill):
                print_wrapped(text)
        if cfg.picture or cfg.out is not None:
            path = Path(cfg.out or f"plan-{cfg.task.name}-s{cfg.seed}-{cfg.episode}.png").absolute()
            write_picture(_drawn(scene, skills), path)
            print_line(f"picture: {path}")
    return OK if all(skill.failure is None for skill in skills) else FAILED


def plan_lines(skill: Skill) -> list[str]:
    """What a skill planned, or why it has no plan, in lines."""
    made = skill.keyframe_plan
    if made is None:
        failure = skill.failure
        return [] if failure is None else [f"no plan, {failure.code}: {failure.message}"]
    spent = ", ".join(f"{stage} {value:.1f}" for stage, value in made.timings_ms.items())
    tried = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in made.counts.items())
    ends = [f"tried: {tried}", f"timings [ms]: {spent}"]
    if not made.found:
        return [*_refusal_lines(skill, made), *ends]
    lines = repr(made).splitlines()
    if made.solution is not None:
        lines += ["residuals at the goal:", *(f"  {residual}" for residual in made.solution.residuals)]
    if skill.failure is not None:
        lines.append(f"{skill.failure.code}: {skill.failure.message}")
    return [*lines, *ends]


def _refusal_lines(skill: Skill, made: KeyframePlan) -> list[str]:
    """Why there is no plan; the residuals of a goal that was found, where the reason lies behind it."""
    if made.diagnosis is not None:
        lines = ["no plan", *(f"  {line}" for line in made.diagnosis.lines())]
    else:
        lines = ["no plan" if skill.failure is None else f"no plan, {skill.failure.code}: {skill.failure.message}"]
    lines += [f"  note: {notice}" for notice in made.notices]
    if made.solution is not None and made.solution.found:
        lines += ["residuals at the goal:", *(f"  {residual}" for residual in made.solution.residuals)]
    return lines


def _drawn(scene: DrawnScene, skills: Sequence[Skill]) -> np.ndarray:
    """The scene with the ways of the hands, their keyframes and the object's keypoints."""
    overlay = scene.overlay(width=PICTURE_SIZE[0], height=PICTURE_SIZE[1])
    overlay.labels(scene.keypoints())
    for skill in skills:
        _draw_plan(overlay, skill)
    return overlay.picture()


def _draw_plan(overlay: Overlay, skill: Skill) -> None:
    """Draws what one arm is going to do."""
    import numpy as np

    made = skill.keyframe_plan
    if made is None:
        return
    T_world_base = skill.context.arm.T_world_base
    kinematics = skill.context.arm_model.kinematics
    tip = skill.context.arm_model.tool_keypoints.get("tool_head", np.zeros(3))
    for segment in made.segments:
        poses = [np.asarray(kinematics.fk(q)) for q in segment.q]  # (4, 4) each
        way = np.array([T_world_base @ (T[:3, :3] @ tip + T[:3, 3]) for T in poses])  # (T, 3)
        overlay.line(way, color=_COLORS.get(segment.kind, (0, 0, 0)), width=3)
    for index, keyframe in enumerate(made.keyframes):
        T_world_ee = T_world_base @ keyframe.T_base_ee
        origin = T_world_ee @ np.asarray(tip)
        for axis, color in zip(np.eye(3), _AXES, strict=True):
            overlay.line(np.array([origin, origin + _AXIS_M * T_world_ee.rotate(axis)]), color=color, width=3)
        overlay.text_at(origin, f"{index} {keyframe.label}")
