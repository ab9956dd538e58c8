"""Decomposes arbitrary meshes into convex colliders: concave, open, and of many pieces.

The method: weld, split by shared vertices; a nearly convex piece becomes its hull, a flat sheet a thin box, an
open surface thin plates; CoACD takes closed pieces and open surfaces too complex for plates, in a child process; a
piece that it crashes on, or whose cavities it fills, becomes plates or boxes.

The result depends only on the meshes and the settings: all work is bounded by counts, never by
a clock, which would make it depend on the load of the machine.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.meshes.convex_hull import convex_hull, thicken_points
from unlatch.simcore.meshes.decomposition import coacd_child
from unlatch.simcore.meshes.decomposition.coacd_process import run_coacd_child
from unlatch.simcore.meshes.decomposition.hull_nearness import SampledSurface
from unlatch.simcore.meshes.decomposition.surface_patches import convex_patches
from unlatch.simcore.meshes.decomposition.voxel_boxes import voxel_boxes
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    drop_duplicate_faces,
    is_closed,
    simplify_mesh,
    split_components,
    weld_vertices,
)

logger = logging.getLogger(__name__)

_FAITHFUL = 2.0
"""Largest protrusion of parts, as a multiple of that of a nearly convex piece."""


@dataclass
class ConvexDecompositionCfg:
    """Settings of the decomposition; lengths are shares of the object's largest extent."""

    weld: float = 1e-4
    """Distance below which vertices are merged."""
    near_convex: float = 0.012
    """A piece is its hull if the hull lies within this of the piece."""
    near_convex_of_piece: float = 0.08
    """The same as a share of the piece's own extent: the spokes of a small wheel stay apart."""
    finest_plate: float = 0.006
    """Protrusion of plates from an open surface that is always allowed."""
    enough_plates: int = 16
    """Plates are merged, up to the protrusion of near-convex pieces, until one piece has this many."""
    most_plates: int = 64
    """Plates are merged, up to the protrusion of CoACD's hulls, until one piece has this many; a piece that needs more
    gets no plates."""
    plate_faces: int = 2500
    """Most triangles of a link that become plates, of the largest pieces first; the time grows with them."""
    sheet_m: float = 0.002
    """Least thickness of a collider [m]; flat sheets get it."""
    smallest: float = 0.01
    """Pieces whose bounding box is smaller than this along its longest side get no collider."""
    simple: float = 0.08
    """Pieces smaller than this (buttons, feet, small knobs) are their hull, concave or not."""
    coacd_pieces: int = 12
    """Most pieces of a link that CoACD takes, the largest first; the others become boxes."""
    coacd_threshold: float = 0.05
    """CoACD's `threshold`: a piece is cut until the concavity of its hulls is below this."""
    coacd_grid: int = 30
    """Cells per side of the grid by which CoACD closes an open piece; faces and time grow with its square."""
    coacd_resolution: int = 500
    """CoACD's `resolution`: samples of a surface for the measure of concavity."""
    coacd_mcts_nodes: int = 10
    """CoACD's `mcts_nodes`: cuts that a step of its tree search tries."""
    coacd_mcts_iterations: int = 20
    """CoACD's `mcts_iterations`: steps of that search before a cut is made."""
    coacd_mcts_depth: int = 2
    """CoACD's `mcts_max_depth`: cuts that it looks ahead."""
    coacd_max_hulls: int = 24
    """Most hulls of one piece."""
    coacd_faces: int = 2000
    """Most faces of a piece for CoACD; vertices are merged to reach it."""
    coarse_below: float = 0.25
    """Pieces smaller than this (lock wheels, dials, handles) get the next two in place of threshold and grid."""
    coarse_threshold: float = 0.1
    """`coacd_threshold` of these."""
    coarse_grid: int = 20
    """`coacd_grid` of these."""
    many_faces: int = 1000
    """Pieces with more faces than this, and open ones, get the next two in place of nodes and iterations."""
    many_faces_mcts_nodes: int = 5
    """`coacd_mcts_nodes` of these."""
    many_faces_mcts_iterations: int = 10
    """`coacd_mcts_iterations` of these."""
    piece_limit_s: float = 900.0
    """Time limit of CoACD for one piece, far more than any piece needs even on a busy machine."""
    hull_vertices: int = 64
    """Most vertices of one hull of CoACD."""
    grid_cells: int = 40
    """Most cells along the longest side of a piece that boxes replace."""
    most_boxes: int = 96
    """Most boxes of a piece; the grid gets coarser to reach it."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value <= 0:
                raise ConfigError(f"convex_decomposition.{name}={value} must be above 0.", key=name)


@dataclass(frozen=True)
class Decomposition:
    """Convex pieces and their methods."""

    hulls: list[TriangleMesh]
    methods: dict[str, int]
    """Number of pieces by method: hull, sheet, plates, coacd, boxes, skipped."""


def decompose(
    meshes: list[TriangleMesh],
    cfg: ConvexDecompositionCfg,
    *,
    size_m: float,
    where: str = "mesh",
    solid: bool = False,
) -> Decomposition:
    """Decomposes the meshes of one link, in one frame [m], into convex pieces.

    `size_m` is the largest extent of the whole object [m]; `where` names the meshes in an error. If `solid`, the inside
    of a closed piece may be filled; if not, parts stay near its surface, and a thick concave piece becomes a shell of
    boxes.

    Raises:
        AssetError: CoACD cannot run, or does not end.
    """
    hulls: list[TriangleMesh] = []
    methods: Counter[str] = Counter()
    concave: list[TriangleMesh] = []
    for mesh in meshes:
        whole = weld_vertices(mesh, distance_m=cfg.weld * size_m)
        pieces = [drop_duplicate_faces(piece) for piece in split_components(whole)]
        if len(pieces) > 1 and len(whole.faces) < 2000 and _is_near_convex(whole, cfg, size_m=size_m):
            pieces = [whole]
        for piece in pieces:
            if float(np.max(piece.extents)) < cfg.smallest * size_m:
                methods["skipped"] += 1
            elif (sheet := _make_sheet(piece, cfg)) is not None:
                hulls.append(sheet)
                methods["sheet"] += 1
            elif float(np.max(piece.extents)) < cfg.simple * size_m or _is_near_convex(piece, cfg, size_m=size_m):
                hulls.append(_thick_hull(piece.vertices, cfg))
                methods["hull"] += 1
            else:
                concave.append(piece)
    for method, parts in _concave_parts(concave, cfg, size_m=size_m, where=where, solid=solid):
        hulls += parts
        methods[method] += 1
    return Decomposition(hulls, dict(sorted(methods.items())))


def _concave_parts(
    pieces: list[TriangleMesh], cfg: ConvexDecompositionCfg, *, size_m: float, where: str, solid: bool
) -> list[tuple[str, list[TriangleMesh]]]:
    plated = _few_faces(pieces, cfg)
    made: dict[int, tuple[str, list[TriangleMesh]]] = {}
    for number, piece in enumerate(pieces):
        if number in plated and not is_closed(piece) and (plates := _make_plates(piece, cfg, size_m=size_m)):
            made[number] = ("plates", plates)
    left = [number for number in range(len(pieces)) if number not in made]
    found = _run_coacd([pieces[number] for number in left], cfg, size_m=size_m, where=where)
    for number, parts in zip(left, found, strict=True):
        piece = pieces[number]
        if parts and _is_faithful(parts, piece, cfg, size_m=size_m, solid=solid):
            made[number] = ("coacd", parts)
        elif number in plated and is_closed(piece) and (plates := _make_plates(piece, cfg, size_m=size_m)):
            made[number] = ("plates", plates)
        else:
            made[number] = ("boxes", [convex_hull(box) for box in _cover_with_boxes(piece, cfg)])
    return [made[number] for number in range(len(pieces))]


def _few_faces(pieces: list[TriangleMesh], cfg: ConvexDecompositionCfg) -> set[int]:
    """Returns the pieces with few enough triangles for plates, the largest pieces first."""
    left, chosen = cfg.plate_faces, set()
    for number in sorted(range(len(pieces)), key=lambda n: (-float(np.max(pieces[n].extents)), n)):
        if len(pieces[number].faces) <= left:
            chosen.add(number)
            left -= len(pieces[number].faces)
    return chosen


def _make_plates(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> list[TriangleMesh]:
    """Returns thin plates along the surface of a piece; none if it would need too many."""
    tolerance_m = _convexity_tolerance(piece, cfg, size_m=size_m)
    patches = convex_patches(
        piece,
        finest_m=min(cfg.finest_plate * size_m, tolerance_m / 2),
        coarse_m=tolerance_m,
        coarsest_m=_FAITHFUL * tolerance_m,
        enough=cfg.enough_plates,
        most=cfg.most_plates,
    )
    return [_thick_hull(patch, cfg) for patch in patches or []]


def _cover_with_boxes(piece: TriangleMesh, cfg: ConvexDecompositionCfg) -> list[np.ndarray]:
    cells = cfg.grid_cells
    while len(boxes := voxel_boxes(piece, cells=cells, thickness_m=cfg.sheet_m)) > cfg.most_boxes and cells > 4:
        cells = cells * 3 // 4
    return boxes


def _thick_hull(points: np.ndarray, cfg: ConvexDecompositionCfg) -> TriangleMesh:
    """Returns the hull of points; points in one plane get the least thickness."""
    return convex_hull(thicken_points(points, least_m=cfg.sheet_m)[0])


def _make_sheet(piece: TriangleMesh, cfg: ConvexDecompositionCfg) -> TriangleMesh | None:
    """Returns the thin box around a flat piece, or None if the piece is not flat."""
    centre = piece.vertices.mean(axis=0)
    _, _, axes = np.linalg.svd(piece.vertices - centre, full_matrices=False)
    flat = (piece.vertices - centre) @ axes.T  # (V, 3), thinnest direction last
    if float(np.ptp(flat[:, 2])) > cfg.sheet_m or len(piece.vertices) < 3:
        return None
    # a ring or an L-shaped sheet is not convex: the outline must fill its own hull
    try:
        outline = ConvexHull(flat[:, :2])
    except QhullError:
        return None
    if piece.area < 0.9 * outline.volume:
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
    return SampledSurface(piece).is_near(hull, limit_m=_convexity_tolerance(piece, cfg, size_m=size_m))


def _is_its_hull(piece: TriangleMesh, hull: TriangleMesh) -> bool:
    """Returns whether a piece has the area and the volume of its hull, which saves the measurement."""
    volume = hull.volume
    return abs(abs(piece.volume) - volume) <= 0.002 * volume and abs(piece.area / hull.area - 1.0) <= 0.002


def _convexity_tolerance(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> float:
    return min(cfg.near_convex * size_m, cfg.near_convex_of_piece * float(np.max(piece.extents)))


def _is_faithful(
    parts: list[TriangleMesh], piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float, solid: bool
) -> bool:
    """Returns whether no hull fills a cavity: every hull stays near its piece."""
    surface, limit_m = SampledSurface(piece), _FAITHFUL * _convexity_tolerance(piece, cfg, size_m=size_m)
    return all(surface.is_near(part, limit_m=limit_m, solid=solid) for part in parts)


def _run_coacd(
    pieces: list[TriangleMesh], cfg: ConvexDecompositionCfg, *, size_m: float, where: str
) -> list[list[TriangleMesh]]:
    """Returns the hulls of each piece; none for a piece that crashed CoACD or exceeds its number of pieces."""
    results: list[list[TriangleMesh]] = [[] for _ in pieces]
    largest = sorted(range(len(pieces)), key=lambda n: (-float(np.max(pieces[n].extents)), n))
    pending = sorted(largest[: cfg.coacd_pieces])
    if not pending:
        return results
    with tempfile.TemporaryDirectory(prefix="unlatch-coacd-") as name:
        folder = Path(name)
        settings = {}
        for number in pending:
            piece = pieces[number]
            first_m = float(np.max(piece.extents)) / 400
            piece = simplify_mesh(piece, max_faces=cfg.coacd_faces, first_distance_m=first_m)
            np.savez(folder / f"in_{number:05d}.npz", vertices=piece.vertices, faces=piece.faces)
            settings[f"in_{number:05d}.npz"] = _coacd_settings(piece, cfg, size_m=size_m)
        (folder / coacd_child.SETTINGS_FILE).write_text(json.dumps(settings), encoding="utf-8")
        # a piece that crashes it is skipped, and a new child continues with the rest
        while (crashed := run_coacd_child(folder, limit_s=cfg.piece_limit_s, where=where)) is not None:
            logger.warning("CoACD crashed on a piece of %s, which is made of boxes instead.", where)
            (folder / crashed).unlink()
        for number in pending:
            output = folder / f"out_{number:05d}.npz"
            if output.exists():
                results[number] = _read_hulls(output)
    return results


def _coacd_settings(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> dict[str, object]:
    coarse = float(np.max(piece.extents)) < cfg.coarse_below * size_m
    many = len(piece.faces) > cfg.many_faces or not is_closed(piece)  # an open one gets thousands of faces on the grid
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


def _read_hulls(path: Path) -> list[TriangleMesh]:
    with np.load(path, allow_pickle=False) as data:
        groups = np.split(data["vertices"], np.cumsum(data["counts"])[:-1])
    hulls = []
    for points in groups:
        with suppress(QhullError, ValueError):  # a hull without volume has no contacts
            hulls.append(convex_hull(points))
    return hulls
