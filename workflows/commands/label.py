"""`unlatch label`: writes images of recorded episodes with labels for training estimators of poses and boxes."""

from __future__ import annotations

from unlatch.workflows.cli.camera_arguments import read_camera_arguments
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.images.label import LabelCfg, label
from unlatch.workflows.runs.progress import StepProgress


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    data_set, cfg, request = read_camera_arguments("label", arguments, LabelCfg)
    with StepProgress("images") as progress:
        report = label(data_set, cfg, request, on_image=progress.update)
    for camera, (images, labels) in report.counts.items():
        print_line(f"{camera}: {images} images, {labels} labelled things")
    print_line(f"labels: {relative_path(report.folder)}")
    return OK
