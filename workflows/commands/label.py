"""`unlatch label`: writes images of recorded episodes with labels for training estimators of poses and boxes."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.configs.composition import Request
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.camera_arguments import camera_command
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.images.label import LabelCfg, label


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return camera_command("label", argv, LabelCfg, _run)


def _run(data_set: DataSet, cfg: LabelCfg, request: Request) -> int:
    report = label(data_set, cfg, request)
    for camera, (images, labels) in report.counts.items():
        print_line(f"{camera}: {images} images, {labels} things in them")
    print_line(f"labels: {relative_path(report.folder)}")
    return OK
