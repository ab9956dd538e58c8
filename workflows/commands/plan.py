"""`unlatch plan`: plans one episode without executing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unlatch.objects.library import describe_folder
from unlatch.skills.contract.skill import Skill
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import parse_command_line
from unlatch.workflows.cli.composed_configs import configs_to_run
from unlatch.workflows.cli.console import FAILED, OK, print_line, print_note, print_wrapped, relative_path
from unlatch.workflows.cli.debugger import debugging
from unlatch.workflows.runs.plan import planned_scene
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.viewing.output_file import check_suffix, output_path
from unlatch.workflows.viewing.overlay import Overlay
from unlatch.workflows.viewing.picture import write_picture
from unlatch.workflows.viewing.scene_picture import DrawnScene

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


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="plan")
    with debugging(active=line.pdb):
        return max((plan_and_report(cfg) for cfg in configs_to_run("plan", PlanCfg, line)), default=OK)


def plan_and_report(cfg: PlanCfg) -> int:
    """Plans the first skills of an episode, one for each arm that acts first, and prints the plan or the diagnosis."""
    wants_picture = cfg.picture or cfg.out is not None
    path = output_path(cfg.out, Path(f"plan-{cfg.task.name}-s{cfg.seed}-{cfg.episode}.png")) if wants_picture else None
    check_suffix(cfg.out, ".png")
    for line in filter(None, map(describe_folder, cfg.all_objects().values())):
        print_note(f"unlatch: {line}")
    with planned_scene(cfg, cfg.episode, visuals=wants_picture) as (scene, skills, plan):
        for text in plan.lines():
            print_wrapped(text)
        if path is not None:
            write_picture(_draw_scene(scene, skills), path)
            print_line(
                f"picture: {relative_path(path)}" + ("" if plan.found else " (the scene: there is no plan to draw)")
            )
    return OK if plan.found else FAILED


def _draw_scene(scene: DrawnScene, skills: Sequence[Skill]) -> np.ndarray:
    """Draws the scene with the paths of the hands, their keyframes and the object's keypoints."""
    overlay = scene.overlay(width=PICTURE_SIZE[0], height=PICTURE_SIZE[1])
    overlay.labels(scene.keypoints())
    for skill in skills:
        _draw_plan(overlay, skill)
    return overlay.picture()


def _draw_plan(overlay: Overlay, skill: Skill) -> None:
    """Draws the path of one hand and its keyframes."""
    made = skill.keyframe_plan
    if made is None:
        return
    T_world_base = skill.context.arm.T_world_base
    kinematics = skill.context.arm_model.kinematics
    tip = skill.context.arm_model.tool_keypoints.get("tool_head", np.zeros(3))
    for segment in made.segments:
        poses = [np.asarray(kinematics.fk(q)) for q in segment.q]  # (4, 4) each
        path = np.array([T_world_base @ (T[:3, :3] @ tip + T[:3, 3]) for T in poses])  # (T, 3)
        overlay.line(path, color=_COLORS.get(segment.kind, (0, 0, 0)), width=3)
    for index, keyframe in enumerate(made.keyframes):
        T_world_ee = T_world_base @ keyframe.T_base_ee
        origin = T_world_ee @ np.asarray(tip)
        for axis, color in zip(np.eye(3), _AXES, strict=True):
            overlay.line(np.array([origin, origin + _AXIS_M * T_world_ee.rotate(axis)]), color=color, width=3)
        overlay.text_at(origin, f"{index} {keyframe.label}")
