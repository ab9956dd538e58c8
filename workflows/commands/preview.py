"""`unlatch preview`: draws the scene of an episode with its regions and keypoints, without planning."""

from __future__ import annotations

from pathlib import Path

from unlatch.simcore.sim.renderers.auto import picture_renderer
from unlatch.simcore.sim.renderers.catalog import RENDERERS
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import parse_command_line
from unlatch.workflows.cli.composed_configs import configs_to_run
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.schema import PreviewCfg
from unlatch.workflows.viewing.output_file import check_suffix, output_path
from unlatch.workflows.viewing.picture import write_picture
from unlatch.workflows.viewing.scene_picture import open_scene

PICTURE_SIZE = (960, 720)
"""Width and height of the picture [pixels]."""
_REGION = (40, 90, 220)


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    line = parse_command_line(arguments, command="preview")
    for cfg in configs_to_run("preview", PreviewCfg, line):
        draw_preview(cfg)
    return OK


def draw_preview(cfg: PreviewCfg) -> Path:
    """Draws the scene of an episode and prints the layout; returns the picture's path."""
    RENDERERS.entry(picture_renderer(cfg.renderer))
    check_suffix(cfg.out, ".png")
    check_assets(cfg, number=cfg.episode)
    path = output_path(cfg.out, Path(f"preview-{cfg.task.name}-s{cfg.seed}-{cfg.episode}.png"))
    with open_scene(cfg, cfg.episode, renderer=cfg.renderer) as scene:
        overlay = scene.overlay(width=PICTURE_SIZE[0], height=PICTURE_SIZE[1])
        for region in cfg.task.regions:
            outline = scene.region_outline(region)
            overlay.line(outline, color=_REGION)
            overlay.text_at(outline[0], f"region of {region.object}")
        overlay.labels(scene.keypoints())
        write_picture(overlay.picture(), path)
        for text in scene.description():
            print_line(text)
    print_line(f"picture: {relative_path(path)}")
    return path
