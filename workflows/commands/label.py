"""`unlatch label`: writes images of recorded episodes with labels for training estimators of poses and boxes."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.configs.composition import Request
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.camera_arguments import camera_command
from unlatch.workflows.cli.console import OK, print_line, relative_path
from unlatch.workflows.images.label import LabelCfg, label

HELP = """usage: unlatch label DATA out=FOLDER [cameras=[front]] [every=30] [key=value ...]

Writes images of recorded episodes with boxes, poses, keypoints and masks of everything that is visible in them. For
each camera: <episode>_<frame>.png with a JSON of the same name in the format that DOPE is trained from; coco.json in
the format of COCO; and annotated.png, one image with its labels drawn on it.

  out=FOLDER             folder to create; it must not exist yet
  cameras=[front]        names of sensors of the records, names of YAML files of the group `sensor`, or entries
  every=30               frames between images
  only=[3,17]            only these episodes; default: all successes
  semantic_types=[part,class]      what is labelled: class, body, part, link (docs/annotators.md)
  camera_rotation_deg=[0,0,0]      rotation from our camera frame to the camera frame of labelled poses
  leave_out=[table]      classes that are not labelled
  --config-dir DIR       look for YAML files in DIR too
"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return camera_command("label", argv, HELP, LabelCfg, _run)


def _run(data_set: DataSet, cfg: LabelCfg, request: Request) -> int:
    report = label(data_set, cfg, request)
    for camera, (images, labels) in report.counts.items():
        print_line(f"{camera}: {images} images, {labels} things in them")
    print_line(f"labels: {relative_path(report.folder)}")
    return OK
