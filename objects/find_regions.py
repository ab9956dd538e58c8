"""Finds where things can be put in or on an object, and the outline of the closed object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from unlatch.objects.annotation import Articulation, PartKind
from unlatch.objects.annotation_entries import Region, RegionKind, RegionOpening
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.solids import Solids
from unlatch.simcore.urdf.model import ShapeKind, UrdfModel, rigid_links

LEAST_HEIGHT_M = 0.05
"""Free height that a region needs [m]."""
LEAST_SIDE_M = 0.04
"""Shortest side of a floor [m]."""
LEAST_WALL_M = 0.02
"""A border at least this high keeps things in [m]."""
SKY_M = 0.4
"""Height that is given to a region that nothing covers and no wall surrounds [m]."""
_CELLS = 72
"""Largest number of grid points along a side of the object."""
_LEAST_CELL_M = 0.004
_WALL_CELL_M, _MOST_CELLS = 0.006, 200
"""Width of a cell, and largest number of them, of the grid in which thin walls of wide drawers are found [m]."""
_BESIDE_M = 0.03
"""A wall stands at most this far from the floor that it borders [m] ..."""
_BESIDE_SHARE = 0.3
"""... or this far as a share of the side of the floor: a round wall is that far from the square in it."""
_LEVEL_M = 0.004
"""Floors whose heights differ by less are one floor [m]."""
_WALL_SHARE = 0.5
"""A wall below a ceiling is at least this share of the free height high."""


@dataclass(frozen=True)
class _Columns:
    """The intervals [m] in which vertical lines through a grid of points meet convex solids, root frame."""

    x: Array
    """(X,) [m]."""
    y: Array
    """(Y,) [m]."""
    low: Array
    """(S, X, Y) lower end; +inf where a line misses a solid."""
    high: Array
    """(S, X, Y) upper end; -inf where a line misses a solid."""
    links: tuple[str, ...]
    """(S,) link of each solid."""


def find_regions(model: UrdfModel, articulation: Articulation) -> dict[str, Region]:
    """Returns the regions of an object by name, the largest of a kind first.

    `inside`, `inside_2`, ... are spaces of the body, `top`, ... its free upper faces. The inside of a drawer has the
    name of its part.
    """
    solids = Solids(model)
    columns = _measure_columns(model, solids, articulation, cell_m=_LEAST_CELL_M)
    if columns is None:
        return {}
    body = rigid_links(model, model.root)
    found = _find_in_group(columns, body, articulation, part=None)
    insides = [region for region in found if region.kind is RegionKind.inside]
    tops = [region for region in found if region.kind is RegionKind.surface]
    named = {**_number("inside", insides), **_number("top", tops)}
    sliders = [name for name, part in articulation.parts.items() if part.kind is PartKind.slider]
    for name in sliders:
        named.update(_find_in_drawer(columns, model, articulation, name))
    missing = [name for name in sliders if name not in named]
    if missing and len(columns.x) > 1 and float(columns.x[1] - columns.x[0]) > _WALL_CELL_M:
        fine = _measure_columns(model, solids, articulation, cell_m=_WALL_CELL_M, most_cells=_MOST_CELLS)
        if fine is not None:
            for name in missing:
                named.update(_find_in_drawer(fine, model, articulation, name))
    poses = {link: model.link_pose(link, articulation.closed_positions()) for link in model.links}
    return {
        name: replace(region, T_link_region=poses[region.link].inverse() @ region.T_link_region)
        for name, region in named.items()
    }


def _find_in_drawer(columns: _Columns, model: UrdfModel, articulation: Articulation, name: str) -> dict[str, Region]:
    """Returns the inside of a drawer by the name of its part; empty if there is none."""
    group = rigid_links(model, articulation.part(name).link)
    own = _select(columns, [link in group for link in columns.links])
    drawers = [
        region
        for region in _find_in_group(own, group, articulation, part=name)
        if region.kind is RegionKind.inside and region.opening is RegionOpening.above
    ]
    return _number(name, drawers[:1])


def _number(name: str, regions: Sequence[Region]) -> dict[str, Region]:
    ordered = sorted(regions, key=lambda region: -float(np.prod(region.size)))
    return {name if index == 0 else f"{name}_{index + 1}": region for index, region in enumerate(ordered)}


def _measure_columns(
    model: UrdfModel, solids: Solids, articulation: Articulation, *, cell_m: float, most_cells: int = _CELLS
) -> _Columns | None:
    """Measures columns that are `cell_m` apart, or farther where there would be too many along a side."""
    closed = articulation.closed_positions()
    pieces = [
        (link, pose @ solid.vertices, solid.normals @ pose.R.T, solid.offsets + solid.normals @ pose.R.T @ pose.p)
        for link in model.links
        for pose in [model.link_pose(link, closed)]
        for solid in solids.of_link(link)
    ]
    if not pieces:
        return None
    corners = np.concatenate([vertices for _, vertices, _, _ in pieces])
    low, high = corners.min(axis=0), corners.max(axis=0)
    cell = max(cell_m, float((high - low)[:2].max()) / most_cells)
    x, y = (low[axis] + cell * (0.5 + np.arange(max(1, int((high - low)[axis] / cell)))) for axis in (0, 1))
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)  # (X, Y, 2)
    bottoms, tops = [], []
    for _, vertices, normals, offsets in pieces:
        flat = np.einsum("xyk,pk->xyp", grid, normals[:, :2])
        room, slope = offsets - flat, normals[:, 2]  # (X, Y, P): slope * z <= room
        up, down, side = slope > 1e-9, slope < -1e-9, np.abs(slope) <= 1e-9
        top = (room[..., up] / slope[up]).min(axis=-1, initial=float(vertices[:, 2].max()))
        bottom = (room[..., down] / slope[down]).max(axis=-1, initial=float(vertices[:, 2].min()))
        outside = (room[..., side] < 0.0).any(axis=-1) | (top <= bottom)
        bottoms.append(np.where(outside, np.inf, bottom))
        tops.append(np.where(outside, -np.inf, top))
    return _Columns(x, y, np.stack(bottoms), np.stack(tops), tuple(link for link, *_ in pieces))


def _select(columns: _Columns, mask: Sequence[bool]) -> _Columns:
    keep = np.flatnonzero(mask)
    links = tuple(columns.links[index] for index in keep)
    return _Columns(columns.x, columns.y, columns.low[keep], columns.high[keep], links)


def _find_in_group(
    columns: _Columns, group: Sequence[str], articulation: Articulation, *, part: str | None
) -> list[Region]:
    """Returns the regions above the floors of a group of links, their poses in the root frame of the closed object."""
    mine = _select(columns, [link in group for link in columns.links])
    found = []
    for level in _levels(mine):
        region = _region_above(columns, mine, level, group[0], articulation, part)
        if region is not None:
            found.append(region)
    return found


def _levels(columns: _Columns) -> Iterator[float]:
    """Yields the heights of level faces, the lowest first [m]."""
    last = -np.inf
    tops = columns.high.reshape(len(columns.high), -1)
    for height in np.unique(np.round(tops.max(axis=1, initial=-np.inf), 4)):
        if np.isfinite(height) and height - last > _LEVEL_M:
            last = float(height)
            yield last


def _region_above(
    columns: _Columns, mine: _Columns, level: float, link: str, articulation: Articulation, part: str | None
) -> Region | None:
    carried = (np.abs(mine.high - level) < _LEVEL_M).any(axis=0)  # (X, Y)
    above = columns.high > level + _LEVEL_M
    ceilings = np.where(above, np.maximum(columns.low, level), np.inf)  # (S, X, Y)
    lids = np.array([_lid_of(name, articulation) is not None for name in columns.links])
    fixed = ceilings[~lids].min(axis=0, initial=np.inf)
    cell = float(columns.x[1] - columns.x[0]) if len(columns.x) > 1 else _LEAST_CELL_M
    rows, cols = _largest_rectangle(carried & (fixed - level >= LEAST_HEIGHT_M))
    size_x, size_y = cell * (rows.stop - rows.start), cell * (cols.stop - cols.start)
    if min(size_x, size_y) < LEAST_SIDE_M:
        return None
    height = float(fixed[rows, cols].min()) - level
    walls = _wall_heights(mine, level, rows, cols, cell)  # front, back, left, right
    opening, kind, closing = RegionOpening.above, RegionKind.inside, part
    if np.isfinite(height):
        if min(walls[1:]) < _WALL_SHARE * height or walls[0] >= _WALL_SHARE * height:
            return None
        opening = RegionOpening.front
        closing = _door_before(columns, articulation, level, rows, cols, height)
    elif min(walls) >= LEAST_WALL_M:
        height = min(walls)
        covered = (ceilings[:, rows, cols] < np.inf).any(axis=(1, 2)) & lids
        names = [_lid_of(columns.links[index], articulation) for index in np.flatnonzero(covered)]
        closing = part or next((name for name in names if name is not None), None)
    elif max(walls) < LEAST_WALL_M and part is None:
        kind, height = RegionKind.surface, SKY_M
    else:
        return None
    if kind is RegionKind.inside and height < LEAST_WALL_M:
        return None
    middle = [0.5 * (columns.x[rows][0] + columns.x[rows][-1]), 0.5 * (columns.y[cols][0] + columns.y[cols][-1])]
    pose = Pose.from_translation([*middle, level])
    return Region(kind, link, pose, np.array([size_x, size_y, height]), opening, closing)


def _lid_of(link: str, articulation: Articulation) -> str | None:
    """Returns the lid that a link belongs to, by its name."""
    return next((n for n, p in articulation.parts.items() if p.link == link and p.kind is PartKind.lid), None)


def _door_before(
    columns: _Columns, articulation: Articulation, level: float, rows: slice, cols: slice, height: float
) -> str | None:
    """Returns the part that closes the front of a space, by its name."""
    middle = level + 0.5 * height
    meets = (columns.low[:, rows.stop :, cols] < middle) & (columns.high[:, rows.stop :, cols] > middle)
    share = meets.any(axis=1).mean(axis=-1)  # (S,) of the width
    parts = {part.link: name for name, part in articulation.parts.items()}
    named = [(float(share[i]), parts[link]) for i, link in enumerate(columns.links) if link in parts and share[i] > 0.2]
    return max(named, default=(0.0, None))[1]


def _wall_heights(mine: _Columns, level: float, rows: slice, cols: slice, cell: float) -> list[float]:
    """Returns how high the walls in front, behind, left and right of a floor are [m]; 0 where one is missing."""
    reach, across = (
        max(1, round(max(_BESIDE_M / cell, _BESIDE_SHARE * (part.stop - part.start)))) for part in (rows, cols)
    )
    top = np.where(mine.low <= level + LEAST_WALL_M, mine.high, -np.inf).max(axis=0, initial=-np.inf) - level  # (X, Y)
    strips = (
        top[rows.stop : rows.stop + reach, cols].max(axis=0, initial=-np.inf),
        top[max(0, rows.start - reach) : rows.start, cols].max(axis=0, initial=-np.inf),
        top[rows, cols.stop : cols.stop + across].max(axis=1, initial=-np.inf),
        top[rows, max(0, cols.start - across) : cols.start].max(axis=1, initial=-np.inf),
    )
    return [max(0.0, float(strip.min(initial=np.inf))) if len(strip) else 0.0 for strip in strips]


def _largest_rectangle(mask: Array) -> tuple[slice, slice]:
    """Returns rows and columns of the largest rectangle of a mask that is true everywhere."""
    best, found = 0, (slice(0, 0), slice(0, 0))
    heights = np.zeros(mask.shape[1], dtype=int)
    for row, line in enumerate(mask):
        heights = np.where(line, heights + 1, 0)
        stack: list[tuple[int, int]] = []  # (first column, height), rising
        for column, height in enumerate([*heights.tolist(), 0]):
            start = column
            while stack and stack[-1][1] >= height:
                start, tall = stack.pop()
                if tall * (column - start) > best:
                    best = tall * (column - start)
                    found = (slice(row - tall + 1, row + 1), slice(start, column))
            stack.append((start, height))
    return found


MOST_ROWS = 56
"""Largest number of rows of an outline."""
ERROR_M = 5e-4
"""An outline takes further rows while the colliders stand out of it by more than this [m]."""
_DECIMALS = 4
"""Numbers of an outline are whole tenths of a millimetre."""
_GRID = 8
"""Number of steps between the middle of a face and its edge, in a grid on a cube that gives the directions."""
_TIE_M = 1e-9
"""Of rows that reach equally far up to this, the first one counts, so that every machine finds the same outline [m]."""


def find_outline(model: UrdfModel, positions: Mapping[str, float]) -> np.ndarray:
    """Returns the outline of an object at joint positions [rad or m]; missing joints are at 0.

    Each row is the centre and the radius of a ball: a ball of the colliders, or one of their corners, with radius 0.
    Rows are added in the direction in which the colliders stand out the furthest, until they stand out by at most
    `ERROR_M` in some 3,000 directions, or there are `MOST_ROWS` rows.

    The convex hull of the rows is never larger than that of the colliders, apart from rounding (0.05 mm in each
    number). It is smaller by at most 0.7 mm for an outline with fewer rows than `MOST_ROWS`, and by 1.2 mm for the
    bowls, the generated objects with the most corners. Of a ball that is a mesh, it is smaller by 7 % of the radius.

    Returns:
        (N, 4) rows of x, y, z, radius in the root frame [m]; (0, 4) of an object without colliders.
    """
    found = [np.zeros((0, 4)), *(_support_rows(rows) for rows in _collider_rows(model, positions))]
    rows = np.unique(np.concatenate(found).round(_DECIMALS) + 0.0, axis=0)
    if not len(rows):
        return rows
    directions = _directions_for(rows)
    reach = rows[:, :3] @ directions.T + rows[:, 3:]  # (N, D)
    farthest = reach.max(axis=0)
    chosen: list[int] = []
    short = np.full(len(farthest), np.inf)
    while len(chosen) < MOST_ROWS and short.max() > ERROR_M:
        direction = _first_largest(short)
        chosen.append(_first_largest(reach[:, direction]))
        short = farthest - reach[chosen].max(axis=0)
    return rows[sorted(chosen)]


def _collider_rows(model: UrdfModel, positions: Mapping[str, float]) -> Iterator[np.ndarray]:
    """Yields the balls (N, 4) of each collider, root frame [m]."""
    for name, link in model.links.items():
        T_root_link = model.link_pose(name, dict(positions))
        for shape in link.collisions:
            T_root_shape = T_root_link @ shape.T_link_shape
            if shape.kind is ShapeKind.sphere:
                yield np.array([[*T_root_shape.p, shape.size[0]]])
            else:
                corners = T_root_shape @ shape_mesh(shape).vertices
                yield np.column_stack([corners, np.zeros(len(corners))])


def _support_rows(rows: np.ndarray) -> np.ndarray:
    """Returns those of many rows that reach the furthest in one of the directions."""
    directions = _directions_for(rows)
    if len(rows) <= len(directions):
        return rows
    return rows[np.unique([_first_largest(rows[:, :3] @ direction + rows[:, 3]) for direction in directions])]


def _first_largest(values: np.ndarray) -> int:
    return int(np.flatnonzero(values >= values.max() - _TIE_M)[0])


def _directions_for(rows: np.ndarray) -> np.ndarray:
    """Returns (D, 3) unit directions: even ones, and those that are even after things are scaled to a cube.

    The latter find the ends of long things, and the rims of flat ones.
    """
    size = np.ptp(rows[:, :3], axis=0) + 2.0 * rows[:, 3].max()
    scaled = _directions() / np.maximum(size, 1e-3)
    return np.concatenate([_directions(), scaled / np.linalg.norm(scaled, axis=1, keepdims=True)])


@lru_cache(maxsize=1)
def _directions() -> np.ndarray:
    """Returns (D, 3) unit directions; any other one is within 5 degrees of one of them."""
    steps = range(-_GRID, _GRID + 1)
    grid = np.array([point for point in product(steps, repeat=3) if max(map(abs, point)) == _GRID], dtype=float)
    directions: np.ndarray = grid / np.linalg.norm(grid, axis=1, keepdims=True)
    return directions
