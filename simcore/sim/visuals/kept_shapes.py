"""Reads the visual shapes of a body, and keeps those of large models for later loads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pybullet as p

from unlatch.simcore.cache import MOST_FILES, arrays_key, cache_root, read_kept, write_kept
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.visuals.visual_shapes import VisualShape


def read_visual_shapes(body: int, *, client: int) -> tuple[VisualShape, ...]:
    """Reads the visual shapes of a body.

    Body and client are given by Bullet's numbers.
    """
    return _make_shapes(body, _read_rows(body, client))


def _read_rows(body: int, client: int) -> list[tuple[Any, ...]]:
    """Returns link, kind, size, path, position, quaternion xyzw and colour of each shape."""
    found = p.getVisualShapeData(body, physicsClientId=client)
    return [(*row[1:4], row[4].decode(), *row[5:8]) for row in found]


def _make_shapes(body: int, rows: Sequence[Sequence[Any]]) -> tuple[VisualShape, ...]:
    counts: Counter[int] = Counter()
    shapes = []
    for link, kind, size, path, position, quat_xyzw, rgba in rows:
        pose = Pose.from_quat_xyzw(position, quat_xyzw)
        shapes.append(VisualShape(body, link, counts[link], kind, tuple(size), path, pose, tuple(rgba)))
        counts[link] += 1
    return tuple(shapes)


_LEAST_BYTES = 1_000_000
"""Size of the mesh files of a model from which its shapes are kept: Bullet reads all of them to list the shapes."""


def find_kept_shapes(urdf: Path) -> Callable[[int], tuple[VisualShape, ...]] | None:
    """Returns a function of Bullet's number of a body that makes the kept shapes of a model; None: there are none."""
    content = read_kept(_shapes_file(urdf))
    if content is None:
        return None
    kept = json.loads(content)
    if any(_file_state(path) != state for path, state in kept["files"].items()):
        return None
    return lambda body: _make_shapes(body, kept["rows"])


def keep_shapes(urdf: Path, body: int, *, client: int) -> None:
    """Keeps the shapes of a model for later loads, if its meshes are large."""
    rows = _read_rows(body, client)
    meshes = {row[3] for row in rows if row[1] == p.GEOM_MESH}
    files = {name: _file_state(name) for mesh in meshes for name in (mesh, str(Path(mesh).with_suffix(".mtl")))}
    if sum(state[1] for state in files.values() if state) >= _LEAST_BYTES:
        write_kept(_shapes_file(urdf), json.dumps({"files": files, "rows": rows}).encode(), most=MOST_FILES)


def _shapes_file(urdf: Path) -> Path:
    key = arrays_key(__file__, str(urdf.absolute()), urdf.read_bytes(), p.getAPIVersion())
    return cache_root() / "visual_shapes" / f"{key}.json"


def _file_state(path: str) -> list[int] | None:
    """Returns time of change [ns] and size of a file [bytes]; None: there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]
