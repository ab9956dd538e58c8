"""`unlatch export`: a data set in a format that policies are trained from."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.console import OK, command, note, say

if TYPE_CHECKING:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.export.config import ExportCfg

HELP = """usage: unlatch export DATA out=OUT [format=lerobot] [key=value ...]

Writes the successful episodes of a data set in a format that policies are trained from (`unlatch list exporters`).
OUT is whole or not there. The same command again adds what is missing to a LeRobot set of version 3.0; other formats
are made anew, in another place.

  all=false            true: failed attempts too
  only=[0,4]           these episodes
  append=false         true: OUT may have episodes of other data sets; columns and conventions must be the same
  action=...           joint_position, joint_delta, ee_pose or ee_delta; the gripper's target opening follows
  delta_from=target    what changes are counted from: the target of the frame before, or state: what was measured
  rotation=...         quat_xyzw, rotvec, rot6d or euler_xyz; default quat_xyzw, of changes rotvec
  state=[joint_position,gripper]   also joint_velocity, joint_effort, ee_pose, tcp_pose
  objects=true keypoints=true      poses and joints of objects; keypoints of the parts acted on
  render=default       colour images of this render set (`unlatch render`); cameras=[front] of these cameras

  format=lerobot       version=3.0 (or 2.1), codec=h264 (or av1), float_type=float32 (or float64),
                       data_files_size_in_mb=100, video_files_size_in_mb=200, chunks_size=1000
  format=robomimic     valid_every=10: every tenth episode is in mask/valid
"""

_DEFAULT_FORMAT = "lerobot"


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.export.catalog import EXPORTERS
    from unlatch.workflows.cli.arguments import read_pairs, split_paths

    (path,), pairs = split_paths("export", arguments, count=1)
    name = _last("format", pairs) or _DEFAULT_FORMAT
    exporter_type = EXPORTERS.load(name)
    cfg = read_pairs(exporter_type.cfg_type, pairs, beside=("format", "out"))
    out = _last("out", pairs)
    if not out:
        raise ConfigError("out is missing. Expected a place for the export. Give it as out=PATH.", key="out")
    export(DataSet.open(path), name, cfg, out)
    return OK


def export(data_set: DataSet, name: str, cfg: ExportCfg, out: str) -> None:
    """Exports a data set and says what came of it.

    Args:
        data_set: The data set.
        name: Name of the format.
        cfg: A `cfg_type` of that format.
        out: Where to.

    Raises:
        SimCoreError: The input is at fault; nothing was written.
    """
    from unlatch.simcore.recording.export.catalog import EXPORTERS
    from unlatch.simcore.recording.export.run import run_export
    from unlatch.simcore.recording.export.source import Source

    started = time.perf_counter()
    report = run_export(EXPORTERS.load(name)(Source(data_set, cfg), cfg), out)
    wall = time.perf_counter() - started
    if report.left_out:
        note(f"unlatch: {report.left_out} attempts left out: not successful, or without states (failed ones: all=true)")
    pace = f", {report.seconds / wall:.0f} times as fast as they lasted" if report.taken else ""
    say(
        f"{name}: {report.taken} episodes, {report.frames} frames in {wall:.1f} s{pace}; "
        f"{report.there} were there: {report.target}"
    )


def _last(key: str, pairs: Sequence[str]) -> str | None:
    values = [pair.partition("=")[2] for pair in pairs if _key(pair) == key]
    return values[-1] if values else None


def _key(pair: str) -> str:
    return pair.partition("=")[0]
