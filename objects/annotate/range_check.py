"""Warns of parts whose joint leads them into the body of their object."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from unlatch.objects.annotation import Articulation, Part, PartKind
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.solid_pieces import SolidPieces
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, sample_surface
from unlatch.simcore.urdf.model import UrdfModel, rigid_links

_DEEP_M = 0.005
"""A part that is less deep in the body has play, or a model that is not exact."""
_TOUCH_M = 0.001
"""A point that is less deep in the body lies on it."""
_CLOSED_POINTS, _CLOSED_RANGE = 0.01, 1 / 3
"""Models are often not exact where a part is closed. An overlap there counts only if it is more than this share of the
part's points, over this share of the range."""
_STEPS = 24
_HALVINGS = 6
_SPACINGS = 100
_LEAST_POINTS, _MOST_POINTS = 300, 6000
_MOST_PAIRS = 100_000
"""Pairs of a point of the part and a triangle of the body that are tried at one position, as far as there are enough
points."""
_NEAR_AXIS = 0.2
"""Points nearer to the axis than this share of the part's reach are left out: corners beside a hinge often overlap."""


def range_warnings(model: UrdfModel, articulation: Articulation) -> list[str]:
    """Returns a line for each part that moves into the body between closed and open.

    Only closed meshes have an inside. What is in the body where the part is freest does not count.
    """
    return [line for part in articulation.parts.values() for line in _part_warnings(model, articulation, part)]


def _part_warnings(model: UrdfModel, articulation: Articulation, part: Part) -> Iterator[str]:
    joint = model.joints[part.joint]
    held = {other.joint: other.openness.closed for other in articulation.parts.values()}
    moving = [name for name in model.links if model.is_below(name, joint.child)]
    moved = [other.child for other in model.joints.values() if other.moves]
    fixed = {name for name in model.links if not any(model.is_below(name, top) for top in moved)}
    body = sorted({*fixed, *rigid_links(model, joint.parent)})
    solids = SolidPieces(mesh.moved(model.link_pose(name, held)) for name in body for mesh in _link_meshes(model, name))
    meshes = [(name, join_meshes(_link_meshes(model, name))) for name in moving]
    meshes = [(name, mesh) for name, mesh in meshes if len(mesh.faces)]
    if not meshes or part.kind is PartKind.knob:  # a knob is round: where it overlaps, it does so at every position
        return
    most_points = int(np.clip(_MOST_PAIRS / max(1, solids.face_count), _LEAST_POINTS, _MOST_POINTS))
    spacing_m = max(float(np.max(mesh.extents)) for _, mesh in meshes) / _SPACINGS
    clouds = [(name, sample_surface(mesh, spacing_m=spacing_m, max_points=most_points)) for name, mesh in meshes]

    def points_at(position: float) -> np.ndarray:
        positions = {**held, joint.name: position}
        return np.concatenate([model.link_pose(name, positions) @ cloud for name, cloud in clouds])

    positions = [float(position) for position in np.linspace(part.openness.closed, part.openness.open, _STEPS + 1)]
    depths = np.stack([solids.depths(points_at(position)) for position in positions])  # (P, N)
    free = int(np.argmin((depths > _DEEP_M).sum(axis=1)))
    counts = depths[free] < _TOUCH_M
    if part.kind is not PartKind.slider:
        relative = model.link_pose(joint.child, held).inverse() @ points_at(held[joint.name])
        axis = joint.axis / np.linalg.norm(joint.axis)
        levers = np.linalg.norm(relative - np.outer(relative @ axis, axis), axis=1)
        counts &= levers >= _NEAR_AXIS * float(levers.max())
    deepest = depths[:, counts].max(axis=1, initial=0.0)
    shares = (depths[:free, counts] > _DEEP_M).mean(axis=1) if counts.any() else np.zeros(free)
    if np.sum(shares > _CLOSED_POINTS) < _CLOSED_RANGE * _STEPS:
        deepest[:free] = 0.0
    most = int(np.argmax(deepest))
    if deepest[most] <= _DEEP_M:
        return
    path = range(free, most + 1) if most > free else range(free, most - 1, -1)
    first = next(index for index in path if deepest[index] > _DEEP_M)
    begin = _find_begin(
        lambda position: bool(solids.depths(points_at(position))[counts].max() > _DEEP_M),
        positions[first + (1 if most < free else -1)],
        positions[first],
    )
    unit = "m" if part.kind is PartKind.slider else "rad"
    yield (
        f"{part.name} moves into the body: more than {1000 * _DEEP_M:g} mm deep from {begin:.3g} {unit} on, "
        f"{1000 * deepest[most]:.0f} mm deep at {positions[most]:.3g} {unit}. Correct the axis, place or range of "
        f"joint '{joint.name}'."
    )


def _find_begin(is_deep: Callable[[float], bool], free: float, deep: float) -> float:
    """Returns the position between a free and a deep one at which a part begins to be deep."""
    for _ in range(_HALVINGS):
        middle = (free + deep) / 2
        free, deep = (free, middle) if is_deep(middle) else (middle, deep)
    return deep


def _link_meshes(model: UrdfModel, name: str) -> list[TriangleMesh]:
    link = model.links[name]
    return [shape_mesh(shape).moved(shape.T_link_shape) for shape in link.collisions or link.visuals]
