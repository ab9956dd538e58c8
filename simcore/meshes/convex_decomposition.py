"""Turns arbitrary meshes into colliders: convex hulls, boxes or convex pieces, also of concave and open meshes.

The mesh is welded and split by shared vertices. A nearly convex piece becomes its hull, a flat sheet a thin box, an
open surface thin plates. CoACD, in a child process, takes closed pieces and open surfaces that are too complex for
plates. If CoACD crashes on a piece or fills its cavities, the piece becomes plates or boxes.

The result depends only on the meshes and the settings: all work is bounded by counts, never by
a clock, which would make it depend on the load of the machine.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy

from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import explain_missing_package
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes import coacd_child
from unlatch.simcore.meshes.collider_pieces import SampledSurface, convex_patches, voxel_boxes
from unlatch.simcore.meshes.shape_surface import primitive_mesh
from unlatch.simcore.meshes.solids import convex_hull, mesh_hull, thicken_points
from unlatch.simcore.meshes.triangle_mesh import (
    TriangleMesh,
    drop_duplicate_faces,
    is_closed,
    join_meshes,
    simplify_mesh,
    split_components,
    weld_vertices,
)
from unlatch.simcore.ranges import Count, Positive, Ranged
from unlatch.simcore.registry import installed_version
from unlatch.simcore.urdf.model import Shape, ShapeKind

logger = logging.getLogger(__name__)

_CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGFPE, -signal.SIGILL)
"""Exit codes of crashes in native code. A killed child is no crash: it may lack memory."""


def run_coacd_child(
    piece: TriangleMesh, settings: dict[str, object], *, limit_s: float, where: str
) -> list[np.ndarray]:
    """Returns the corners (N, 3) of the hulls of a piece; none if CoACD crashes on it.

    Raises:
        AssetError: It does not end, or cannot run.
    """
    with tempfile.TemporaryDirectory(prefix="unlatch-coacd-") as name:
        folder = Path(name)
        np.savez(folder / "in.npz", vertices=piece.vertices, faces=piece.faces)
        (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        command = [sys.executable, str(coacd_child.__file__), name]
        # its threads share one random generator, so the result would depend on their timing
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        try:
            child = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=limit_s, check=False
            )
        except subprocess.TimeoutExpired as exc:
            raise AssetError(
                f"{where}: CoACD is not done with one piece after {limit_s:g} s. Expected seconds. "
                "Try again while the machine does less, or leave this object out.",
                limit_s=limit_s,
            ) from exc
        last = child.stderr.decode("utf-8", errors="replace").strip().splitlines()[-1:]
        if child.returncode in _CRASHES and "bad_alloc" not in "".join(last):
            logger.warning("CoACD crashed on a piece of %s, which is made of boxes instead.", where)
            return []
        if child.returncode:
            raise AssetError(
                f"{where}: CoACD ended with code {child.returncode}{f' ({last[0]})' if last else ''}. Expected convex "
                "pieces. Check that the package coacd works here and that there is memory for it.",
                returncode=child.returncode,
            )
        with np.load(folder / "out.npz", allow_pickle=False) as data:
            return np.split(data["vertices"], np.cumsum(data["counts"])[:-1])


def coacd_version() -> str:
    """Returns the installed version of CoACD, on which converted objects depend; `none` if there is none."""
    return installed_version("coacd") or "none"


_MOST_PROTRUSION = 2.0
"""Largest protrusion of parts, as a multiple of that of a nearly convex piece."""


@dataclass
class ConvexDecompositionCfg(Ranged, where="convex_decomposition"):
    """Settings of the decomposition; lengths are shares of the object's largest extent."""

    weld: Positive = 1e-4
    """Distance below which vertices are merged."""
    near_convex: Positive = 0.012
    """A piece becomes its hull if the hull is at most this far from the piece."""
    near_convex_of_piece: Positive = 0.08
    """The same limit as a share of the piece's own extent, so that the spokes of a small wheel stay apart."""
    finest_plate: Positive = 0.006
    """Distance by which plates may always stand out of an open surface."""
    enough_plates: Count = 16
    """Plates of a piece are merged until this many are left. They may then stand out as far as the hull of a
    near-convex piece.
    """
    most_plates: Count = 64
    """If more plates are left than this, they are merged further. They may then stand out as far as the hulls of CoACD.
    A piece that needs more gets no plates.
    """
    plate_faces: Count = 2500
    """Largest number of triangles of a link that become plates, largest pieces first. The time grows with this number.
    """
    sheet_m: Positive = 0.002
    """Least thickness of a collider [m]; flat sheets get it."""
    smallest: Positive = 0.01
    """Pieces whose bounding box is smaller than this along its longest side get no collider."""
    simple: Positive = 0.08
    """Pieces smaller than this (buttons, feet, small knobs) become their hull, even if they are concave."""
    coacd_pieces: Count = 12
    """Largest number of pieces of a link that CoACD takes, the largest first; the others become boxes."""
    coacd_threshold: Positive = 0.05
    """CoACD's `threshold`: a piece is cut until the concavity of its hulls is below this."""
    coacd_grid: Count = 30
    """Cells per side of the grid by which CoACD closes an open piece; faces and time grow with its square."""
    coacd_resolution: Count = 500
    """CoACD's `resolution`: samples of a surface for the measure of concavity."""
    coacd_mcts_nodes: Count = 10
    """CoACD's `mcts_nodes`: cuts that a step of its tree search tries."""
    coacd_mcts_iterations: Count = 20
    """CoACD's `mcts_iterations`: steps of that search before a cut is made."""
    coacd_mcts_depth: Count = 2
    """CoACD's `mcts_max_depth`: cuts that it looks ahead."""
    coacd_max_hulls: Count = 24
    """Largest number of hulls of one piece."""
    coacd_faces: Count = 2000
    """Largest number of faces of a piece for CoACD; vertices are merged to reach it."""
    coarse_below: Positive = 0.25
    """Pieces smaller than this (lock wheels, dials, handles) use `coarse_threshold` and `coarse_grid`."""
    coarse_threshold: Positive = 0.1
    """`coacd_threshold` of small pieces."""
    coarse_grid: Count = 20
    """`coacd_grid` of small pieces."""
    many_faces: Count = 1000
    """Pieces with more faces than this, and open ones, use the next two settings."""
    many_faces_mcts_nodes: Count = 5
    """`coacd_mcts_nodes` of pieces with many faces."""
    many_faces_mcts_iterations: Count = 10
    """`coacd_mcts_iterations` of pieces with many faces."""
    piece_limit_s: Positive = 900.0
    """Time limit of CoACD for one piece, far more than any piece needs even on a busy machine."""
    hull_vertices: Count = 64
    """Largest number of vertices of one hull of CoACD."""
    grid_cells: Count = 40
    """Largest number of cells along the longest side of a piece that boxes replace."""
    most_boxes: Count = 96
    """Largest number of boxes of a piece; the grid gets coarser to reach it."""


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
    """Decomposes the meshes of one link into convex pieces.

    Args:
        meshes: The meshes, in one frame [m].
        cfg: Settings.
        size_m: Largest extent of the whole object [m].
        where: Name of the meshes in an error.
        solid: Whether the inside of a closed piece may be filled. If not, parts stay near its surface, and a thick
            concave piece becomes a shell of boxes.

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
    for method, parts in _decompose_concave(concave, cfg, size_m=size_m, where=where, solid=solid):
        hulls += parts
        methods[method] += 1
    return Decomposition(hulls, dict(sorted(methods.items())))


def _decompose_concave(
    pieces: list[TriangleMesh], cfg: ConvexDecompositionCfg, *, size_m: float, where: str, solid: bool
) -> list[tuple[str, list[TriangleMesh]]]:
    """Returns method and convex parts of each concave piece."""
    left, plated = cfg.plate_faces, set()  # those with few enough triangles for plates, the largest first
    for number in _largest_first(pieces):
        if len(pieces[number].faces) <= left:
            plated.add(number)
            left -= len(pieces[number].faces)
    made: dict[int, tuple[str, list[TriangleMesh]]] = {}
    for number, piece in enumerate(pieces):
        if number in plated and not is_closed(piece) and (plates := _make_plates(piece, cfg, size_m=size_m)):
            made[number] = ("plates", plates)
    others = [number for number in range(len(pieces)) if number not in made]
    found = _run_coacd([pieces[number] for number in others], cfg, size_m=size_m, where=where)
    for number, parts in zip(others, found, strict=True):
        piece = pieces[number]
        if parts and _fills_no_cavity(parts, piece, cfg, size_m=size_m, solid=solid):
            made[number] = ("coacd", parts)
        elif number in plated and is_closed(piece) and (plates := _make_plates(piece, cfg, size_m=size_m)):
            made[number] = ("plates", plates)
        else:
            cells = cfg.grid_cells
            while len(boxes := voxel_boxes(piece, cells=cells, thickness_m=cfg.sheet_m)) > cfg.most_boxes and cells > 4:
                cells = cells * 3 // 4
            made[number] = ("boxes", [convex_hull(box) for box in boxes])
    return [made[number] for number in range(len(pieces))]


def _largest_first(pieces: list[TriangleMesh]) -> list[int]:
    return sorted(range(len(pieces)), key=lambda n: (-float(np.max(pieces[n].extents)), n))


def _make_plates(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> list[TriangleMesh]:
    """Returns thin plates along the surface of a piece; none if it would need too many."""
    tolerance_m = _convexity_tolerance(piece, cfg, size_m=size_m)
    patches = convex_patches(
        piece,
        finest_m=min(cfg.finest_plate * size_m, tolerance_m / 2),
        coarse_m=tolerance_m,
        coarsest_m=_MOST_PROTRUSION * tolerance_m,
        enough=cfg.enough_plates,
        most=cfg.most_plates,
    )
    return [_thick_hull(patch, cfg) for patch in patches or []]


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
        outline = scipy.spatial.ConvexHull(flat[:, :2])
    except scipy.spatial.QhullError:
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
    except scipy.spatial.QhullError:
        return False
    volume = hull.volume
    if abs(abs(piece.volume) - volume) <= 0.002 * volume and abs(piece.area / hull.area - 1.0) <= 0.002:
        return True  # it is its own hull, and need not be measured
    return SampledSurface(piece).is_near(hull, limit_m=_convexity_tolerance(piece, cfg, size_m=size_m))


def _convexity_tolerance(piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float) -> float:
    return min(cfg.near_convex * size_m, cfg.near_convex_of_piece * float(np.max(piece.extents)))


def _fills_no_cavity(
    parts: list[TriangleMesh], piece: TriangleMesh, cfg: ConvexDecompositionCfg, *, size_m: float, solid: bool
) -> bool:
    """Returns whether no hull fills a cavity: every hull stays near its piece."""
    surface, limit_m = SampledSurface(piece), _MOST_PROTRUSION * _convexity_tolerance(piece, cfg, size_m=size_m)
    return all(surface.is_near(part, limit_m=limit_m, solid=solid) for part in parts)


def _run_coacd(
    pieces: list[TriangleMesh], cfg: ConvexDecompositionCfg, *, size_m: float, where: str
) -> list[list[TriangleMesh]]:
    """Returns the hulls of each piece; none if CoACD crashed on it, or did not get it (`coacd_pieces`)."""
    results: list[list[TriangleMesh]] = [[] for _ in pieces]
    pending = sorted(_largest_first(pieces)[: cfg.coacd_pieces])
    if not pending:
        return results
    if find_spec("coacd") is None:  # the child alone imports it
        missing = ModuleNotFoundError("No module named 'coacd'", name="coacd")
        raise explain_missing_package(missing, extra="assets", needed_by=f"{where}: a concave mesh", error=AssetError)
    for number in pending:
        first_m = float(np.max(pieces[number].extents)) / 400
        piece = simplify_mesh(pieces[number], max_faces=cfg.coacd_faces, first_distance_m=first_m)
        settings = _coacd_settings(piece, cfg, size_m=size_m)
        for points in run_coacd_child(piece, settings, limit_s=cfg.piece_limit_s, where=where):
            with suppress(scipy.spatial.QhullError, ValueError):  # a hull without volume has no contacts
                results[number].append(convex_hull(points))
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


class CollisionApproximation(str, Enum):
    """How colliders follow a mesh; the values are those of `UsdPhysics.MeshCollisionAPI`."""

    convexDecomposition = "convexDecomposition"  # noqa: N815 - the reference's own words
    """Several convex parts: near-convex components are hulled, CoACD takes the rest."""
    convexHull = "convexHull"  # noqa: N815
    """One convex hull."""
    boundingCube = "boundingCube"  # noqa: N815
    """The smallest box around it."""
    boundingSphere = "boundingSphere"  # noqa: N815
    """The smallest sphere around it."""
    meshSimplification = "meshSimplification"  # noqa: N815
    """Its own triangles, simplified; for fixed bodies."""
    none = "none"
    """No collider."""


SIMPLIFIED_FACES = 1500
"""Largest number of triangles of `meshSimplification`."""


@dataclass(frozen=True)
class Colliders:
    """Colliders of some meshes, in their frame."""

    convex: list[TriangleMesh]
    """Convex parts. A primitive is here, too, as a mesh, so that all colliders can be measured and drawn alike."""
    primitive: Shape | None = None
    """The same collider as a box or sphere, for formats with primitives; None if it is neither."""
    triangles: TriangleMesh | None = None
    """A concave surface in place of convex parts."""


def make_colliders(
    meshes: list[TriangleMesh],
    approximation: CollisionApproximation,
    *,
    size_m: float,
    where: str,
    settings: ConvexDecompositionCfg | None = None,
) -> Colliders:
    """Makes the colliders of the surfaces of one link, in one frame [m].

    `size_m` is the largest extent of the whole object [m]; `where` names the meshes in errors.

    Raises:
        AssetError: The meshes have no surface, or CoACD cannot run.
    """
    settings = settings or ConvexDecompositionCfg()
    if approximation is CollisionApproximation.none or not meshes:
        return Colliders([])
    if approximation is CollisionApproximation.convexDecomposition:
        hulls = decompose(meshes, settings, size_m=size_m, where=where, solid=True).hulls
        if hulls:
            return Colliders(hulls)
        approximation = CollisionApproximation.convexHull  # all pieces are too small for colliders
    whole = join_meshes(meshes)
    if approximation is CollisionApproximation.convexHull:
        return Colliders([mesh_hull(whole, least_m=settings.sheet_m, where=where)])
    if approximation is CollisionApproximation.meshSimplification:
        first_m = float(np.max(whole.extents)) / 2000
        return Colliders([], triangles=simplify_mesh(whole, max_faces=SIMPLIFIED_FACES, first_distance_m=first_m))
    hull = mesh_hull(whole, least_m=settings.sheet_m, where=where)
    if approximation is CollisionApproximation.boundingCube:
        shape = _bounding_box(hull.vertices)
    else:
        import trimesh

        centre, radius = trimesh.nsphere.minimum_nsphere(hull.vertices)
        shape = Shape(ShapeKind.sphere, (float(radius),), Pose.from_translation(centre), "bounding_sphere")
    return Colliders([primitive_mesh(shape.kind, shape.size).moved(shape.T_link_shape)], primitive=shape)


def _bounding_box(points: np.ndarray) -> Shape:
    """Returns the smallest box around points (N, 3)."""
    import trimesh

    low, high = points.min(axis=0), points.max(axis=0)
    pose, size = Pose.from_translation((low + high) / 2), high - low
    to_origin, extents = trimesh.bounds.oriented_bounds(points, angle_digits=6)
    # an axis-parallel box is preferred unless the oriented one is clearly smaller
    if float(np.prod(extents)) < 0.995 * float(np.prod(size)):
        pose, size = Pose.from_matrix(np.linalg.inv(to_origin)), np.asarray(extents, dtype=float)
    return Shape(ShapeKind.box, (float(size[0]), float(size[1]), float(size[2])), pose, "bounding_cube")
