"""Draws annotated objects: parts, keypoints and axes, closed and half open; needs no renderer."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from unlatch.objects.annotation import Articulation, FramedVector, Part
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.model import UrdfModel, rigid_links
from unlatch.workflows.viewing.picture import PAPER, horizontal_direction, load_font

Array = np.ndarray

TILE_PX = 480
"""Width and height of one view [pixels]."""
MOST_PARTS = 4
"""Largest number of parts that are drawn; the annotation lists the best parts first."""
_MOST_TRIANGLES = 60_000
_FONT_PX = 13
_INK = (20, 20, 20)
_BODY, _PART = np.array([200.0, 200.0, 205.0]), np.array([120.0, 170.0, 230.0])
KEYPOINT_COLOURS = {
    "articulated_object_head": (210, 30, 30),
    "articulated_object_tail": (240, 160, 0),
    "link_contact_point": (20, 140, 40),
    "base_contact_point": (110, 60, 180),
}
_AXES = {
    "link0_rot_axis": (0, 0, 0),
    "link0_move_axis": (0, 0, 0),
    "link0_contact_axis": (0, 150, 160),
    "base_front_axis": (150, 90, 30),
}


@dataclass(frozen=True)
class _Camera:
    """A parallel projection: sizes do not shrink with distance."""

    R_camera_root: Array
    """(3, 3) rotation; its rows point right, up and towards the eye."""
    middle: Array
    """(3,) point at the centre of the picture [m]."""
    pixels_per_m: float

    def pixels(self, points_root: Array) -> Array:
        """Returns the pixels (N, 2) of points (N, 3) [m]."""
        seen = (np.atleast_2d(points_root) - self.middle) @ self.R_camera_root.T
        found: Array = np.stack(
            [TILE_PX / 2 + seen[:, 0] * self.pixels_per_m, TILE_PX / 2 - seen[:, 1] * self.pixels_per_m], axis=1
        )
        return found


def annotation_png(model: UrdfModel, articulation: Articulation) -> bytes:
    """Returns a PNG with a row for each part: closed and half open seen obliquely, and closed seen from the front."""
    rows = [_draw_part(model, articulation, part) for part in list(articulation.parts.values())[:MOST_PARTS]]
    stream = io.BytesIO()
    Image.fromarray(np.concatenate(rows, axis=0)).save(stream, format="png", optimize=False)
    return stream.getvalue()


def _draw_part(model: UrdfModel, articulation: Articulation, part: Part) -> Array:
    closed = articulation.closed_positions()
    half = {**closed, part.joint: (part.openness.closed + part.openness.open) / 2}
    triangles = _link_triangles(model)
    mesh_closed = _pose_triangles(model, triangles, closed)
    camera_points = np.concatenate([*mesh_closed.values(), *_pose_triangles(model, triangles, half).values()]).reshape(
        -1, 3
    )
    front = _front_direction(model, part, closed)
    tiles = []
    views = (("closed", closed, 0.6, 0.45), ("half open", half, 0.6, 0.45), ("from the front", closed, 0.0, 0.0))
    for title, positions, side, lift in views:
        camera = _frame_camera(front, camera_points, side=side, lift=lift)
        caption = f"{part.name}: {part.kind.name}, {part.handle.type.name}; {title}"
        tiles.append(_draw_view(model, part, _pose_triangles(model, triangles, positions), positions, camera, caption))
    return np.concatenate(tiles, axis=1)


def _draw_view(
    model: UrdfModel, part: Part, meshes: Mapping[str, Array], positions: dict[str, float], camera: _Camera, title: str
) -> Array:
    image = Image.new("RGB", (TILE_PX, TILE_PX), PAPER)
    draw = ImageDraw.Draw(image)
    moving = set(rigid_links(model, part.link))
    corners = np.concatenate(list(meshes.values()))  # (F, 3, 3)
    colours = np.concatenate([np.tile(_PART if name in moving else _BODY, (len(m), 1)) for name, m in meshes.items()])
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    light = camera.R_camera_root.T @ np.array([0.3, 0.5, 0.8])
    shades = 0.45 + 0.55 * np.abs(normals @ light)
    depth = (corners.mean(axis=1) - camera.middle) @ camera.R_camera_root[2]
    pixels = camera.pixels(corners.reshape(-1, 3)).reshape(-1, 6)
    fills = np.clip(colours * shades[:, None], 0, 255).astype(int)
    for index in np.argsort(depth, kind="stable"):
        r, g, b = fills[index]
        draw.polygon(pixels[index].tolist(), fill=(int(r), int(g), int(b)))
    _draw_marks(draw, model, part, positions, camera)
    draw.rectangle([0, 0, TILE_PX, _FONT_PX + 6], fill=PAPER)
    draw.text((4, 2), title, fill=_INK, font=load_font(_FONT_PX))
    return np.asarray(image)


def _draw_marks(
    draw: ImageDraw.ImageDraw, model: UrdfModel, part: Part, positions: dict[str, float], camera: _Camera
) -> None:
    frames = {name: model.link_pose(link, positions) for name, link in (("link", part.link), ("base", part.base))}
    frames["obj"] = Pose.identity()
    head = _point_in_root(frames, part.keypoints["articulated_object_head"])
    length = 60.0 / camera.pixels_per_m
    for name, axis in part.axes.items():
        start = head
        if name.startswith("base"):
            start = _point_in_root(frames, part.keypoints["base_contact_point"])
        elif name == "link0_rot_axis":
            start = model.link_pose(model.joints[part.joint].child, positions).p
        end = start + length * frames[axis.frame].rotate(axis.xyz)
        a, b = camera.pixels(np.stack([start, end]))
        colour = _AXES.get(name, _INK)
        draw.line([*a, *b], fill=colour, width=3)
        draw.ellipse([*(b - 3), *(b + 3)], fill=colour)
        draw.text(
            (float(b[0]) + 4, float(b[1]) - 14), name.removeprefix("link0_"), fill=colour, font=load_font(_FONT_PX)
        )
    for number, (name, keypoint) in enumerate(part.keypoints.items()):
        (pixel,) = camera.pixels(_point_in_root(frames, keypoint)[None])
        colour = KEYPOINT_COLOURS.get(name, (0, 0, 0))
        draw.ellipse([*(pixel - 5), *(pixel + 5)], fill=colour, outline=(0, 0, 0))
        at = (4, TILE_PX - (_FONT_PX + 3) * (len(part.keypoints) - number))
        draw.ellipse([at[0], at[1] + 3, at[0] + 9, at[1] + 12], fill=colour)
        draw.text((at[0] + 13, at[1]), name, fill=_INK, font=load_font(_FONT_PX))


def _point_in_root(frames: Mapping[str, Pose], keypoint: FramedVector) -> Array:
    point: Array = frames[keypoint.frame] @ keypoint.xyz
    return point


def _link_triangles(model: UrdfModel) -> dict[str, Array]:
    """Returns the triangle corners (F, 3, 3) of every link in its frame; if there are too many, only the largest."""
    found: dict[str, Array] = {}
    for name, link in model.links.items():
        shapes = link.visuals or link.collisions
        pieces = [shape_mesh(shape).moved(shape.T_link_shape).triangles for shape in shapes]
        if pieces:
            found[name] = np.concatenate(pieces)
    total = sum(len(mesh) for mesh in found.values())
    if total > _MOST_TRIANGLES:
        share = _MOST_TRIANGLES / total
        found = {name: _keep_largest(mesh, max(1, int(share * len(mesh)))) for name, mesh in found.items()}
    return found


def _keep_largest(mesh: Array, count: int) -> Array:
    area = np.linalg.norm(np.cross(mesh[:, 1] - mesh[:, 0], mesh[:, 2] - mesh[:, 0]), axis=1)
    kept: Array = mesh[np.argsort(-area, kind="stable")[:count]]
    return kept


def _pose_triangles(model: UrdfModel, triangles: Mapping[str, Array], positions: dict[str, float]) -> dict[str, Array]:
    return {
        name: (model.link_pose(name, positions) @ mesh.reshape(-1, 3)).reshape(-1, 3, 3)
        for name, mesh in triangles.items()
    }


def _front_direction(model: UrdfModel, part: Part, positions: dict[str, float]) -> Array:
    """Returns the horizontal unit direction (3,) out of the front of the object, in its root frame."""
    axis = part.axes["base_front_axis"]
    direction = axis.xyz
    if axis.frame == "base":
        direction = model.link_pose(part.base, positions).rotate(direction)
    return horizontal_direction(direction)


def _frame_camera(front: Array, points: Array, *, side: float, lift: float) -> _Camera:
    up = np.array([0.0, 0.0, 1.0])
    eye = front + side * np.cross(up, front) + lift * up
    eye = eye / np.linalg.norm(eye)
    right = np.cross(up, eye)
    right = right / np.linalg.norm(right)
    R = np.stack([right, np.cross(eye, right), eye])
    low, high = points.min(axis=0), points.max(axis=0)
    seen = (points - (low + high) / 2) @ R.T
    middle = (low + high) / 2 + R.T @ ((seen.min(axis=0) + seen.max(axis=0)) / 2)
    extent = float(np.max(np.ptp(seen[:, :2], axis=0)))
    return _Camera(R, middle, 0.72 * TILE_PX / max(extent, 1e-9))
