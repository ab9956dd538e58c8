"""Poses of one image in the JSON format of DOPE."""

from __future__ import annotations

from typing import Any

import numpy as np

from unlatch.simcore.geometry import Fisheye, Pose
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.annotations import annotate

Array = np.ndarray

_CM = 100.0


def dope_frame(frame: AnnotatedFrame) -> dict[str, Any]:
    """Returns the content of a frame's JSON file, in centimetres and with quaternions x, y, z, w.

    `camera_data` holds the pose of the camera in the world, its size and intrinsics, and k1 to k4 of a fisheye as
    `fisheye`. Each entry of `objects` has its `class`, `name` (its path), `visibility` (1 minus its occlusion),
    `location` and `quaternion_xyzw` of its frame in the camera frame, `cuboid` and `projected_cuboid` (8 corners in the
    order of `CORNER_SIGNS`), `cuboid_centroid` and `projected_cuboid_centroid`. Things with corners behind the camera
    are left out, since such a corner has no pixel.

    Args:
        frame: The image; `class` is a thing's label of the first of its semantic types for which the thing has one.
    """
    found = annotate(frame, ["boxes_3d", "occlusion", "poses"])
    T_turned_world = (frame.T_world_camera @ frame.cfg.T_camera_turned).inverse()
    objects = []
    for row, path in enumerate(found.paths):
        cuboid_px = found["boxes_3d_corners_px"][row]
        if not (np.isfinite(cuboid_px).all() and np.isfinite(found["occlusion"][row])):
            continue
        pose = Pose.from_matrix(found["poses"][row])
        cuboid = T_turned_world @ found["boxes_3d_corners"][row]
        labels = found.id_to_labels[found.semantic_ids[row]]
        objects.append(
            {
                "class": labels[frame.cfg.type_of(labels)],
                "name": path,
                "visibility": 1.0 - float(found["occlusion"][row]),
                "location": (pose.p * _CM).tolist(),
                "quaternion_xyzw": pose.quat_xyzw.tolist(),
                "cuboid_centroid": (cuboid.mean(axis=0) * _CM).tolist(),
                "projected_cuboid_centroid": found["centers_px"][row].tolist(),
                "cuboid": (cuboid * _CM).tolist(),
                "projected_cuboid": cuboid_px.tolist(),
            }
        )
    return {"camera_data": _camera_data(frame), "objects": objects}


def _camera_data(frame: AnnotatedFrame) -> dict[str, Any]:
    optics, T_world_turned = frame.optics, frame.T_world_camera @ frame.cfg.T_camera_turned
    return {
        "location_worldframe": (T_world_turned.p * _CM).tolist(),
        "quaternion_xyzw_worldframe": T_world_turned.quat_xyzw.tolist(),
        "width": optics.width,
        "height": optics.height,
        "intrinsics": {"fx": optics.fx, "fy": optics.fy, "cx": optics.cx, "cy": optics.cy},
        **({"fisheye": list(optics.k)} if isinstance(optics, Fisheye) else {}),
    }
