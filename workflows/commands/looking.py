"""Commands that show one episode: `plan`, `preview`, `phases`, `clip` and `view`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from unlatch.objects.library import describe_folder
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import count_noun
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.sim.renderers.auto import choose_renderer
from unlatch.skills.skill import Skill
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.debugger import debugging
from unlatch.workflows.cli.run_report import configs_to_run
from unlatch.workflows.cli.terminal import (
    FAILED,
    OK,
    command,
    parse_command_line,
    print_line,
    print_note,
    print_wrapped,
    relative_path,
)
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.plan import planned_scene
from unlatch.workflows.runs.recorded_config import check_episode, config_of
from unlatch.workflows.runs.schema import PlanCfg, PreviewCfg
from unlatch.workflows.runs.step_progress import StepProgress
from unlatch.workflows.viewing.clip import ClipCfg, check_clip_file, write_clip
from unlatch.workflows.viewing.episode_files import CLIP, PHASES, VIEW
from unlatch.workflows.viewing.phase_sheet import write_phases
from unlatch.workflows.viewing.picture import (
    SEGMENT_RGB,
    Overlay,
    check_suffix,
    output_path,
    write_output,
    write_picture,
)
from unlatch.workflows.viewing.recorded_scene import read_scene
from unlatch.workflows.viewing.scene_picture import DrawnScene, open_scene
from unlatch.workflows.viewing.viewers import VIEWERS

PICTURE_SIZE = (960, 720)
"""Width and height of the picture [pixels]."""
_AXES = ((220, 40, 40), (40, 170, 60), (50, 90, 230))
_AXIS_M = 0.05


@command
def plan_command(arguments: list[str]) -> int:
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
        overlay.line(path, color=SEGMENT_RGB.get(segment.kind, (0, 0, 0)), width=3)
    for index, keyframe in enumerate(made.keyframes):
        T_world_ee = T_world_base @ keyframe.T_base_ee
        origin = T_world_ee @ np.asarray(tip)
        for axis, color in zip(np.eye(3), _AXES, strict=True):
            overlay.line(np.array([origin, origin + _AXIS_M * T_world_ee.rotate(axis)]), color=color, width=3)
        overlay.text_at(origin, f"{index} {keyframe.label}")


@command
def preview_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="preview")
    for cfg in configs_to_run("preview", PreviewCfg, line):
        draw_preview(cfg)
    return OK


def draw_preview(cfg: PreviewCfg) -> Path:
    """Draws the scene of an episode and prints the layout; returns the picture's path."""
    renderer = choose_renderer(cfg.renderer)
    RENDERERS.entry(renderer)
    check_suffix(cfg.out, ".png")
    check_assets(cfg, number=cfg.episode)
    path = output_path(cfg.out, Path(f"preview-{cfg.task.name}-s{cfg.seed}-{cfg.episode}.png"))
    with open_scene(cfg, cfg.episode, renderer=renderer) as scene:
        overlay = scene.overlay(width=PICTURE_SIZE[0], height=PICTURE_SIZE[1])
        for region in cfg.task.regions:
            outline = scene.region_outline(region)
            overlay.line(outline, color=(40, 90, 220))
            overlay.text_at(outline[0], f"region of {region.object}")
        overlay.labels(scene.keypoints())
        write_picture(overlay.picture(), path)
        for text in scene.description():
            print_line(text)
    print_line(f"picture: {relative_path(path)}, renderer {renderer}")
    return path


@dataclass
class PhasesCfg:
    """Options of `unlatch phases`."""

    episode: int = 0
    """Episode number."""
    columns: Annotated[int, Range(1, 12)] = 5
    """Largest number of pictures in a row."""
    out: str | None = None
    """File to write; null: phases-<episode>.png in the data set."""

    def __post_init__(self) -> None:
        check_ranges(self)
        check_suffix(self.out, ".png")


@command
def phases_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("phases", arguments, exactly=1)
    started = time.perf_counter()
    with StepProgress("pictures") as progress:
        data_set, cfg = DataSet.open(path), read_pairs(PhasesCfg, pairs)
        check_episode(data_set, cfg.episode)
        file = output_path(cfg.out, data_set.path / PHASES.format(number=cfg.episode))
        record = data_set.read(cfg.episode)
        moments = write_phases(config_of(data_set), record, file, columns=cfg.columns, progress=progress)
    print_line(
        f"phases: {relative_path(file)} ({count_noun(moments, 'moment')}, {time.perf_counter() - started:.1f} s)"
    )
    return OK


@dataclass
class ClipCommandCfg(ClipCfg):
    """Options of `unlatch clip`."""

    episode: int = 0
    """Episode number."""
    out: str | None = None
    """File to write, `.mp4`, `.webp` or `.gif`; null: clip-<episode>.mp4 in the data set."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_clip_file(self.out, self)


@command
def clip_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="clip")
    (path,), pairs = split_paths("clip", line.overrides, exactly=1)
    data_set, cfg = DataSet.open(path), read_pairs(ClipCommandCfg, pairs)
    check_episode(data_set, cfg.episode)
    out = cfg.out or str(data_set.path / CLIP.format(number=cfg.episode))
    record = data_set.read(cfg.episode)
    started = time.perf_counter()
    with StepProgress("pictures") as progress:
        made = write_clip(config_of(data_set), record, cfg, out, config_dirs=line.config_dirs, on_frame=progress.update)
    print_line(
        f"clip: {relative_path(made.path)} ({made.frames} pictures, {made.length_s:.1f} s, "
        f"{made.path.stat().st_size / 1e6:.1f} MB; renderer {made.renderer}, {time.perf_counter() - started:.1f} s)"
    )
    return OK


@dataclass
class ViewPageCfg:
    """Options of `unlatch view`."""

    episode: int = 0
    """Episode number."""
    format: str = "html"
    """Name in the catalog of viewers."""
    out: str | None = None
    """File to write; null: view-<episode>.<format> in the data set."""


@command
def view_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    (path,), pairs = split_paths("view", arguments, exactly=1)
    started = time.perf_counter()
    data_set, cfg = DataSet.open(path), read_pairs(ViewPageCfg, pairs)
    VIEWERS.entry(cfg.format)
    check_episode(data_set, cfg.episode)
    check_suffix(cfg.out, f".{cfg.format}", formats=VIEWERS.names())
    file = output_path(cfg.out, data_set.path / VIEW.format(number=cfg.episode, format=cfg.format))
    scene, notices = read_scene(data_set, cfg.episode)
    write_output(file, VIEWERS.load(cfg.format)(scene))
    for notice in notices:
        print_note(f"unlatch: {notice}")
    print_line(
        f"view: {relative_path(file)} ({file.stat().st_size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s)"
    )
    return OK
