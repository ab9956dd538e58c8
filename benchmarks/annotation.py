"""Compares derived keypoints with keypoints that people set by hand.

Usage: UNLATCH_PARTNET_DIR=FOLDER python benchmarks/annotation.py [tolerance=0.03] [out=FILE.json] [only=TEXT]

Uses every object below the folder whose `info.json` has an `articulated_object_head`. Annotates the object without this
keypoint. The two agree if the derived head is within the tolerance of the one set by hand. They also agree if the one
set by hand is within the tolerance of the chosen handle or edge, because any place along it works. Distances are in
metres at the size of the object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from unlatch.objects.annotate.annotator import AnnotateCfg, annotate_source
from unlatch.objects.annotate.peer_info import read_peer_info
from unlatch.objects.annotate.source import PARTNET_URDF, read_source
from unlatch.objects.annotation import Part
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.shape_surface import surface_distance
from unlatch.simcore.urdf.model import rigid_shapes
from unlatch.workflows.cli.terminal import run_guarded
from unlatch.workflows.runs.statistics import wilson_interval

ON_PART_M = 0.01
"""A head is on a part if its distance to the surface is at most this plus half the thickness of the handle [m]."""


@dataclass(frozen=True)
class Comparison:
    """The result for one object."""

    name: str
    kind: str = ""
    handle: str = ""
    scale: float = 0.0
    distance_m: float = float("inf")
    """Distance from the derived head to the one set by hand."""
    to_handle_m: float = float("inf")
    """Distance from the head set by hand to the middle line of the handle or edge."""
    right_part: bool = False
    """Whether the derived head is on the same part as the one set by hand."""
    agrees: bool = False
    seconds: float = 0.0
    problem: str = ""


def compare(folder: Path, name: str, *, tolerance_m: float) -> Comparison | None:
    """Annotates an object and compares the heads; None if no head was set by hand."""
    started = time.perf_counter()
    try:
        source = read_source(folder)
        peer = read_peer_info(source)
        if peer is None or "articulated_object_head" not in peer.keypoints:
            return None
        found = annotate_source(source, AnnotateCfg(use_info=False))
    except AssetError as exc:
        return Comparison(name, problem=exc.message)
    parts = {part.joint: part for part in found.articulation.parts.values()}
    if peer.joint not in parts:
        return Comparison(name, problem=f"{peer.joint} was refused: {found.refused.get(peer.joint, '')}")
    part, scale, model = parts[peer.joint], found.articulation.scale, source.model
    T_link_child = model.link_pose(part.link).inverse() @ model.link_pose(model.joints[part.joint].child)
    by_hand = (T_link_child @ peer.keypoints["articulated_object_head"]) * scale
    head = part.keypoint("articulated_object_head").xyz
    distance, to_handle = float(np.linalg.norm(by_hand - head)), _distance_to_handle(part, by_hand)
    on_part = surface_distance(rigid_shapes(found.model, part.link), head)
    return Comparison(
        name=name,
        kind=part.kind.name,
        handle=part.handle.type.name,
        scale=scale,
        distance_m=distance,
        to_handle_m=to_handle,
        right_part=on_part <= ON_PART_M + float(np.min(part.handle.size)) / 2,
        agrees=min(distance, to_handle) <= tolerance_m,
        seconds=time.perf_counter() - started,
    )


def _distance_to_handle(part: Part, point: np.ndarray) -> float:
    """Returns the distance from a point (3,) in the link frame to the middle line of the handle [m]."""
    if part.handle.T_link_handle is None:
        return float("inf")
    local = part.handle.T_link_handle.inverse() @ point
    beyond = max(0.0, abs(float(local[2])) - float(part.handle.size[2]) / 2)
    return float(np.linalg.norm([local[0], local[1], beyond]))


def main() -> None:
    """Prints how many derived keypoints agree."""
    pairs = dict(argument.split("=", 1) for argument in sys.argv[1:])
    tolerance = float(pairs.get("tolerance", "0.03"))
    variable = os.environ.get("UNLATCH_PARTNET_DIR")
    if not variable:
        sys.exit("Set UNLATCH_PARTNET_DIR to the folder of PartNet-Mobility objects with info.json files.")
    root = Path(variable)
    folders = sorted({path.parent for path in root.rglob(PARTNET_URDF)})
    results = []
    for folder in folders:
        name = folder.relative_to(root).as_posix()
        if pairs.get("only", "") in name and (result := compare(folder, name, tolerance_m=tolerance)) is not None:
            results.append(result)
    if not results:
        sys.exit(f"There is no object with keypoints set by hand below {root}.")
    for result in results:
        if not result.agrees:
            said = result.problem or f"{result.kind}, {result.handle}: {100 * result.distance_m:.1f} cm off"
            print(f"differs: {result.name} ({said})")
    _print_share(f"within {100 * tolerance:g} cm or on the same handle or edge", [r.agrees for r in results])
    _print_share(f"within {100 * tolerance:g} cm", [r.distance_m <= tolerance for r in results])
    _print_share("on the right part", [r.right_part for r in results])
    print(f"median distance {1000 * median(r.distance_m for r in results):.0f} mm")
    print(f"median time {median(r.seconds for r in results):.1f} s, largest {max(r.seconds for r in results):.1f} s")
    if "out" in pairs:
        Path(pairs["out"]).write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n", encoding="utf-8")


def _print_share(what: str, good: list[bool]) -> None:
    low, high = wilson_interval(sum(good), len(good))
    share = 100.0 * sum(good) / len(good)
    print(f"{what}: {sum(good)}/{len(good)} = {share:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f} %)")


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
