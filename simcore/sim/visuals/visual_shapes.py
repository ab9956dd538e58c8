"""The visual shapes of a body, the paint over them, and the finish of their surfaces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pybullet as p

from unlatch.simcore.cache import MOST_FILES, arrays_key, cache_root, read_kept, write_kept
from unlatch.simcore.geometry import Pose


@dataclass(frozen=True)
class Finish:
    """Roughness, metalness and emitted light of a surface, as in glTF; Bullet's renderers do not use them."""

    roughness: float = 0.5
    """0 is a mirror, 1 is chalk."""
    metalness: float = 0.0
    """1 for bare metal, whose reflections have its colour; 0 for everything else."""
    emission: float = 0.0
    """Emitted light as a factor on the colour: of lamps, and of the sky behind a window."""


FINISHES = {
    "brushed_metal": Finish(0.36, 1.0),
    "cardboard": Finish(0.9),
    "cast_metal": Finish(0.6, 0.8),
    "chrome": Finish(0.16, 1.0),
    "cloth": Finish(1.0),
    "enamel": Finish(0.25),
    "glass": Finish(0.06),
    "hammered_metal": Finish(0.5, 0.6),
    "lacquer": Finish(0.28),
    "lamp": Finish(0.5, 0.0, 1.0),
    "paint": Finish(0.5),
    "painted_wood": Finish(0.42),
    "plaster": Finish(0.95),
    "plastic": Finish(0.4),
    "rubber": Finish(0.85),
    "stone": Finish(0.5),
    "tiles": Finish(0.2),
    "wood": Finish(0.55),
}
"""Finishes of common materials, by name."""


@dataclass(frozen=True)
class VisualShape:
    """One shape of a link."""

    body: int
    """Bullet's number of the body."""
    link: int
    """Bullet's number of the link."""
    index: int
    """Its index among the link's shapes."""
    kind: int
    """Bullet's number of its kind."""
    size: tuple[float, ...]
    """Its sizes, as Bullet reports them; for a mesh, factors on its coordinates."""
    path: str
    """The mesh file; empty for other kinds."""
    T_link_shape: Pose
    """Its pose in the link's frame."""
    rgba: tuple[float, float, float, float]
    """Its own colour."""


@dataclass(frozen=True)
class Light:
    """One distant light, with the parameters of Bullet's renderers; physics does not depend on it."""

    direction: tuple[float, float, float] = (-1.0, -1.2, 2.5)
    """From the scene towards the light, world frame; any length."""
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Red, green and blue, 0 to 1."""
    ambient: float = 0.6
    """Share of a surface's colour without light."""
    diffuse: float = 0.35
    """Additional share under light along the surface normal."""
    specular: float = 0.05
    """Strength of highlights."""
    shadow: bool = True
    """Whether bodies cast shadows."""


@dataclass(frozen=True)
class Paint:
    """The appearance of a shape in place of its own."""

    rgba: tuple[float, ...]
    """Red, green, blue and alpha."""
    picture: Path | None
    """The texture; None: the shape's own."""


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
