"""Convex colliders for meshes as they are found: concave, open, of many pieces.

The recipe: weld, split by shared vertices; a piece that is nearly convex becomes its hull, a flat sheet a thin box;
CoACD takes the rest, in a child process; a piece that it crashes on, or whose cavities it fills, becomes boxes.

The result depends on the meshes and the settings only: all work is bounded by counts, chosen before it starts, never by
a clock, which would make it depend on what else the machine does.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from simcore.assets.converters import coacd_child
from simcore.assets.converters.mesh_parts import TriangleMesh, components, surface_points, welded
from simcore.assets.converters.voxel_boxes import voxel_boxes
from simcore.assets.surface import triangle_distances
from simcore.errors import AssetError, ConfigError

logger = logging.getLogger(__name__)

_CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE, -signal.SIGILL, 0xC0000005)
"""Exit codes of a fault in native code, the last one on Windows. A killed child is not one: a full memory kills too."""


@dataclass
class ConvexDecompositionCfg:
    """Settings of the decomposition; lengths are shares of the object's largest extent."""

    weld: float = 1e-4
    """Vertices closer than this are one."""
    near_convex: float = 0.012
    """A piece is its hull if the hull lies within this of the piece."""
    sheet_m: float = 0.002
    """Least thickness of a collider [m]; flat sheets get it."""
    smallest: float = 0.01
    """Pieces whose box is smaller than this along its longest side are seen but not touched."""
    simple: float = 0.08
    """Pieces smaller than this (buttons, feet, small knobs) are their hull, concave or not."""
    coacd_pieces: int = 32
    """Most pieces of a link that CoACD takes, the largest first; the others become boxes."""
    coacd_threshold: float = 0.05
    coacd_grid: int = 30
    """Cells a side of the grid by which CoACD closes an open piece: its faces, and the time, grow with the square."""
    coacd_resolution: int = 500
    coacd_mcts_nodes: int = 10
    coacd_mcts_iterations: int = 20
    coacd_mcts_depth: int = 2
    coacd_max_hulls: int = 24
    """Most hulls of one piece."""
    coacd_faces: int = 2000
    """Vertices of a piece are merged until it has at most so many faces for CoACD."""
    coarse_below: float = 0.25
    """Pieces smaller than this (lock wheels, dials, handles) get the next two in place of threshold and grid."""
    coarse_threshold: float = 0.2
    coarse_grid: int = 20
    many_faces: int = 1000
    """Pieces with more faces than this get the next two in place of nodes and iterations."""
    many_faces_mcts_nodes: int = 5
    many_faces_mcts_iterations: int = 10
    piece_limit_s: float = 900.0
    """A piece that takes CoACD longer than this is an error; far more than any piece needs, on a busy machine too."""
    hull_vertices: int = 64
    """Most vertices of one hull of CoACD."""
    grid_cells: int = 40
    """Most cells along the longest side where boxes replace a piece."""
    most_boxes: int = 96
    """The grid is made coarser until there are at most so many boxes."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ConfigError(f"convex_decomposition.{name}={value} must be above 0.", key=name)


@dataclass(frozen=True)
class Decomposition:
    """Convex pieces and how they were made."""

    hulls: list[TriangleMesh]
    methods: dict[str, int]
    """Number of pieces by method: hull, sheet, coacd, boxes, skipped."""


def decompose(
    meshes: list[TriangleMesh],
    cfg: ConvexDecompositionCfg,
    *,
    size_m: float,
    where: str = "mesh",
    solid: bool = False,
) -> Decomposition:
    """Convex pieces of some meshes of one link.

    Args:
        meshes: The meshes, in one frame [m].
        cfg: Settings.
        size_m: Largest extent of the whole object [m].
        where: Names the meshes in an error.
        solid: Whether the inside of a closed piece may be filled; else parts must keep near its surface, and a thick
            concave piece becomes a shell of boxes.

    Raises:
        AssetError: CoACD cannot run, or does not end.
    """
    hulls: list[TriangleMesh] = []
    methods: Counter[str] = Counter()
    concave: list[TriangleMesh] = []
    for mesh in meshes:
        whole = welded(mesh, distance_m=cfg.weld * size_m)
        pieces = components(whole)
        if len(pieces) > 1 and len(whole.faces) < 2000 and _is_near_convex(whole, cfg, size_m=size_m):
            pieces = [whole]
        for piece in pieces:
            if float(np.max(piece.extents)) < cfg.smallest * size_m:
                methods["skipped"] += 1
            elif (sheet := _sheet(piece, cfg)) is not None:
                hulls.append(sheet)
                methods["sheet"] += 1
            elif float(np.max(piece.extents)) < cfg.simple * size_m or _is_near_convex(piece, cfg, size_m=size_m):
                hulls.append(_thick_hull(piece.vertices, cfg))
                methods["hull"] += 1
            else:
                concave.append(piece)
    for piece, parts in zip(concave, _run_coacd(concave, cfg, size_m=size_m, where=where), strict=True):
        if parts and _is_faithful(parts, piece, cfg, size_m=size_m, solid=solid):
            hulls += parts
            methods["coacd"] += 1
        else:
            hulls += [convex_hull(box) for box in _boxes(piece, cfg)]
            methods["boxes"] += 1
    return Decomposition(hulls, dict(sorted(methods.items())))


def convex_hull(points: np.ndarray) -> TriangleMesh:
    """The convex hull of points (N, 3), its triangles turned outwards."""
    hull = ConvexHull(points)
    used, renumbered = np.unique(hull.simplices, return_inverse=True)
    vertices, faces = points[used], renumbered.reshape(-1, 3)
    normals = np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]])
    flipped = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
    faces[flipped] = faces[flipped][:, ::-1]
    return TriangleMesh(vertices, faces)


def hull_volume(hull: TriangleMesh) -> float:
    """Volume of a closed mesh with outward triangles [m^3]."""
    a, b, c = (hull.vertices[hull.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def _boxes(piece: TriangleMesh, cfg: ConvexDecompositionCfg) -> list[np.ndarray]:
    cells = cfg.grid_cells
    boxes = voxel_boxes(piece, cells=cells, thickness_m=cfg.sheet_m)
    while len(boxes) > cfg.most_boxes and cells > 4:
        cells = cells * 3 // 4
        boxes = voxel_boxes(piece, cells=cells, thickness_m=cfg.sheet_m)
    return boxes


def _thick_hull(points: np.ndarray, cfg: ConvexDecompositionCfg) -> TriangleMesh:
    """The hull of points, which may lie in one plane: they are then given the least thickness."""
    centre = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - centre, full_matrices=True)
    local = (points - centre) @ axes.T
    shifts = np.maximum(cfg.sheet_m - np.ptp(local, axis=0), 0.0) / 2
    if np.any(shifts > 0):
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        local = (local[:, None, :] + signs * shifts).reshape(-1, 3)
    return convex_hull(local @ axes + centre)


def _sheet(piece: TriangleMesh, cfg: ConvexDecompositionCfg) -> TriangleMesh | None:
    """The thin box around a flat piece, or None if the piece is not flat."""
    centre = piece.vertices.mean(axis=0)
    _, _, axes = np.linalg.svd(piece.vertices - centre, full_matrices=False)
    flat = (piece.vertices - centre) @ axes.T  # (V, 3), thinnest direction last
    if float(np.ptp(flat[:, 2])) > cfg.sheet_m or len(piece.vertices) < 3:
        return None
    # A ring or an L of sheet is no convex sheet: its outline must fill its own hull.
    try:
        outline = ConvexHull(flat[:, :2])
    except QhullError:
        return None
    corners = piece.triangles
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum() / 2
    if area < 0.9 * outline.volume:
        return None
    rim = flat[outline.vertices]
    middle, half = (flat[:, 2].min() + flat[:, 2].max()) / 2, cfg.sheet_m / 2
    layers = [np.column_stack([rim[:, :2], np.full(len(rim), middle + sign * half)]) for sign in (-1, 1)]
    return convex_hull(np.concatenate(layers) @ axes + centre)


def _is_near_convex(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> bool:
    try:
        hull = convex_hull(piece.vertices)
    except QhullError:
        return False
    if _is_its_hull(piece, hull):
        return True
    return _farthest(hull, piece) <= _tolerance(piece, cfg, size_m=size_m)


def _is_its_hull(piece: TriangleMesh, hull: TriangleMesh) -> bool:
    """Whether a piece has the area and the volume of its hull: then nothing has to be measured."""

    def area(mesh: TriangleMesh) -> float:
        a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
        return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)

    volume = hull_volume(hull)
    return abs(abs(hull_volume(piece)) - volume) <= 0.002 * volume and abs(area(piece) / area(hull) - 1.0) <= 0.002


def _tolerance(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> float:
    return min(cfg.near_convex * size_m, 0.15 * float(np.max(piece.extents)))


def _farthest(hull: TriangleMesh, piece: TriangleMesh, *, solid: bool = False) -> float:
    """Largest distance from points on a hull to the surface of its piece, or to its inside too [m]."""
    spacing = float(np.max(hull.extents)) / 10
    points = surface_points(hull, spacing_m=spacing, most=3000)
    if len(points) > 400:
        points = points[:: len(points) // 400 + 1]
    triangles = piece.triangles
    if solid:
        points = points[winding_numbers(points, triangles) < 0.9]
    return max((float(triangle_distances(point, triangles).min()) for point in points), default=0.0)


def winding_numbers(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """How often a surface goes around each point: 1 inside a closed one whose triangles face outwards, 0 outside.

    Args:
        points: (N, 3)
        triangles: (F, 3, 3)

    Returns:
        (N,) sums of solid angles over 4 pi (van Oosterom and Strackee 1983).
    """
    numbers = np.zeros(len(points))
    for n, point in enumerate(points):
        a, b, c = (triangles[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        triple = np.einsum("ij,ij->i", a, np.cross(b, c))
        dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
        numbers[n] = np.sum(np.arctan2(triple, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)) / (2 * np.pi)
    return numbers


def _is_faithful(
    parts: list[TriangleMesh], piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float, solid: bool
) -> bool:
    """Whether no hull fills a cavity: every hull stays near the piece that it was made from."""
    limit = 2.0 * _tolerance(piece, cfg, size_m=size_m)
    return all(_farthest(part, piece, solid=solid) <= limit for part in parts)


def _run_coacd(
    pieces: list[TriangleMesh], cfg: ConvexDecompositionCfg, *, size_m: float, where: str
) -> list[list[TriangleMesh]]:
    """Hulls of each piece; an empty list where CoACD crashed, or where there are more pieces than it is given."""
    results: list[list[TriangleMesh]] = [[] for _ in pieces]
    largest = sorted(range(len(pieces)), key=lambda n: (-float(np.max(pieces[n].extents)), n))
    pending = sorted(largest[: cfg.coacd_pieces])
    if not pending:
        return results
    with tempfile.TemporaryDirectory(prefix="unlatch-coacd-") as name:
        folder = Path(name)
        settings = {}
        for number in pending:
            piece = _decimated(pieces[number], most_faces=cfg.coacd_faces)
            np.savez(folder / f"in_{number:05d}.npz", vertices=piece.vertices, faces=piece.faces)
            settings[f"in_{number:05d}.npz"] = _coacd_settings(piece, cfg, size_m=size_m)
        (folder / coacd_child.SETTINGS_FILE).write_text(json.dumps(settings), encoding="utf-8")
        # A piece that crashes it is left out, and a new child goes on with the rest.
        while (crashed := _run_child(folder, limit_s=cfg.piece_limit_s, where=where)) is not None:
            logger.warning("CoACD crashed on a piece of %s, which is made of boxes instead.", where)
            (folder / crashed).unlink()
        for number in pending:
            output = folder / f"out_{number:05d}.npz"
            if output.exists():
                results[number] = _read_hulls(output)
    return results


def _coacd_settings(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> dict[str, object]:
    """What CoACD is asked for, by the size of a piece: its effort is bounded before it starts."""
    coarse = float(np.max(piece.extents)) < cfg.coarse_below * size_m
    many = len(piece.faces) > cfg.many_faces
    return {
        "threshold": cfg.coarse_threshold if coarse else cfg.coacd_threshold,
        "preprocess_resolution": cfg.coarse_grid if coarse else cfg.coacd_grid,
        "resolution": cfg.coacd_resolution,
        "mcts_nodes": cfg.many_faces_mcts_nodes if many else cfg.coacd_mcts_nodes,
        "mcts_iterations": cfg.many_faces_mcts_iterations if many else cfg.coacd_mcts_iterations,
        "mcts_max_depth": cfg.coacd_mcts_depth,
        "max_convex_hull": cfg.coacd_max_hulls,
        "max_ch_vertex": cfg.hull_vertices,
        "decimate": True,
        "seed": 0,
    }


def _decimated(piece: TriangleMesh, *, most_faces: int) -> TriangleMesh:
    """A piece whose vertices are merged over growing distances until it has at most so many faces."""
    fewer = piece
    distance_m = float(np.max(piece.extents)) / 400
    while len(fewer.faces) > most_faces:
        fewer = welded(piece, distance_m=distance_m)
        distance_m *= 1.25
    return fewer if len(fewer.faces) else piece


def _run_child(folder: Path, *, limit_s: float, where: str) -> str | None:
    """Runs a child over the inputs of a folder; returns the one that crashed it, or None at its end.

    Raises:
        AssetError: It does not end, or cannot run.
    """
    started = folder / coacd_child.STARTED_FILE
    started.unlink(missing_ok=True)
    said = folder / "said.txt"
    with said.open("w", encoding="utf-8") as output:
        child = subprocess.Popen(
            [sys.executable, str(coacd_child.__file__), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            # its threads share one random generator: with two, who is quicker would decide the result
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            _wait(child, started, limit_s=limit_s, where=where)
        finally:
            child.kill()
            child.wait()
    if child.returncode == 0:
        return None
    current = _text(started)
    last = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    if current and child.returncode in _CRASHES and "bad_alloc" not in "".join(last):
        return current
    raise AssetError(
        f"{where}: CoACD ended with code {child.returncode}{f' ({last[0]})' if last else ''}. Expected convex pieces. "
        "Check that the package coacd works here and that there is memory for it.",
        returncode=child.returncode,
    )


def _wait(child: subprocess.Popen[bytes], started: Path, *, limit_s: float, where: str) -> None:
    """Waits for the end of a child that writes the name of each piece as it begins it."""
    current, since = "", time.monotonic()
    while child.poll() is None:
        if (name := _text(started)) != current:
            current, since = name, time.monotonic()
        if time.monotonic() - since > limit_s:
            raise AssetError(
                f"{where}: CoACD is not done with one piece after {limit_s:g} s. Expected seconds. "
                "Try again while the machine does less, or leave this object out.",
                limit_s=limit_s,
            )
        time.sleep(0.02)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _read_hulls(path: Path) -> list[TriangleMesh]:
    with np.load(path, allow_pickle=False) as data:
        groups = np.split(data["vertices"], np.cumsum(data["counts"])[:-1])
    hulls = []
    for points in groups:
        try:
            hulls.append(convex_hull(points))
        except (QhullError, ValueError):
            # A hull without volume touches nothing.
            continue
    return hulls
