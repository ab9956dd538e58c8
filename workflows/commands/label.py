"""`unlatch label`: images of recorded episodes with the labels that estimators of poses and boxes are trained from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import not_writable
from unlatch.workflows.cli.camera_arguments import camera_command
from unlatch.workflows.cli.console import OK, banner_hidden, say, shown

if TYPE_CHECKING:
    from unlatch.configs.schema import EpisodeCfg
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.sim.annotators.config import AnnotationCfg
    from unlatch.simcore.sim.annotators.formats.coco_file import CocoFile
    from unlatch.simcore.sim.annotators.shot import Shot
    from unlatch.workflows.viewing.scene_picture import RecordedWorld

HELP = """usage: unlatch label DATA out=FOLDER [cameras=[front]] [every=30] [key=value ...]

Makes images of recorded episodes with boxes, poses, keypoints and masks of everything that is seen in them. Of every
camera: <episode>_<frame>.png with a JSON of the same name, as DOPE is trained from; coco.json, as COCO's readers take
it; and annotated.png, in which one image is drawn upon.

  out=FOLDER             where they go; it must not be there yet
  cameras=[front]        names of sensors of the records, of YAML files of the group `sensor`, or entries
  every=30               frames between images
  only=[3,17]            just these episodes; default: all successes
  semantic_types=[part,class]      what is labelled: class, body, part, link (docs/annotators.md)
  camera_rotation_deg=[0,0,0]      the camera frame of poses, from ours
  leave_out=[table]      classes that are not labelled
  --config-dir DIR       look for YAML files in DIR too
"""
_COCO_FILE = "coco.json"
_PICTURE = "annotated.png"


@dataclass
class LabelCfg:
    """`unlatch label`, beside its data set."""

    out: str | None = None
    """Folder that is made."""
    cameras: list[Any] = field(default_factory=lambda: ["front"])
    """Names or entries."""
    every: int = 30
    """Frames between images."""
    only: list[int] | None = None
    """Just these episodes; null: all successes."""
    semantic_types: list[str] = field(default_factory=lambda: ["part", "class"])
    """What is labelled."""
    camera_rotation_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """The camera frame of poses, from ours [degrees]."""
    leave_out: list[str] = field(default_factory=lambda: ["table"])
    """Classes that are not labelled."""

    def __post_init__(self) -> None:
        if self.out is None:
            raise ConfigError("out= is missing. Expected the folder that is made. Name it.", key="out")
        if self.every < 1:
            raise ConfigError(f"every={self.every} is out of range. Expected 1 or more. Raise it.", key="every")


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return camera_command("label", argv, HELP, LabelCfg, label)


def label(data_set: DataSet, cfg: LabelCfg, request: Any = None) -> int:
    """Writes the images and labels.

    Args:
        data_set: The data set.
        cfg: What is labelled.
        request: Overrides of cameras, and folders of YAML files; see `unlatch.configs.cameras.read_looks`.

    Raises:
        SimCoreError: The input is at fault.
    """
    with banner_hidden():  # these load the engine
        from unlatch.configs.cameras import read_looks, with_cameras
        from unlatch.simcore.sim.annotators.config import AnnotationCfg
        from unlatch.simcore.sim.annotators.formats.coco_file import CocoFile
        from unlatch.workflows.runs.recorded import config_of

    asked = AnnotationCfg(
        semantic_types=cfg.semantic_types, leave_out=cfg.leave_out, camera_rotation_deg=cfg.camera_rotation_deg
    )
    numbers = _chosen(data_set, cfg)
    episode_cfg = config_of(data_set)
    with banner_hidden():  # a camera may be a plugin's
        looks = read_looks(episode_cfg, cfg.cameras, request=request)
    out = Path(str(cfg.out)).expanduser().absolute()
    files = {camera.name: CocoFile() for camera in looks.cameras}
    cfg_seen = with_cameras(episode_cfg, looks.cameras)
    with _draft_of(out) as draft:
        for number in numbers:
            _write_episode(data_set, number, cfg_seen, asked, files, draft, every=cfg.every)
        for name, file in files.items():
            (draft / name / _COCO_FILE).write_text(json.dumps(file.content), encoding="utf-8")
    for name, file in files.items():
        content = file.content
        say(f"{name}: {len(content['images'])} images, {len(content['annotations'])} things in them")
    say(f"labels: {shown(out)}")
    return OK


def _chosen(data_set: DataSet, cfg: LabelCfg) -> list[int]:
    from unlatch.workflows.runs.recorded import check_episode

    for number in cfg.only or ():
        check_episode(data_set, number)
    if cfg.only is not None:
        if not cfg.only:
            raise ConfigError("only=[] names no episode. Expected one or more. Name some, or leave it out.", key="only")
        return sorted(set(cfg.only))
    numbers = [item.number for item in data_set.summaries() if item.success]
    if not numbers:
        raise ConfigError(f"'{data_set.path}' has no success. Expected at least one. Name episodes: only=[0].")
    return numbers


@contextmanager
def _draft_of(out: Path) -> Iterator[Path]:
    """A folder beside another, which it becomes at the end; it is gone where that is not reached.

    Raises:
        RecordingError: The folder is there already, or nothing can be written.
    """
    if out.exists():
        raise RecordingError(
            f"Folder '{out}' is there already. Expected one that is not there yet. Name another out=.", path=str(out)
        )
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
            draft = Path(scratch) / out.name
            draft.mkdir()
            yield draft
            draft.rename(out)
    except OSError as exc:
        raise not_writable(out.parent, exc) from exc


def _write_episode(
    data_set: DataSet,
    number: int,
    cfg: EpisodeCfg,
    asked: AnnotationCfg,
    files: dict[str, CocoFile],
    out: Path,
    *,
    every: int,
) -> None:
    from PIL import Image

    from unlatch.simcore.sim.annotators.formats.dope_file import dope_frame
    from unlatch.simcore.sim.annotators.formats.drawing import drawn
    from unlatch.workflows.episode.semantic_classes import check_classes
    from unlatch.workflows.viewing.scene_picture import open_record

    record = data_set.read(number)
    with banner_hidden(), open_record(cfg, record) as opened:
        check_classes(asked.leave_out, opened.world, key="leave_out")
        frames = range(0, record.n_actions + 1, every)
        for frame in frames:
            for camera, shot in _shots(opened, frame, asked):
                folder, name = out / camera, f"{number:06d}_{frame:06d}"
                folder.mkdir(exist_ok=True)
                Image.fromarray(shot.images.rgb).save(folder / f"{name}.png")
                (folder / f"{name}.json").write_text(json.dumps(dope_frame(shot), indent=1), encoding="utf-8")
                files[camera].add(shot, f"{name}.png")
                if frame == frames[len(frames) // 2] and not (folder / _PICTURE).exists():
                    Image.fromarray(drawn(shot)).save(folder / _PICTURE)


def _shots(opened: RecordedWorld, frame: int, asked: AnnotationCfg) -> Iterator[tuple[str, Shot]]:
    """What every camera sees in a frame, by its name."""
    from unlatch.simcore.sim.annotators.shot import take_shot
    from unlatch.workflows.episode.randomization.visual_views import cameras

    opened.show(frame)
    scene = opened.episode.scene.scene
    scene.keypoints.update_state()
    for camera in cameras(opened.episode.scene):
        yield (
            camera.cfg.name,
            take_shot(
                opened.world,
                camera.optics,
                camera.T_world_sensor,
                near_m=camera.cfg.near_m,
                far_m=camera.cfg.far_m,
                cfg=asked,
                keypoints=scene.keypoints.state_dict(),
            ),
        )
