"""Brings an object of the data set into our frames: acted joint, closed pose, scale, front, footprint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcore.assets.annotation import PartKind
from simcore.assets.converters.mesh_parts import TriangleMesh
from simcore.assets.converters.partnet_categories import PartnetCategory
from simcore.assets.converters.partnet_source import PartnetObject
from simcore.assets.surface import read_obj
from simcore.assets.urdf_model import Joint, Shape
from simcore.errors import AssetError
from simcore.geometry import Pose

MIN_RANGE_RAD = 0.5
MIN_RANGE_UNITS = 0.12
"""Joints that move less than this are no doors and drawers."""
_MAX_OPEN_RAD = 3.1416


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
    """The object with one moving part, closed, front along +x, standing on z = 0 over its footprint's middle [m]."""

    source: PartnetObject
    joint: Joint
    kind: PartKind
    scale: float
    origin: np.ndarray
    """(3,) a point on the joint's axis."""
    axis: np.ndarray
    """(3,) unit axis of the joint."""
    lower: float
    upper: float
    closed: float
    open: float
    body_visuals: list[PosedMesh]
    body_collisions: list[PosedMesh]
    part_visuals: list[PosedMesh]
    part_collisions: list[PosedMesh]
    info_head: np.ndarray | None
    """(3,) the head of `info.json` on the closed object."""

    @property
    def opens(self) -> float:
        """+1 where the joint position grows while the part opens, else -1."""
        return 1.0 if self.open > self.closed else -1.0

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) of the closed object [m]."""
        points = np.concatenate([p.mesh.vertices for p in (*self.body_collisions, *self.part_collisions)])
        return np.stack([points.min(axis=0), points.max(axis=0)])


def candidate_joints(source: PartnetObject, category: PartnetCategory) -> list[Joint]:
    """The joints that may be acted on, in the order of the file; those that fit the category's part names first.

    Raises:
        AssetError: No joint fits.
    """
    movable = [joint for joint in source.model.joints.values() if joint.moves]
    fitting = [joint for joint in movable if _kind(source, joint) in category.kinds and _range(joint) > _least(joint)]
    named = [joint for joint in fitting if source.semantics.get(joint.child) in category.semantics]
    if not fitting:
        kinds = ", ".join(kind.name for kind in category.kinds)
        raise AssetError(
            f"{source.folder}: no joint of kind {kinds} that moves. Joints: "
            + ", ".join(f"{joint.name} ({joint.kind})" for joint in source.model.joints.values())
            + ".",
            path=str(source.folder),
        )
    return named or fitting


def pose_object(source: PartnetObject, joint: Joint, *, scale: float) -> PosedObject:
    """Poses the object for one acted joint; every other joint is held at its closed end.

    Args:
        source: The object.
        joint: The joint that stays movable.
        scale: Metres per unit.
    """
    model = source.model
    held = {j.name: float(np.clip(0.0, j.lower, j.upper)) for j in model.joints.values() if j.moves}
    held[joint.name] = 0.0
    moving = {name for name in model.links if _is_below(source, name, joint.child)}
    poses = {name: model.link_pose(name, held) for name in model.links}
    T_root_joint = poses[joint.child]
    axis = T_root_joint.rotate(joint.axis / np.linalg.norm(joint.axis))
    lower, upper = _limits(joint)

    meshes = {name: _link_meshes(source, name) for name in model.links}
    body = [(poses[name], pair) for name in model.links if name not in moving for pair in meshes[name]]
    part = [(poses[name], pair) for name in model.links if name in moving for pair in meshes[name]]
    if not body or not part:
        raise AssetError(
            f"{source.folder}: joint '{joint.name}' has no meshes on {'the body' if not body else 'its part'}.",
            path=str(source.folder),
        )
    closed, opened = _ends(joint, T_root_joint.p, axis, body, part, lower, upper)
    T_close = _motion(joint.kind, T_root_joint.p, axis, closed)
    part = [(T_close @ pose, pair) for pose, pair in part]

    points = np.concatenate([pose @ pair[1].vertices for pose, pair in (*body, *part)])
    R_front = _front(joint, T_root_joint.p, axis, np.sign(opened - closed), part)
    turned = points @ R_front.T * scale
    low, high = turned.min(axis=0), turned.max(axis=0)
    T_new = Pose(R_front, -np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]]))
    factor = scale if joint.kind == "prismatic" else 1.0
    return PosedObject(
        source=source,
        joint=joint,
        kind=_kind(source, joint),
        scale=scale,
        origin=T_new @ (T_root_joint.p * scale),
        axis=T_new.rotate(axis),
        lower=lower * factor,
        upper=upper * factor,
        closed=closed * factor,
        open=opened * factor,
        body_visuals=_placed(body, T_new, scale, visual=True),
        body_collisions=_placed(body, T_new, scale, visual=False),
        part_visuals=_placed(part, T_new, scale, visual=True),
        part_collisions=_placed(part, T_new, scale, visual=False),
        info_head=_info_head(source, joint, T_close @ T_root_joint, T_new, scale),
    )


def _info_head(source: PartnetObject, joint: Joint, T_root_link: Pose, T_new: Pose, scale: float) -> np.ndarray | None:
    """The head of `info.json`, which is given in the first collision shape's frame of the first active joint's link."""
    head = source.info_head
    first = next((j for j in source.model.joints.values() if j.moves), None)
    if head is None or first is None or first.name != joint.name:
        return None
    shapes = source.model.links[joint.child].collisions
    point = shapes[0].T_link_shape @ head if shapes else head
    return T_new @ ((T_root_link @ point) * scale)


def _kind(source: PartnetObject, joint: Joint) -> PartKind:
    if joint.kind == "prismatic":
        return PartKind.slider
    axis = source.model.link_pose(joint.child).rotate(joint.axis)
    return PartKind.hinge_vertical if abs(axis[2]) > 0.8 * np.linalg.norm(axis) else PartKind.hinge_horizontal


def _limits(joint: Joint) -> tuple[float, float]:
    if joint.kind == "continuous":
        return 0.0, np.pi / 2
    if joint.kind == "revolute":
        # A door that turns further than half a circle meets its own cabinet: the data set does not say where.
        return joint.lower, min(joint.upper, joint.lower + _MAX_OPEN_RAD)
    return joint.lower, joint.upper


def _range(joint: Joint) -> float:
    lower, upper = _limits(joint)
    return upper - lower


def _least(joint: Joint) -> float:
    return MIN_RANGE_UNITS if joint.kind == "prismatic" else MIN_RANGE_RAD


def _is_below(source: PartnetObject, link: str, top: str) -> bool:
    current: str | None = link
    while current is not None:
        if current == top:
            return True
        above = source.model.parent_joint(current)
        current = above.parent if above is not None else None
    return False


_LinkMesh = tuple[Shape, TriangleMesh, bool, bool]


def _link_meshes(source: PartnetObject, link: str) -> list[_LinkMesh]:
    """Shape, mesh in the link frame (unscaled), seen, touched: a file that serves as both is read once."""
    entry = source.model.links[link]
    seen, touched = _by_file(entry.visuals), _by_file(entry.collisions)
    result: list[_LinkMesh] = []
    for key, shape in {**touched, **seen}.items():
        if shape.path is None:
            continue
        vertices, faces = read_obj(shape.path)
        if len(faces):
            mesh = TriangleMesh(shape.T_link_shape @ (vertices * np.asarray(shape.size)), faces)
            # Some objects have no collision entries at all: what is seen is then touched.
            result.append((shape, mesh, key in seen or not seen, key in touched or not touched))
    return result


def _by_file(shapes: tuple[Shape, ...]) -> dict[tuple[str, bytes], Shape]:
    return {(shape.mesh, np.round(shape.T_link_shape.matrix, 6).tobytes()): shape for shape in shapes}


def _placed(items: list[tuple[Pose, _LinkMesh]], T_new: Pose, scale: float, *, visual: bool) -> list[PosedMesh]:
    placed = []
    for pose, (shape, mesh, seen, touched) in items:
        if not (seen if visual else touched):
            continue
        T_scaled = Pose(pose.R, pose.p * scale)
        T_link_shape = Pose(shape.T_link_shape.R, shape.T_link_shape.p * scale)
        placed.append(
            PosedMesh(
                shape=shape,
                mesh=TriangleMesh((T_new @ T_scaled) @ (mesh.vertices * scale), mesh.faces),
                T_root_mesh=T_new @ T_scaled @ T_link_shape,
                scale=np.asarray(shape.size) * scale,
            )
        )
    return placed


def _motion(kind: str, origin: np.ndarray, axis: np.ndarray, position: float) -> Pose:
    """The motion of the part from joint position 0 to another, in the root frame."""
    if kind == "prismatic":
        return Pose.from_translation(axis * position)
    half = position / 2
    turn = Pose.from_quat_xyzw(np.zeros(3), [*(axis * np.sin(half)), float(np.cos(half))])
    return Pose.from_translation(origin) @ turn @ Pose.from_translation(-origin)


def _ends(
    joint: Joint,
    origin: np.ndarray,
    axis: np.ndarray,
    body: list[tuple[Pose, _LinkMesh]],
    part: list[tuple[Pose, _LinkMesh]],
    lower: float,
    upper: float,
) -> tuple[float, float]:
    """Closed and open joint position: closed is where body and part together fill the smaller box."""
    fixed = np.concatenate([pose @ pair[1].vertices for pose, pair in body])
    moved = np.concatenate([pose @ pair[1].vertices for pose, pair in part])

    def volume(position: float) -> float:
        points = np.concatenate([fixed, _motion(joint.kind, origin, axis, position) @ moved])
        return float(np.prod(np.ptp(points, axis=0)))

    positions = [lower, upper]
    if joint.kind != "prismatic" and lower < -0.1 and upper > 0.1:
        # A door that turns both ways may be closed between, where the data set poses it.
        positions = [0.0, lower, upper]
    # The first of equals counts: what is smaller by rounding only is not smaller.
    volumes = {position: round(volume(position), 6) for position in positions}
    closed = min(volumes, key=lambda position: volumes[position])
    return closed, max((lower, upper), key=lambda position: abs(position - closed))


def _front(
    joint: Joint, origin: np.ndarray, axis: np.ndarray, opens: float, part: list[tuple[Pose, _LinkMesh]]
) -> np.ndarray:
    """(3, 3) turn about z, by a multiple of 90 degrees, that brings the direction of opening to +x."""
    if joint.kind == "prismatic":
        direction = axis * opens
    else:
        points = np.concatenate([pose @ pair[1].vertices for pose, pair in part])
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        arm = middle - origin
        arm = arm - axis * float(arm @ axis)
        # A door is flat: only its longer horizontal extent from the hinge says which way it faces.
        arm[int(np.argmin(np.abs(arm[:2])))] = 0.0
        direction = opens * np.cross(axis, arm)
    quarter = round(float(np.arctan2(direction[1], direction[0])) / (np.pi / 2))
    c, s = [(1, 0), (0, 1), (-1, 0), (0, -1)][quarter % 4]
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
