"""`unlatch convert`: converts meshes and URDFs into objects that are ready for simulation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from unlatch.workflows.assets.convert import ConvertCfg, convert_all, find_jobs
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import BAD_INPUT, OK, print_line, print_note

HELP = """usage: unlatch convert PATH [key=value ...]

Converts a mesh (OBJ, STL, PLY, GLB; DAE and FBX with the extra `assets`), a URDF, a folder of PartNet-Mobility, or a
folder of these into a URDF with convex colliders, masses and inertias; usd=true also writes a USD (extra `usd`).
Objects that are up to date are not converted again. Prints one line for each object.

  out=converted      folder of the results, one folder for each object
  force=false        convert objects again that are up to date
  usd=false          write a USD too
  report=false       measure the colliders and write FILE.report.json and a picture for each result
  workers=1          objects that are converted at the same time

for all:    make_instanceable=true
for URDFs:  fix_base=true scale=... convex_decompose_mesh=true merge_fixed_joints=false link_density=0
            inertia_fallback=volume|identity import_inertia_tensor=true self_collision=false
            default_drive_type=none|position|velocity default_drive_stiffness=0 default_drive_damping=0
            override_joint_dynamics=false
for meshes: collision_approximation=convexDecomposition|convexHull|boundingCube|boundingSphere|meshSimplification|none
            scale=... translation=[x,y,z] rotation=[w,x,y,z] mass=KG density=KG_M3

scale: metres per unit; default: 1, or the scale in the info.json of a PartNet folder.
"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _run)


def _run(arguments: list[str]) -> int:
    (path,), pairs = split_paths("convert", arguments, count=1)
    cfg = read_pairs(ConvertCfg, pairs)
    started = time.perf_counter()
    jobs = find_jobs(Path(path), cfg)
    failed = fresh = 0
    for number, outcome in enumerate(convert_all(jobs, workers=cfg.workers), start=1):
        count = f"[{number}/{len(jobs)}] " if len(jobs) > 1 else ""
        if outcome.failed:
            print_note(f"unlatch: {count}{outcome.name}: {' '.join(outcome.message.split())}")
        else:
            print_line(f"{count}{outcome.name}: {outcome.message}")
        for notice in outcome.notices:
            print_note(f"unlatch: {outcome.name}: {notice}")
        failed += outcome.failed
        fresh += outcome.was_converted
    if len(jobs) > 1:
        print_line(
            f"{len(jobs)} objects: {fresh} converted, {len(jobs) - fresh - failed} up to date, {failed} failed; "
            f"{time.perf_counter() - started:.1f} s"
        )
    return BAD_INPUT if failed else OK
