"""Exports LeRobot data sets without LeRobot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import RecordingError, shorten
from unlatch.simcore.extras import DISTRIBUTION, installed_version
from unlatch.simcore.recording.export.columns import IMAGE
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.recording.export.lerobot.config import LeRobotCfg
from unlatch.simcore.recording.export.lerobot.episode_rows import NUMBER, SOURCE, read_rows, report_damage
from unlatch.simcore.recording.export.lerobot.features import BOOKKEEPING, Features, features_of
from unlatch.simcore.recording.export.lerobot.meta_files import (
    CARD_FILE,
    CONVENTIONS_FILE,
    EPISODES_FOLDER,
    INFO_FILE,
    is_lerobot_set,
    read_json,
    write_json,
)
from unlatch.simcore.recording.export.lerobot.videos import encode_video, video_feature
from unlatch.simcore.recording.export.lerobot.writer import LeRobotWriter
from unlatch.simcore.recording.export.source import ExportSource
from unlatch.simcore.recording.export.trajectory import Trajectory

_CARD = """---
task_categories:
- robotics
tags:
- LeRobot
---

# {title}

Demonstrations made and verified by Unlatch {version}: {total_episodes} episodes, {total_frames} frames at {fps} \
frames per second,
robot `{robot_type}`. LeRobot data set format {codebase_version}.

{description}"""
_DESCRIPTION = """## Conventions

{conventions}

A row is the observation at a moment and the action from there to the next row. An attempt of T actions has
T+1 states; the last state, which no action follows, is not in this set.

## Columns

{columns}
Episodes (`meta/episodes`) have `success`, `code` (failure code), `seed`, `robot`, `object` (name=category:instance),
`part` (object.part that is acted on; `part0` above is the first), `phrasings`, and `unlatch/source`, `unlatch/number`:
data set and number of the episode.
"""


class LeRobotExporter(Exporter):
    """Writes a LeRobot set, or adds to one."""

    cfg: LeRobotCfg
    cfg_type = LeRobotCfg

    def __init__(self, source: ExportSource, cfg: LeRobotCfg) -> None:
        super().__init__(source, cfg)
        layout = source.layout
        videos = {
            IMAGE + name: video_feature(size, fps=layout.fps, codec=cfg.codec) for name, size in layout.cameras.items()
        }
        self.features: Features = features_of(layout, float_type=cfg.float_type.name, videos=videos)

    def taken(self, target: Path) -> set[int] | None:
        """See `Exporter.taken`."""
        if not is_lerobot_set(target):
            return None
        self._check_compatible(target)
        with report_damage(target):
            rows = list(read_rows(target / EPISODES_FOLDER, columns=[SOURCE, NUMBER]))
        return {row[NUMBER] for row in rows if row.get(SOURCE) == self.source.identity}

    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """See `Exporter.write`."""
        writer = LeRobotWriter(draft, self.features, self.cfg, fps=self.source.layout.fps, base=base)
        for trajectory in trajectories:
            writer.add(trajectory, self._videos_of(trajectory, parts), source=self.source.identity)
        info = writer.finish(self.source.layout.robot)
        before = base / CONVENTIONS_FILE if base is not None else None
        ours = {**(read_json(before) if before and before.is_file() else {}), **self._conventions()}
        write_json(draft / CONVENTIONS_FILE, ours)
        card = _CARD.format(**{**info, **ours, "description": describe_set(info, ours)})
        (draft / CARD_FILE).write_text(card, encoding="utf-8")

    def _videos_of(self, trajectory: Trajectory, parts: Path) -> dict[str, Path]:
        """Returns the video files of an episode by key."""
        return {
            IMAGE + name: encode_video(
                images,
                parts / f"{trajectory.number:010d}.{name}.{images.digest[:16]}.mp4",
                fps=self.source.layout.fps,
                codec=self.cfg.codec,
            )
            for name, images in trajectory.images.items()
        }

    def _conventions(self) -> dict[str, Any]:
        return {
            "title": f"{self.source.task or 'demonstrations'}, {self.source.layout.robot}",
            "version": installed_version(DISTRIBUTION) or "of unknown version",
            "conventions": self.source.layout.convention,
        }

    def _check_compatible(self, target: Path) -> None:
        """Raises unless an existing set has the same columns, rate and conventions."""
        info = read_json(target / INFO_FILE)
        wanted = {"codebase_version": "v3.0", "fps": self.source.layout.fps}
        for key, value in wanted.items():
            if info.get(key) != value:
                raise _difference_error(target, key, info.get(key), value)
        theirs = info.get("features", {})
        for key in sorted(theirs.keys() | self.features.keys()):
            there, here = (_comparable_properties(found.get(key, {})) for found in (theirs, self.features))
            for word in sorted(there.keys() | here.keys()):
                if key not in BOOKKEEPING and there.get(word) != here.get(word):
                    raise _difference_error(target, f"features.{key}.{word}", there.get(word), here.get(word))
        if (target / CONVENTIONS_FILE).is_file():
            conventions = read_json(target / CONVENTIONS_FILE).get("conventions", {})
            for key, value in self.source.layout.convention.items():
                if conventions.get(key) != value:
                    raise _difference_error(target, f"conventions.{key}", conventions.get(key), value)


def _comparable_properties(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the properties of a column that must be equal in both sets."""
    found = {key: feature[key] for key in ("dtype", "shape", "names") if key in feature}
    video = feature.get("info") or {}
    return {**found, **{key: video[key] for key in ("video.codec", "video.pix_fmt") if key in video}}


def _difference_error(target: Path, key: str, there: Any, here: Any) -> RecordingError:
    return RecordingError(
        f"'{target}' has {key}={shorten(str(there), 160)}, this export has {shorten(str(here), 160)}. Expected equal "
        "values. Choose another out=, or export with the conventions in its README.md.",
        path=str(target),
        key=key,
    )


def describe_set(info: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Returns conventions and columns of a set in Markdown, from its `info.json` and `unlatch.json`."""
    conventions = "\n".join(f"- `{key}`: {text}" for key, text in ours["conventions"].items())
    columns = []
    for key, feature in info["features"].items():
        names = ", ".join(feature["names"]) if feature["names"] else "one number"
        columns.append(f"- `{key}` ({feature['dtype']}, {feature['shape']}): {names}\n")
    return _DESCRIPTION.format(**{**info, **ours, "conventions": conventions, "columns": "".join(columns)})
