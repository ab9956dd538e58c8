"""Finds where two fingers can hold the part of a posed object: a named handle, else a free edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.assets.annotation import HandleType, PartKind
from simcore.assets.converters.cross_section import cut, front_heights, outermost_interval
from simcore.assets.converters.mesh_parts import TriangleMesh, join, surface_points
from simcore.assets.converters.partnet_posing import PosedObject

GRIP_MIN_M = 0.003
GRIP_MAX_M = 0.07
"""Thicknesses that a hand of 8 cm can take."""
PROTRUSION_MIN_M = 0.014
"""A handle that stands out less cannot be reached around."""
SHEET_M = 0.002
"""Thickness that the colliders of flat sheets have."""
HANDLE_NAMES = ("handle",)
LOCK_NAMES = ("switch", "knob")
"""Lock wheels and dials do not turn here: a door without a handle can be pulled by them."""
_FINGER_DEPTH_M = 0.012
"""How deep the centre between the fingertips lies in what they hold."""
_SPOT_M = 0.025
"""Half the side of the clear square that a push needs."""


@dataclass(frozen=True)
class Grip:
    """Where and how to hold the part, on the closed object in the root frame."""

    type: HandleType
    centre: np.ndarray
    """(3,) middle of the graspable cross-section [m]."""
    R_root_handle: np.ndarray
    """(3, 3): x away from the part, y where the fingers close, z along."""
    size: np.ndarray
    """(3,) depth, thickness, length [m]."""
    clearance_m: float = 0.0
    """Free gap behind a bar."""
    name: str = ""
    """Name of the visual, for a named handle."""

    @property
    def is_graspable(self) -> bool:
        """Whether a hand can close around it while the object is closed."""
        return self.type in (HandleType.bar, HandleType.knob)


def find_grip(posed: PosedObject) -> Grip:
    """The best named handle of the part, or its free edge."""
    for prefixes in (HANDLE_NAMES, LOCK_NAMES):
        found = (_named_grip(posed, name, mesh) for name, mesh in _handles(posed, prefixes).items())
        grips = [grip for grip in found if grip is not None]
        if prefixes is LOCK_NAMES and posed.kind is not PartKind.slider:
            grips = [grip for grip in grips if abs(grip.centre[1] - posed.origin[1]) >= 0.5 * _door_width(posed)]
        if not grips:
            continue
        hint = posed.info_head if prefixes is HANDLE_NAMES else None
        if hint is not None:
            return min(grips, key=lambda grip: float(np.linalg.norm(grip.centre - hint)))
        # A bar before a knob, and the longer one first.
        return max(grips, key=lambda grip: (grip.type is HandleType.bar, float(grip.size[2])))
    return _slider_edge(posed) if posed.kind is PartKind.slider else _door_edge(posed)


def push_point(posed: PosedObject, grip: Grip) -> np.ndarray:
    """(3,) a clear spot on the outer face of the part, far from the hinge or central on a drawer [m]."""
    handles = set(_handles(posed))
    panel = join([p.mesh for p in posed.part_visuals if p.shape.name not in handles] or _all(posed))
    obstacles = join([p.mesh for p in posed.part_visuals if p.shape.name in handles]) if handles else None
    low, high = panel.vertices.min(axis=0)[1:], panel.vertices.max(axis=0)[1:]
    counts = np.clip(((high - low) / 0.012).astype(int), 5, 40)
    axes = [np.linspace(a, b, n + 2)[1:-1] for a, b, n in zip(low, high, counts, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)  # (Y, Z, 2)
    heights = front_heights(panel, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    reach = [max(1, round(_SPOT_M / max(float(axis[1] - axis[0]), 1e-6))) for axis in axes]
    front = float(np.percentile(heights[np.isfinite(heights)], 90)) if np.isfinite(heights).any() else 0.0
    best, best_score = None, -np.inf
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            x = heights[i, j]
            if not np.isfinite(x):
                continue
            window = heights[
                max(0, i - reach[0]) : i + reach[0] + 1,
                max(0, j - reach[1]) : j + reach[1] + 1,
            ]
            uneven = float(min(np.ptp(window), 0.05)) if np.isfinite(window).all() else 0.05
            edge = min(i, grid.shape[0] - 1 - i) < reach[0] or min(j, grid.shape[1] - 1 - j) < reach[1]
            near = 0.0
            if obstacles is not None:
                gap = _box_gap(obstacles, grid[i, j])
                near = max(0.0, 0.06 - gap)
            score = (
                _leverage(posed, grid[i, j], low, high)
                - 40.0 * max(0.0, uneven - 0.004)
                - 20.0 * near
                - (0.5 if edge else 0.0)
                - 5.0 * max(0.0, front - x - 0.03)
            )
            if score > best_score:
                best, best_score = np.array([x, *grid[i, j]]), score
    return best if best is not None else grip.centre


def body_point(posed: PosedObject) -> np.ndarray:
    """(3,) the point of the body's surface that lies nearest to the middle of its upper front edge [m]."""
    mesh = join([p.mesh for p in posed.body_collisions])
    high, low = mesh.vertices.max(axis=0), mesh.vertices.min(axis=0)
    target = np.array([high[0] - 0.05, (low[1] + high[1]) / 2, high[2]])
    centres = np.concatenate([mesh.vertices, mesh.triangles.mean(axis=1)])
    nearest: np.ndarray = centres[int(np.argmin(np.linalg.norm(centres - target, axis=1)))]
    return nearest


def _all(posed: PosedObject) -> list[TriangleMesh]:
    return [p.mesh for p in posed.part_visuals or posed.part_collisions]


def _door_width(posed: PosedObject) -> float:
    return float(np.ptp(np.concatenate([mesh.vertices[:, 1] for mesh in _all(posed)])))


def _handles(posed: PosedObject, prefixes: tuple[str, ...] = HANDLE_NAMES + LOCK_NAMES) -> dict[str, TriangleMesh]:
    """Meshes of the part's visuals by name, of those that a hand could hold."""
    groups: dict[str, list[TriangleMesh]] = {}
    for placed in posed.part_visuals:
        if placed.shape.name.startswith(prefixes):
            groups.setdefault(placed.shape.name, []).append(placed.mesh)
    return {name: join(meshes) for name, meshes in groups.items()} if len(groups) < len(posed.part_visuals) else {}


def _named_grip(posed: PosedObject, name: str, mesh: TriangleMesh) -> Grip | None:
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    face = _face_behind(posed, name, low, high)
    if high[0] - face < PROTRUSION_MIN_M:
        return None
    # Feet and stray triangles lie on the panel: only what stands out says how long the handle is.
    points = surface_points(mesh, spacing_m=0.003, most=40_000)
    points = points[points[:, 0] > face + 0.35 * (high[0] - face)]
    low, high = points.min(axis=0), points.max(axis=0)
    extents = high - low
    knob = float(extents[1:].max()) < 1.5 * float(extents[1:].min()) and float(extents[1:].max()) < 0.09
    along = 2 if extents[2] >= extents[1] else 1
    across = 3 - along
    for share in (0.5, 0.42, 0.58, 0.3, 0.7, 0.2, 0.8):
        at = float(low[along] + share * extents[along])
        section = cut(mesh, axis=along, at=at)
        depth = outermost_interval(section, axis=0)
        if depth is None or depth[1] - face < PROTRUSION_MIN_M:
            continue
        outer = section[section[:, :, 0].max(axis=1) >= depth[0] - 1e-6]
        thin, thick = float(outer[:, :, across].min()), float(outer[:, :, across].max())
        if not GRIP_MIN_M <= thick - thin <= GRIP_MAX_M:
            continue
        centre = np.zeros(3)
        centre[0] = min(max(depth[1] - min((depth[1] - depth[0]) / 2, _FINGER_DEPTH_M), face + 0.012), depth[1] - 0.002)
        centre[along], centre[across] = at, (thin + thick) / 2
        z = np.eye(3)[along]
        return Grip(
            type=HandleType.knob if knob else HandleType.bar,
            centre=centre,
            R_root_handle=np.column_stack([[1.0, 0.0, 0.0], np.cross(z, [1.0, 0.0, 0.0]), z]),
            size=np.array([depth[1] - depth[0], thick - thin, extents[along]]),
            clearance_m=max(0.0, depth[0] - face),
            name=name,
        )
    return None


def _face_behind(posed: PosedObject, name: str, low: np.ndarray, high: np.ndarray) -> float:
    """Where the panel lies behind a handle [m along x]; the handle's own foot if nothing is there."""
    panel = join([p.mesh for p in (*posed.part_visuals, *posed.body_visuals) if p.shape.name != name])
    middle = (low + high)[1:] / 2
    half = (high - low)[1:] / 2
    points = [middle + half * np.array([u, v]) for u in (-0.8, 0.0, 0.8) for v in (-0.8, 0.0, 0.8)]
    heights = front_heights(panel, np.array(points))
    heights = heights[heights > low[0] - 0.05]
    return float(np.median(heights)) if len(heights) else float(low[0])


def _door_edge(posed: PosedObject) -> Grip:
    """The free edge of a door, at mid height or at the height that `info.json` says."""
    mesh = join(_all(posed))
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    away = 1.0 if high[1] - posed.origin[1] > posed.origin[1] - low[1] else -1.0
    middle = (low[2] + high[2]) / 2
    wanted = middle if posed.info_head is None else float(posed.info_head[2])
    span = 0.35 * (high[2] - low[2])
    heights = [float(np.clip(wanted, middle - span, middle + span)), middle, middle + span / 2, middle - span / 2]
    for z in heights:
        section = cut(mesh, axis=2, at=z + 1e-5)
        if not len(section):
            continue
        edge = float((section[:, :, 1] * away).max()) * away
        rim = section[(section[:, :, 1] * away).max(axis=1) >= edge * away - 0.02]
        back, front = float(rim[:, :, 0].min()), float(rim[:, :, 0].max())
        thickness = max(front - back, SHEET_M)
        inset = min(_FINGER_DEPTH_M, 0.2 * float(np.ptp(section[:, :, 1])))
        return Grip(
            type=HandleType.edge if thickness <= GRIP_MAX_M else HandleType.none,
            centre=np.array([max((front + back) / 2, front - GRIP_MAX_M / 2), edge - away * inset, z]),
            R_root_handle=np.column_stack([[0.0, away, 0.0], [-away, 0.0, 0.0], [0.0, 0.0, 1.0]]),
            size=np.array([2 * inset, thickness, high[2] - low[2]]),
        )
    return Grip(HandleType.none, (low + high) / 2, np.eye(3), np.zeros(3))


def _slider_edge(posed: PosedObject) -> Grip:
    """The upper edge of a drawer's front panel, in its middle."""
    mesh = join(_all(posed))
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middle = (low[1] + high[1]) / 2
    wanted = middle if posed.info_head is None else float(np.clip(posed.info_head[1], low[1], high[1]))
    for y in (wanted, middle, low[1] + 0.35 * (high[1] - low[1])):
        section = cut(mesh, axis=1, at=y + 1e-5)
        front = section[section[:, :, 0].min(axis=1) >= high[0] - 0.04] if len(section) else section
        if not len(front):
            continue
        top = float(front[:, :, 2].max())
        rim = front[front[:, :, 2].max(axis=1) >= top - 0.02]
        back, face = float(rim[:, :, 0].min()), float(rim[:, :, 0].max())
        thickness = max(face - back, SHEET_M)
        return Grip(
            type=HandleType.edge,
            centre=np.array([(face + back) / 2, y, top - _FINGER_DEPTH_M]),
            R_root_handle=np.column_stack([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
            size=np.array([2 * _FINGER_DEPTH_M, thickness, high[1] - low[1]]),
        )
    return Grip(HandleType.none, np.array([high[0], middle, (low[2] + high[2]) / 2]), np.eye(3), np.zeros(3))


def _leverage(posed: PosedObject, point: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """From 0 to 1: far from the hinge and at mid height; near the middle of a drawer."""
    width, height = (max(float(v), 1e-6) for v in high - low)
    off_y, off_z = (abs(float(v)) for v in point - (low + high) / 2)
    if posed.kind is PartKind.slider:
        return 1.0 - off_y / width - 0.5 * off_z / height
    return abs(float(point[0] - posed.origin[1])) / width - 0.5 * off_z / height


def _box_gap(mesh: TriangleMesh, point_yz: np.ndarray) -> float:
    low, high = mesh.vertices.min(axis=0)[1:], mesh.vertices.max(axis=0)[1:]
    return float(np.linalg.norm(np.maximum(np.maximum(low - point_yz, point_yz - high), 0.0)))
