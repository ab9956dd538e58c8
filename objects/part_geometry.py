"""The geometry of an object that policies may observe, from its annotation and its URDF."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.recording.observed.object_geometry import ObjectGeometry, PartGeometry, movable_joints
from unlatch.simcore.urdf.model import UrdfModel, rigid_shapes

Array = np.ndarray


def object_geometry(asset: ObjectAsset) -> ObjectGeometry:
    """Returns the geometry of an object and of all its annotated parts."""
    model = asset.model
    return ObjectGeometry(
        model=model,
        joints=movable_joints(model),
        bounds=asset.bounds_obj,
        parts={name: part_geometry(part, model) for name, part in asset.articulation.parts.items()},
    )


def part_geometry(part: Part, model: UrdfModel) -> PartGeometry:
    """Returns the geometry of a part.

    Where the annotation has no pose of a handle, the grip is the keypoint `articulated_object_head`; its axes are those
    of the part.
    """
    joint = model.joints[part.joint]
    R_link_part = part_axes(part)
    T_link_grip = _grip_pose(part, model, R_link_part)
    T_link_child = model.link_pose(part.link).inverse() @ model.link_pose(joint.child)
    axis = T_link_child.rotate(part.openness.sign * joint.axis / np.linalg.norm(joint.axis))
    slides = joint.kind == "prismatic"
    along = axis * (axis @ (T_link_grip.p - T_link_child.p))
    limits = (joint.lower, joint.upper) if joint.kind != "continuous" else (part.openness.closed, part.openness.open)
    center, size = _bound_part(part, model, R_link_part)
    return PartGeometry(
        kind=part.kind.name,
        link=part.link,
        joint=part.joint,
        slides=slides,
        closed=part.openness.closed,
        open=part.openness.open,
        limits=(min(limits), max(limits)),
        T_link_box=Pose(R_link_part, center),
        box_size=size,
        hinge_point=T_link_grip.p if slides else T_link_child.p + along,
        hinge_axis=axis,
        T_link_grip=T_link_grip,
        grip_type=part.handle.type.name,
        grip_size=part.handle.size,
    )


def _grip_pose(part: Part, model: UrdfModel, R_link_part: Array) -> Pose:
    """Returns the grip in the link frame; its z points left, up or to the front of the closed object.

    The fingers are the same from both sides, so equal grips have equal numbers.
    """
    T_link_grip = part.handle.T_link_handle or Pose(R_link_part, part.keypoint("articulated_object_head").xyz)
    T_root_link = model.link_pose(part.link, {part.joint: part.openness.closed})
    along = T_root_link.rotate(T_link_grip.R[:, 2])
    sign = 1.0 if along[np.argmax(np.abs(along))] >= 0.0 else -1.0
    return Pose(T_link_grip.R * [1.0, sign, sign], T_link_grip.p)


def part_axes(part: Part) -> Array:
    """Returns (3, 3) directions in the link frame, one per column: out of the part, across and along its grip."""
    across = part.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_head").xyz
    across = across / np.linalg.norm(across)
    along = part.axis("link0_contact_axis").xyz
    out = np.cross(across, along)
    out = out / np.linalg.norm(out)
    return np.column_stack([out, np.cross(along, out), along])


def _bound_part(part: Part, model: UrdfModel, R_link_part: Array) -> tuple[Array, Array]:
    """Returns centre (3,) in the link frame and extents (3,) of the box with given axes around a part [m]."""
    clouds = [shape.T_link_shape @ shape_mesh(shape).vertices for shape in rigid_shapes(model, part.link)]
    points = np.concatenate([np.zeros((0, 3)), *clouds]) @ R_link_part
    if not len(points):
        return part.keypoint("articulated_object_head").xyz, np.zeros(3)
    low, high = points.min(axis=0), points.max(axis=0)
    return R_link_part @ ((low + high) / 2), high - low
