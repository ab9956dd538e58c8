"""Brings an object into our frames: z up, the front along +x, the part closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unlatch.objects.annotate.kinds import PartShape, measure_shape, turning_kind
from unlatch.objects.annotate.source import LinkMesh, ObjectGeometry, SourceObject
from unlatch.objects.annotation import SMALL_RANGE_RAD, UPRIGHT, PartKind
from unlatch.objects.turned_object import scaled_pose
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose, turn_to_x
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, sample_surface
from unlatch.simcore.urdf.model import Joint, Shape, rigid_links

_LINES_AT_ONCE = 32
"""Lines for which the triangles at their y are looked up together."""


def cut_mesh(mesh: TriangleMesh, *, axis: int, at: float) -> np.ndarray:
    """Returns line segments (N, 2, 3) where a plane cuts a mesh [m].

    The plane is at right angles to the axis 0, 1 or 2, at the coordinate `at` [m].
    """
    corners = mesh.triangles
    # Vertices on the plane itself would give points instead of segments: they count as just above it.
    side = corners[:, :, axis] - at
    side = np.where(side == 0.0, 1e-12, side)
    crossing = (side.min(axis=1) < 0) & (side.max(axis=1) > 0)
    corners, side = corners[crossing], side[crossing]
    ends = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        share = side[:, a] / np.where(side[:, a] == side[:, b], 1.0, side[:, a] - side[:, b])
        point = corners[:, a] + share[:, None] * (corners[:, b] - corners[:, a])
        cuts = (side[:, a] < 0) != (side[:, b] < 0)
        ends.append(np.where(cuts[:, None], point, np.nan))
    points = np.stack(ends, axis=1)  # (N, 3, 3), one of three rows is NaN
    order = np.argsort(np.isnan(points[:, :, 0]), axis=1, kind="stable")[:, :2]
    return np.take_along_axis(points, order[:, :, None], axis=1)


def outermost_interval(segments: np.ndarray, *, axis: int, gap_m: float = 0.002) -> tuple[float, float] | None:
    """Returns the last connected interval that segments (N, 2, 3) cover along an axis [m]; None without segments."""
    if not len(segments):
        return None
    spans = np.sort(segments[:, :, axis], axis=1)
    spans = spans[np.argsort(-spans[:, 1])]
    low, high = float(spans[0, 0]), float(spans[0, 1])
    for start, end in spans[1:]:
        if end < low - gap_m:
            break
        low = min(low, float(start))
    return low, high


def heights_in_front(mesh: TriangleMesh, points_yz: np.ndarray) -> np.ndarray:
    """Returns (N,) the largest x at which lines along x through points (N, 2) meet a mesh; -inf for a miss."""
    corners = mesh.triangles
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, ac = b - a, c - a
    area = ab[:, 1] * ac[:, 2] - ab[:, 2] * ac[:, 1]
    facing = np.abs(area) > 1e-14
    low, high = np.minimum(np.minimum(a, b), c)[:, 1:], np.maximum(np.maximum(a, b), c)[:, 1:]
    a, ab, ac, area, low, high = (values[facing] for values in (a, ab, ac, area, low, high))
    heights = np.full(len(points_yz), -np.inf)
    # neighbours in y share the triangles at their y: each line is compared with those only
    order = np.argsort(points_yz[:, 0], kind="stable")
    for first in range(0, len(order), _LINES_AT_ONCE):
        numbers = order[first : first + _LINES_AT_ONCE]
        lines = points_yz[numbers]
        band = np.flatnonzero((low[:, 0] <= lines[-1, 0]) & (high[:, 0] >= lines[0, 0]))
        over = np.all((low[band] <= lines[:, None]) & (lines[:, None] <= high[band]), axis=2)  # (lines, triangles)
        line, triangle = np.nonzero(over)
        triangle = band[triangle]
        ap = lines[line] - a[triangle, 1:]
        u = (ap[:, 0] * ac[triangle, 2] - ap[:, 1] * ac[triangle, 1]) / area[triangle]
        v = (ab[triangle, 1] * ap[:, 1] - ab[triangle, 2] * ap[:, 0]) / area[triangle]
        hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
        x = a[triangle, 0] + u * ab[triangle, 0] + v * ac[triangle, 0]
        np.maximum.at(heights, numbers[line[hit]], x[hit])
    return heights


Ends = Mapping[str, tuple[float, float]]
"""Closed and open position by joint name."""

_ALIGNED = 0.05
"""An axis that leans by less counts as upright or level."""
_FACING = 0.94
"""Faces within this cosine look in the same direction."""
PRESSED_DEPTH_M = 0.014
"""Fingers do not fit around a switch that stands out of the body by less."""
_BALANCED = 0.5
"""A switch reaches to either side of its axis by at least this share of what it reaches to the other."""
_MIDDLE = 0.8
"""A panel turns about its middle if it reaches to either side of its axis by at least this share of the other side."""
_RING = 0.2
"""The body beside a part is measured this share of the part's smaller extent away from it."""
_RAYS = 100
"""Points of a part from which lines along its axis begin."""
_COVERED = 0.05
"""The body is in front of an end of a part if it covers more than this share of the lines along the axis."""
_MOST = 0.5
"""A part that covers the body hides more than this share of it."""
_LINES = 12
"""Lines of sight along each side of the body's outline."""
_DRAWER_SHARE = 0.05
"""The body goes on beyond a closed panel by at least this share of the panel's length."""
_THINNER = 5.0
"""A panel that slides in its own plane is this many times longer, along its motion and upwards, than thick."""
_PULL_SHARE = 0.2
"""A panel has a pull on one side if it stands out there by this share of the depth of the panel more."""
_PANEL = 3.0
"""A panel is this many times longer than thick; its long direction is then clear."""


@dataclass(frozen=True)
class PosedMesh:
    """One mesh of the object, in our root frame at the closed pose [m]."""

    shape: Shape
    mesh: TriangleMesh
    T_root_mesh: Pose
    """Pose of the mesh file's frame; the file's vertices are multiplied by `scale` first."""
    scale: np.ndarray
    """(3,) factors from the file to metres."""


@dataclass(frozen=True)
class PosedObject:
    """The object with one moving part: closed, front along +x, on z = 0, its footprint's middle at the origin [m]."""

    source: SourceObject
    joint: Joint
    kind: PartKind
    reason: str
    """Why it is of this kind."""
    covers: bool
    """Whether it hides most of the body, see `_covers`."""
    scale: float
    origin: np.ndarray
    """(3,) a point on the joint's axis."""
    axis: np.ndarray
    """(3,) unit axis of the joint."""
    R_root_work: np.ndarray
    """(3, 3) the work frame, in which handles are searched. x is the direction in which a hand pulls the part (out of a
    door, up from a lid, along a slider), z is the axis of a hinge, and y runs across the part."""
    lower: float
    upper: float
    closed: float
    open: float
    body_visuals: list[PosedMesh]
    body_collisions: list[PosedMesh]
    part_visuals: list[PosedMesh]
    part_collisions: list[PosedMesh]
    T_root_link: Pose
    """Frame of the joint's child link in the source."""
    T_root_base: Pose
    """Frame of the joint's parent link in the source."""
    info_head: np.ndarray | None
    """(3,) the head of `info.json` on the closed object."""
    bounds: np.ndarray
    """(2, 3) of the closed object with all its links [m]."""
    is_switch: bool = False
    """Whether a finger presses the part on one side of its axis."""
    plane_front: np.ndarray | None = None
    """(3,) unit direction out of the front of a panel that slides sideways in its own plane; None for other parts."""

    @property
    def opens(self) -> float:
        """+1 if the joint position grows while the part opens, else -1."""
        return 1.0 if self.open > self.closed else -1.0

    @property
    def outward(self) -> np.ndarray:
        """(3,) direction in which a hand pulls the part, root frame."""
        return self.R_root_work[:, 0]


def pose_object(
    geometry: ObjectGeometry, joint: Joint, *, scale: float, ends: Ends, names: str = "", rigid_only: bool = False
) -> PosedObject:
    """Poses the object for one joint; every other joint is held at its closed end.

    Args:
        geometry: The object.
        joint: The joint that stays movable.
        scale: Metres per unit.
        ends: Closed and open position of every joint that moves.
        names: What the files call the part, see `turning_kind`.
        rigid_only: If true, the part is the joint's child link with the links fixed to it, and the body is its parent
            link with the links fixed to that. If false, all other joints count as fixed: the part is everything below
            the joint, and the body is the rest.

    Raises:
        AssetError: The part has no meshes.
    """
    model, source = geometry.model, geometry.source
    held = {name: end[0] for name, end in ends.items()}
    closed, opened = ends[joint.name]
    moving = geometry.moving_links(joint)
    poses = {name: model.link_pose(name, held) for name in model.links}
    T_root_joint = poses[joint.child]
    axis = T_root_joint.rotate(joint.axis / np.linalg.norm(joint.axis))
    body = [(poses[name], item) for name in model.links if name not in moving for item in geometry.meshes(name)]
    part = [(poses[name], item) for name in model.links if name in moving for item in geometry.meshes(name)]
    around = [*body, *part]
    if rigid_only:
        with_child, with_parent = rigid_links(model, joint.child), rigid_links(model, joint.parent)
        # a link without a shape carries the part of a joint below, as the thread of a cap that turns and lifts
        part = [(poses[name], item) for name in with_child for item in geometry.meshes(name)] or part
        body = [(poses[name], item) for name in with_parent for item in geometry.meshes(name)] or body
    if not part:
        raise AssetError(
            f"{source.file.parent}: joint '{joint.name}' has no meshes on its part '{joint.child}'.",
            path=str(source.file.parent),
        )
    surface = join_meshes(item.mesh.moved(pose) for pose, item in part)
    points = surface_points([surface])
    opens = float(np.sign(opened - closed))
    middle = _box_middle([pose @ item.mesh.vertices for pose, item in (body or part)])
    corners_of_body = [pose @ item.mesh.triangles for pose, item in body]
    pressed = _press_direction(
        joint, T_root_joint.p, axis, points, middle, corners_of_body, most=PRESSED_DEPTH_M / scale
    )
    outward = pressed
    if outward is None:
        outward = _outward_direction(joint, T_root_joint.p, axis, opens, points, surface, middle)
    covers, free = _covers(surface, outward, corners_of_body), _free_end(points, axis, corners_of_body)
    shape = measure_shape(points, T_root_joint.p, axis, stands_free=free != 0.0, covers=covers)
    if shape.is_balanced:
        free, met = _held_side(points, T_root_joint.p, axis, corners_of_body, free)
        shape = measure_shape(met, T_root_joint.p, axis, stands_free=free != 0.0, covers=covers)
    kind, reason = turning_kind(shape, names, axis, outward)
    if joint.kind == "prismatic":
        kind, reason = PartKind.slider, "it slides"
    elif pressed is not None:
        kind, reason = PartKind.of_hinge(axis, outward), "it tips about its middle and hardly stands out of the body"
    work = _work_frame(kind, shape, axis, outward, points, middle, free)
    ends_of_body = [float((pose @ item.mesh.vertices @ work[:, 0]).max()) for pose, item in body]
    plane = (
        _plane_normal(work[:, 0], points, surface, middle, max(ends_of_body, default=-np.inf))
        if kind is PartKind.slider
        else None
    )
    R_front = _turn_to_front(kind, work, T_root_joint.p, axis, points, middle, plane=plane)

    corners = np.concatenate([pose @ item.mesh.vertices for pose, item in around if item.is_collider])
    turned = corners @ R_front.T * scale
    low, high = turned.min(axis=0), turned.max(axis=0)
    T_root_old = Pose(R_front, -np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]]))
    factor = scale if joint.kind == "prismatic" else 1.0
    lower, upper = sorted((closed, opened)) if joint.kind == "continuous" else (joint.lower, joint.upper)
    return PosedObject(
        source=source,
        joint=joint,
        kind=kind,
        reason=reason,
        covers=covers,
        scale=scale,
        origin=T_root_old @ (T_root_joint.p * scale),
        axis=T_root_old.rotate(axis),
        R_root_work=R_front @ work,
        lower=min(lower, closed, opened) * factor,
        upper=max(upper, closed, opened) * factor,
        closed=closed * factor,
        open=opened * factor,
        body_visuals=_pose_meshes(body, T_root_old, scale, visual=True),
        body_collisions=_pose_meshes(body, T_root_old, scale, visual=False),
        part_visuals=_pose_meshes(part, T_root_old, scale, visual=True),
        part_collisions=_pose_meshes(part, T_root_old, scale, visual=False),
        T_root_link=T_root_old @ scaled_pose(T_root_joint, scale),
        T_root_base=T_root_old @ scaled_pose(poses[joint.parent], scale),
        info_head=_find_info_head(source, joint, T_root_joint, T_root_old, scale),
        bounds=np.stack([low + T_root_old.p, high + T_root_old.p]),
        is_switch=pressed is not None,
        plane_front=None if plane is None else R_front @ plane,
    )


def surface_points(meshes: list[TriangleMesh]) -> np.ndarray:
    """Returns (N, 3) points all over the surface of a part: vertices alone would favour curved pieces."""
    surface = join_meshes(meshes)
    return sample_surface(surface, spacing_m=float(np.max(surface.extents)) / 60.0, max_points=20_000)


def _find_info_head(
    source: SourceObject, joint: Joint, T_root_link: Pose, T_root_old: Pose, scale: float
) -> np.ndarray | None:
    """Returns the head of `info.json`, given in the frame of the first collider of the first moving joint's link."""
    head = source.info_head
    first = next((j for j in source.model.joints.values() if j.moves), None)
    if head is None or first is None or first.name != joint.name:
        return None
    shapes = source.model.links[joint.child].collisions
    point = shapes[0].T_link_shape @ head if shapes else head
    return T_root_old @ ((T_root_link @ point) * scale)


def _box_middle(clouds: list[np.ndarray]) -> np.ndarray:
    points = np.concatenate(clouds)
    return (points.min(axis=0) + points.max(axis=0)) / 2


def _outward_direction(
    joint: Joint,
    origin: np.ndarray,
    axis: np.ndarray,
    opens: float,
    points: np.ndarray,
    surface: TriangleMesh,
    body_middle: np.ndarray,
) -> np.ndarray:
    """Returns (3,) the unit direction in which the part leaves its closed pose: the normal of a panel.

    One side of a panel that turns about its middle moves away from the body; the direction is that of this side.
    """
    if joint.kind == "prismatic":
        return axis * opens
    arm = _box_middle([points]) - origin
    arm = arm - axis * float(arm @ axis)
    across = points - points.mean(axis=0)
    across = across - np.outer(across @ axis, axis)
    _, _, directions = np.linalg.svd(across, full_matrices=False)
    along, thin = directions[0], directions[1]
    if np.ptp(across @ along) > _PANEL * np.ptp(across @ thin):
        along = np.cross(_mean_normal(surface, thin, axis), axis)
        lever = along * float(np.sign(along @ arm) or 1.0)
    else:
        # A deep part: of the arm from the hinge to its middle, only its larger component along the axes counts.
        lever = arm.copy()
        plane = [k for k in range(3) if abs(axis[k]) < 0.5]
        if len(plane) == 2:
            lever[min(plane, key=lambda k: abs(lever[k]))] = 0.0
    lever = _snap_to_axis(lever, axis)
    direction = opens * np.cross(axis, lever)
    length = float(np.linalg.norm(direction))
    if length <= 1e-9:
        return _any_perpendicular(axis)
    direction /= length
    sides = float(((points - origin) @ lever).max()), float(-((points - origin) @ lever).min())
    if min(sides) < _MIDDLE * max(sides):
        return direction
    away = float(direction @ (_box_middle([points]) - body_middle))
    if abs(away) < _ALIGNED * max(sides):  # in the middle of the body, such as a revolving door: either side will do
        away = float(direction[int(np.argmax(np.abs(direction)))])
    return direction if away > 0.0 else -direction


def _press_direction(
    joint: Joint,
    origin: np.ndarray,
    axis: np.ndarray,
    points: np.ndarray,
    body_middle: np.ndarray,
    body: list[np.ndarray],
    *,
    most: float,
) -> np.ndarray | None:
    """Returns (3,) the unit direction out of a switch that is pressed on one side; None: the part is no such switch.

    Such a switch turns a little about an axis in its face, and reaches about as far to one side of it as to the other.
    It stands out of the body by at most `most`, so that fingers do not fit around it, or by less than it is long
    across its axis. `body` are corners (N, 3, 3) of triangles.
    """
    span = joint.upper - joint.lower
    if joint.kind != "revolute" or span >= SMALL_RANGE_RAD:
        return None
    away = _box_middle([points]) - body_middle
    away = away - axis * float(away @ axis)
    length = float(np.linalg.norm(away))
    if length < 1e-9:
        return None
    outward = _snap_to_axis(away / length, axis)
    across = (points - origin) @ np.cross(outward, axis)
    sides = float(across.max()), float(-across.min())
    is_balanced = min(sides) > _BALANCED * max(sides)
    if not is_balanced:
        return None
    stands_out = _measure_standing_out(points, outward, axis, body)
    thickest = most if stands_out is None else max(most, sum(sides))
    if stands_out is None:
        stands_out = float(np.ptp(points @ outward))
    return outward if stands_out <= thickest + span * max(sides) else None


def _measure_standing_out(
    points: np.ndarray, outward: np.ndarray, axis: np.ndarray, body: list[np.ndarray]
) -> float | None:
    """Returns how far a part stands out of the surface of the body around it; None if there is no such surface.

    Args:
        points: (N, 3) points of the part.
        outward: (3,) unit direction out of the body.
        axis: (3,) unit vector at right angles to `outward`.
        body: Corners (N, 3, 3) of the triangles of the body.
    """
    R = np.column_stack([outward, np.cross(axis, outward), axis])
    seen = points @ R
    low, high = seen.min(axis=0), seen.max(axis=0)
    corners = _as_mesh(body).vertices @ R
    middle, half = (low + high)[1:] / 2, (high - low)[1:] / 2
    half = half + _RING * 2 * float(half.min())
    ring = [middle + half * np.array([u, v]) for u in (-1, 0, 1) for v in (-1, 0, 1) if u or v]
    heights = heights_in_front(TriangleMesh(corners, np.arange(len(corners)).reshape(-1, 3)), np.array(ring))
    beside = heights[(heights > 2 * low[0] - high[0]) & (heights < high[0])]
    if 2 * len(beside) < len(ring):
        return None
    return float(high[0]) - max(float(np.median(beside)), float(low[0]))


def _mean_normal(surface: TriangleMesh, thin: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Returns (3,) the unit normal of a panel across its hinge, from the faces that look along its thin direction.

    A handle tilts the principal axes of a panel's points, but not the normals of its faces.
    """
    normals = surface.area_normals
    normals = normals - np.outer(normals @ axis, axis)
    normals *= np.sign(normals @ thin)[:, None]
    lengths = np.linalg.norm(normals, axis=1)
    facing = normals @ thin > _FACING * lengths
    mean = normals[facing].sum(axis=0) if facing.any() else thin
    length = float(np.linalg.norm(mean))
    return mean / length if length > 0.2 * float(lengths.sum()) else thin


def _snap_to_axis(direction: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Returns a direction, or the coordinate axis within 15 degrees of it: a handle tilts the principal axes."""
    unit = direction / max(float(np.linalg.norm(direction)), 1e-12)
    nearest = int(np.argmax(np.abs(unit)))
    if abs(unit[nearest]) > 0.966 and abs(axis[nearest]) < _ALIGNED:
        return np.eye(3)[nearest] * np.sign(unit[nearest])
    return unit


def _any_perpendicular(axis: np.ndarray) -> np.ndarray:
    """Returns (3,) a unit vector at right angles to an axis, always the same one."""
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    return across / np.linalg.norm(across)


def _work_frame(
    kind: PartKind,
    shape: PartShape,
    axis: np.ndarray,
    outward: np.ndarray,
    points: np.ndarray,
    body_middle: np.ndarray,
    free_end: float,
) -> np.ndarray:
    """Returns (3, 3) the work frame in the root frame of the source, see `PosedObject.R_root_work`.

    `free_end` is that of `_free_end`.
    """
    up = np.array([0.0, 0.0, 1.0])
    if kind is PartKind.slider:
        x = axis * float(np.sign(outward @ axis) or 1.0)
        z = up - x * float(up @ x) if abs(float(x[2])) < 0.9 else _any_perpendicular(x)
    elif kind in (PartKind.knob, PartKind.lever):
        if kind is PartKind.lever and shape.width > 0.5:
            # A bail: its grip runs along the axis, and a hand comes from the side on which the bail stands.
            x, z = shape.radial, axis
        else:
            # Turned in its own plane: a hand comes along the axis, from the side away from the body.
            away = _box_middle([points]) - body_middle
            side = free_end or float(away @ axis)
            if free_end == 0.0 and abs(side) < 0.1 * shape.reach * max(1.0, shape.along) and abs(axis[2]) > UPRIGHT:
                side = float(axis[2])
            x = axis * (1.0 if side >= 0 else -1.0)
            z = shape.radial
    else:
        x = outward - axis * float(outward @ axis)
        z = axis * float(np.sign(axis[int(np.argmax(np.abs(axis)))]))
        if abs(z[2]) > 1.0 - _ALIGNED and np.linalg.norm(x[:2]) > 0.5:
            z = up
    x = x / np.linalg.norm(x)
    z = z - x * float(z @ x)
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def _plane_normal(
    motion: np.ndarray, points: np.ndarray, surface: TriangleMesh, body_middle: np.ndarray, end_of_body: float
) -> np.ndarray | None:
    """Returns (3,) the unit direction out of the front of a panel that slides sideways in its own plane; or None.

    `motion` is the unit direction of the slide, and `end_of_body` where the body ends along it: beyond the closed
    panel, but not beyond a narrow drawer. A pull stands out to the front; without one, the panel is in front of the
    middle of the body.
    """
    along = points @ motion
    if abs(float(motion[2])) > _ALIGNED or end_of_body < along.max() + _DRAWER_SHARE * np.ptp(along):
        return None
    normal = np.cross([0.0, 0.0, 1.0], motion)
    normal /= np.linalg.norm(normal)
    depths = points @ normal
    back, front = _usual_faces(surface, normal)  # a handle is before a small share of a panel
    if _THINNER * (front - back) > min(float(np.ptp(along)), float(np.ptp(points[:, 2]))):
        return None
    pull = (float(depths.max()) - front) - (back - float(depths.min()))
    if abs(pull) < _PULL_SHARE * np.ptp(depths):
        pull = (back + front) / 2 - float(body_middle @ normal)
    return normal * (1.0 if pull >= 0.0 else -1.0)


def _free_end(points: np.ndarray, axis: np.ndarray, body: list[np.ndarray]) -> float:
    """Returns +1 if the body is only behind a part along its axis, -1 if it is only in front of it, and 0 otherwise.

    Args:
        points: (N, 3) points of the part.
        axis: (3,) unit axis of its joint.
        body: Corners (N, 3, 3) of the triangles of the body.
    """
    covered = []
    for sign in (1.0, -1.0):
        places, heights = body_along(points, sign * axis, body)
        covered.append(float(np.mean(heights > float(places.max()))))
    before, behind = (share > _COVERED for share in covered)
    return float(behind) - float(before)


def _held_side(
    points: np.ndarray, origin: np.ndarray, axis: np.ndarray, body: list[np.ndarray], free_end: float
) -> tuple[float, np.ndarray]:
    """Returns the end of a part along its axis from which a hand comes, as `_free_end`, and (N, 3) what it meets there.

    What lies in the body or beyond it, such as the bolt of a lever, is not met. A part that passes through the body is
    held on the side on which it reaches farther from its axis. All of it is met if its far end is not on that side.

    Args:
        points: (N, 3) points of the part.
        origin: (3,) a point on its axis.
        axis: (3,) unit axis of its joint.
        body: Corners (N, 3, 3) of the triangles of the body.
        free_end: What `_free_end` returns.
    """
    across = points - origin
    distances = np.linalg.norm(across - np.outer(across @ axis, axis), axis=1)
    clear, reaches = {}, {}
    for sign in (1.0, -1.0):
        places, heights = body_along(points, sign * axis, body)
        behind = heights[np.isfinite(heights) & (heights < places)]
        if len(behind):
            clear[sign] = points @ (sign * axis) > float(behind.max())
            reaches[sign] = float(distances[clear[sign]].max(initial=0.0))
    side = free_end
    if side == 0.0 and len(reaches) == 2 and min(reaches.values()) > 0.0:
        side = max(reaches, key=lambda sign: reaches[sign])
    if reaches.get(side, 0.0) < _MIDDLE * distances.max():
        return free_end, points
    return side, points[clear[side]]


def _covers(surface: TriangleMesh, outward: np.ndarray, body: list[np.ndarray]) -> bool:
    """Returns whether a part hides most of the body from a hand that comes against `outward`, along which it opens."""
    mesh = _as_mesh(body)
    if not len(mesh.faces):
        return False
    R = _line_frame(outward)
    lines = _lines_through(mesh, R)
    ends, hides = _ends_along(mesh, R, lines), _ends_along(surface, R, lines)
    return bool(np.mean((hides > ends)[np.isfinite(ends)]) > _MOST) if np.isfinite(ends).any() else False


def _usual_faces(surface: TriangleMesh, direction: np.ndarray) -> tuple[float, float]:
    """Returns where most of a part begins and ends along a direction: the medians over lines through it."""
    R = _line_frame(direction)
    lines = _lines_through(surface, R)
    front, back = _ends_along(surface, R, lines), -_ends_along(surface, R * [-1.0, 1.0, 1.0], lines)
    hit = np.isfinite(front)
    return (float(np.median(back[hit])), float(np.median(front[hit]))) if hit.any() else (0.0, 0.0)


def _lines_through(mesh: TriangleMesh, R: np.ndarray) -> np.ndarray:
    """Returns y and z (N, 2) of lines all over the outline of a mesh, along x of a frame (3, 3)."""
    corners = (mesh.vertices @ R)[:, 1:]
    low, high = corners.min(axis=0), corners.max(axis=0)
    steps = (np.arange(_LINES) + 0.5) / _LINES
    lines: np.ndarray = low + (high - low) * np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    return lines


def _ends_along(mesh: TriangleMesh, R: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Returns (N,) how far a mesh reaches along x of a frame (3, 3) on lines (N, 2); -inf where it does not lie."""
    return heights_in_front(TriangleMesh(mesh.vertices @ R, mesh.faces), lines)


def body_along(points: np.ndarray, direction: np.ndarray, body: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Returns (N,) the places of some points of a part along a direction, and how far the body reaches at their sides.

    Args:
        points: (M, 3) points of the part.
        direction: (3,) unit vector.
        body: Corners (K, 3, 3) of the triangles of the body; -inf where there is no body on the line.
    """
    R = _line_frame(direction)
    seen = points[:: max(1, len(points) // _RAYS)] @ R
    mesh = _as_mesh(body)
    return seen[:, 0], heights_in_front(TriangleMesh(mesh.vertices @ R, mesh.faces), seen[:, 1:])


def _line_frame(direction: np.ndarray) -> np.ndarray:
    """Returns (3, 3) a rotation whose x is a direction."""
    y = _any_perpendicular(direction)
    return np.column_stack([direction, y, np.cross(direction, y)])


def _as_mesh(triangles: list[np.ndarray]) -> TriangleMesh:
    """Returns the mesh of corners (N, 3, 3) of triangles."""
    corners = np.concatenate([np.zeros((0, 3)), *(own.reshape(-1, 3) for own in triangles)])
    return TriangleMesh(corners, np.arange(len(corners)).reshape(-1, 3))


def _turn_to_front(
    kind: PartKind,
    work: np.ndarray,
    origin: np.ndarray,
    axis: np.ndarray,
    points: np.ndarray,
    body_middle: np.ndarray,
    *,
    plane: np.ndarray | None,
) -> np.ndarray:
    """Returns (3, 3) the turn about z, by a multiple of 90 degrees, that brings the object's front to +x.

    The front is the side to which the part opens, or `plane`, that of `_plane_normal`. For a lid it is the side of the
    free edge; for a part that moves up and down or turns about an upright axis, the side on which the part stands out.
    """
    direction = work[:, 0].copy() if plane is None else plane
    if abs(float(direction[2])) > 0.7:
        if kind in (PartKind.knob, PartKind.slider):
            direction = _box_middle([points]) - body_middle
        elif kind is PartKind.lever:
            direction = work[:, 2]
        else:
            direction = _box_middle([points]) - origin
            direction = direction - axis * float(direction @ axis)
    if float(np.linalg.norm(direction[:2])) < 1e-6:
        direction = np.array([1.0, 0.0, 0.0])
    return turn_to_x(round(float(np.arctan2(direction[1], direction[0])) / (np.pi / 2)))


def _pose_meshes(
    items: list[tuple[Pose, LinkMesh]], T_root_old: Pose, scale: float, *, visual: bool
) -> list[PosedMesh]:
    placed = []
    for pose, item in items:
        if not (item.is_visual if visual else item.is_collider):
            continue
        T_root_link = T_root_old @ scaled_pose(pose, scale)
        placed.append(
            PosedMesh(
                shape=item.shape,
                mesh=TriangleMesh(T_root_link @ (item.mesh.vertices * scale), item.mesh.faces),
                T_root_mesh=T_root_link @ scaled_pose(item.shape.T_link_shape, scale),
                scale=np.asarray(item.shape.size) * scale,
            )
        )
    return placed
