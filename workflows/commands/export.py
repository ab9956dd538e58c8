"""`unlatch export`: writes a data set in a format that policies are trained from."""

from __future__ import annotations

import time
from collections.abc import Sequence

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.catalog import EXPORTERS
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line, print_note
from unlatch.workflows.images.export import DEFAULT_FORMAT, export_data_set

HELP = """usage: unlatch export DATA out=OUT [format=lerobot] [key=value ...]

Writes the successful episodes of a data set in a format that policies are trained from (`unlatch list exporters`).
OUT is written completely or not at all. The same command again adds missing episodes to a LeRobot set; other formats
need a new OUT.

  all=false            true: failed attempts too
  only=[0,4]           only these episodes
  append=false         true: OUT may have episodes of other data sets; columns and conventions must be the same
  action=...           joint_position, joint_delta, ee_pose or ee_delta; the gripper's target opening follows
  delta_from=target    reference of changes: the target of the previous frame, or state: the measured state
  rotation=...         quat_xyzw, rotvec, rot6d or euler_xyz; default: quat_xyzw, for changes rotvec
  state=[joint_position,gripper]   also joint_velocity, joint_effort, ee_pose, tcp_pose
  objects=true keypoints=true      poses and joints of objects; keypoints of the parts that are acted on
  render=default       colour images of this render set (`unlatch render`); cameras=[front]: only these

  format=lerobot       codec=h264 (or av1), float_type=float32 (or float64),
                       data_files_size_in_mb=100, video_files_size_in_mb=200, chunks_size=1000
  format=robomimic     valid_every=10: every tenth episode is in mask/valid
"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _run)


def _run(arguments: list[str]) -> int:
    (path,), pairs = split_paths("export", arguments, count=1)
    given = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    name, out = given.get("format") or DEFAULT_FORMAT, given.get("out")
    cfg = read_pairs(EXPORTERS.load(name).cfg_type, pairs, others=("format", "out"))
    if not out:
        raise ConfigError("out is missing. Expected a place for the export. Give it as out=PATH.", key="out")
    started = time.perf_counter()
    report = export_data_set(DataSet.open(path), name, cfg, out)
    wall = time.perf_counter() - started
    if report.left_out:
        print_note(
            f"unlatch: {report.left_out} attempts left out: not successful, or without states (failed ones: all=true)"
        )
    pace = f", {report.seconds / wall:.0f} times real time" if report.taken else ""
    print_line(
        f"{name}: {report.taken} episodes, {report.frames} frames in {wall:.1f} s{pace}; "
        f"{report.there} were there: {report.target}"
    )
    return OK
