"""Pictures of objects without a robot: sheets of generated objects, annotated objects with keypoints and axes, and the
colliders, masses and free motion of converted objects.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from unlatch.objects.annotation import Articulation, FramedVector, Part
from unlatch.objects.importers.converted_asset import LinkSurfaces, inertia_problem, read_surfaces
from unlatch.objects.procedural.assembly import GeneratedObject, model_bounds
from unlatch.simcore.errors import count_noun
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.collider_pieces import collider_quality
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, split_components
from unlatch.simcore.sim.converted_body import measure_motion
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.viewing.picture import (
    PAPER,
    SheetRow,
    compose_sheet,
    draw_caption,
    horizontal_direction,
    load_font,
    write_picture,
)
from unlatch.workflows.viewing.scene_picture import make_picture_renderer

TILE_PX = 144
"""Width and height of one object on a sheet [pixels]."""
LARGE_PX = 360
"""Width and height of one object on a sheet with at most three objects [pixels]."""
_SHARES = (0.0, 0.0, 0.3, 0.45, 0.7, 1.0)
"""How far the objects of a row are opened, as shares of their range."""
_OVERSAMPLED = 3
"""Pictures are drawn this many times larger, then shrunk, which smooths edges with every renderer."""
_FOV_DEG = 24.0
_MARGIN = 1.06
_CAPTION_PX = 20
_GROUPS_PX = 24
"""Gap between two rows side by side [pixels]."""
_SHADE = 5
"""Brightness is rounded to multiples of this, of 255: few shades make a small file."""


def object_sheet(objects: Sequence[tuple[str, GeneratedObject, Path]]) -> Array:
    """Draws objects, given by category, object and URDF file and sorted by category; (height, width, 3) uint8."""
    side = LARGE_PX if len(objects) <= 3 else TILE_PX
    rows: list[Array] = []
    with World(WorldCfg(), visuals=True, renderer=make_picture_renderer()) as world:
        for category, members in groupby(objects, key=lambda item: item[0]):
            tiles = [
                _draw_object(world, made, path, share=_SHARES[number % len(_SHARES)], side=side)
                for number, (_, made, path) in enumerate(members)
            ]
            rows.append(_draw_row(category, tiles))
    shades: Array = _arrange_rows(rows).astype(int) + _SHADE // 2
    return np.asarray(np.clip(shades // _SHADE * _SHADE, 0, 255), dtype=np.uint8)


def _draw_object(world: World, made: GeneratedObject, path: Path, *, share: float, side: int) -> Array:
    world.reset()
    positions = {part.joint: share * part.openness.open for part in made.articulation.parts.values()}
    # objects face the light, which comes from where the robot stands in an episode
    T_world_root = Pose.from_rpy([0.0, 0.0, 0.0], [0.0, 0.0, np.pi])
    body = world.load_urdf(path, name="object", T_world_root=T_world_root)
    body.set_joint_positions(list(positions), list(positions.values()))
    corners = T_world_root @ np.array(list(product(*model_bounds(made.model, positions).T)))  # (8, 3)
    view = framing_camera(corners, (-0.80, -0.52, 0.42), fov_deg=_FOV_DEG, margin=_MARGIN)
    picture = take_picture(world, view, width=_OVERSAMPLED * side, height=_OVERSAMPLED * side, smooth=False)
    return np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.LANCZOS))


def _draw_row(name: str, tiles: Sequence[Array]) -> Array:
    strip = np.concatenate(list(tiles), axis=1)
    caption = draw_caption(name, strip.shape[1], height=_CAPTION_PX, font_px=14, color=(40, 40, 40), at=(8, 2))
    return np.concatenate([caption, strip], axis=0)


def _arrange_rows(rows: Sequence[Array]) -> Array:
    """Puts rows below one another, in two columns if there are many."""
    columns = 2 if len(rows) > 6 else 1
    length = -(-len(rows) // columns)
    width = max(row.shape[1] for row in rows)
    height = max(row.shape[0] for row in rows)
    sheet = np.full((length * height, columns * width + (columns - 1) * _GROUPS_PX, 3), 255, dtype=np.uint8)
    for number, row in enumerate(rows):
        column, line = divmod(number, length)
        x, y = column * (width + _GROUPS_PX), line * height
        sheet[y : y + row.shape[0], x : x + row.shape[1]] = row
    return sheet


VIEW_PX = 480
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
        return np.stack(
            [VIEW_PX / 2 + seen[:, 0] * self.pixels_per_m, VIEW_PX / 2 - seen[:, 1] * self.pixels_per_m], axis=1
        )


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
    axis = part.axes["base_front_axis"]
    direction = axis.xyz
    if axis.frame == "base":
        direction = model.link_pose(part.base, closed).rotate(direction)
    front = horizontal_direction(direction)
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
    image = Image.new("RGB", (VIEW_PX, VIEW_PX), PAPER)
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
    draw.rectangle([0, 0, VIEW_PX, _FONT_PX + 6], fill=PAPER)
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
        at = (4, VIEW_PX - (_FONT_PX + 3) * (len(part.keypoints) - number))
        draw.ellipse([at[0], at[1] + 3, at[0] + 9, at[1] + 12], fill=colour)
        draw.text((at[0] + 13, at[1]), name, fill=_INK, font=load_font(_FONT_PX))


def _point_in_root(frames: Mapping[str, Pose], keypoint: FramedVector) -> Array:
    return frames[keypoint.frame] @ keypoint.xyz


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
    return mesh[np.argsort(-area, kind="stable")[:count]]


def _pose_triangles(model: UrdfModel, triangles: Mapping[str, Array], positions: dict[str, float]) -> dict[str, Array]:
    return {
        name: (model.link_pose(name, positions) @ mesh.reshape(-1, 3)).reshape(-1, 3, 3)
        for name, mesh in triangles.items()
    }


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
    return _Camera(R, middle, 0.72 * VIEW_PX / max(extent, 1e-9))


TRAVEL_LIMIT = 0.9
"""A joint that covers a smaller share of its range under a small effort is reported as a problem."""
PROTRUSION_LIMIT = 0.03
"""Colliders that protrude farther, as a share of the object's size, are reported as problems."""

_TILE = (480, 360)
_COLOURS = ((0.9, 0.4, 0.3), (0.3, 0.6, 0.9), (0.4, 0.8, 0.4), (0.9, 0.8, 0.3), (0.7, 0.4, 0.8), (0.4, 0.8, 0.8))


def write_report(urdf_path: Path, target: Path) -> str:
    """Measures a converted object and writes `<target>.report.json` and `.png` beside it; returns a line about it.

    Raises:
        UnlatchError: It cannot be read or loaded.
    """
    report = measure_object(urdf_path)
    place = target.with_name(f"{target.name}.report.json")
    place.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    draw_object(urdf_path, target.with_name(f"{target.name}.report.png"))
    problems = report["problems"]
    found = f"{count_noun(len(problems), 'problem')}, the first: {problems[0]}" if problems else "no problem found"
    return f"{report['parts']} parts, {report['mass_kg']:.2f} kg, {found}; {place} and .png"


def measure_object(urdf_path: Path) -> dict[str, Any]:
    """Returns the report as plain values; lengths in metres, masses in kilograms, angles in radians.

    Raises:
        UnlatchError: It cannot be read or loaded.
    """
    model = read_urdf(urdf_path)
    surfaces = read_surfaces(model, urdf_path.parent.resolve(), where=str(urdf_path))
    size_m = _largest_extent(model, surfaces)
    problems: list[str] = []
    links = {name: _measure_link(name, model, surfaces[name], size_m, problems) for name in model.links}
    endless = {joint.name for joint in model.joints.values() if joint.kind == "continuous"}
    motions = measure_motion(urdf_path, continuous=endless)
    joints = {motion.joint: asdict(motion) for motion in motions}
    for motion in motions:
        joint = model.joints[motion.joint]
        if joint.kind != "continuous" and joint.lower == joint.upper:
            problems.append(f"joint '{joint.name}' has no range")
            continue
        worst = max(motion.overlap_m.values())
        if worst > 0.01:  # deeper overlaps of a part with its own object are reported as problems [m]
            problems.append(f"the links that joint '{motion.joint}' moves overlap the rest by {worst * 1000:.0f} mm")
        if motion.travel < TRAVEL_LIMIT:
            problems.append(f"joint '{motion.joint}' covers {motion.travel:.0%} of its range under a small effort")
    return {
        "size_m": round(size_m, 6),
        "parts": sum(values["parts"] for values in links.values()),
        "mass_kg": sum(values["mass_kg"] for values in links.values()),
        "links": links,
        "joints": joints,
        "problems": problems,
    }


def draw_object(urdf_path: Path, path: Path) -> None:
    """Draws an object and its colliders, each with all joints at their lower and at their upper ends.

    Raises:
        UnlatchError: It cannot be loaded, or the picture cannot be written.
    """
    model = read_urdf(urdf_path)
    moving = [joint for joint in model.joints.values() if joint.moves]
    ends = {
        end: {
            j.name: ((0.0 if end == "lower" else np.pi / 2) if j.kind == "continuous" else getattr(j, end))
            for j in moving
        }
        for end in ("lower", "upper")
    }
    surfaces = read_surfaces(model, urdf_path.parent.resolve(), where=str(urdf_path))
    view = _choose_view(model, surfaces, ends)
    with tempfile.TemporaryDirectory(prefix="unlatch-report-") as name:
        urdfs = {"as seen": urdf_path, "colliders": _write_collider_urdf(model, surfaces, Path(name))}
        rows = []
        for label, urdf in urdfs.items():
            pictures = []
            with World(WorldCfg(), visuals=True) as world:
                body = world.load_urdf(urdf, name="object", T_world_root=Pose.identity())
                for positions in ends.values():
                    body.set_joint_positions(list(positions), list(positions.values()))
                    pictures.append(take_picture(world, view, width=_TILE[0], height=_TILE[1]))
            rows.append(SheetRow(f"{urdf_path.parent.name}, {label}: lower end, upper end", True, pictures))
    write_picture(compose_sheet(rows), path)


def _choose_view(
    model: UrdfModel, surfaces: dict[str, LinkSurfaces], ends: dict[str, dict[str, float]]
) -> LookAtCamera:
    """Returns the camera that shows the object at both ends, from the side to which its parts move."""
    moved, clouds = np.zeros(3), []
    for name, points in _link_vertices(surfaces):
        placed = [model.link_pose(name, positions) @ points for positions in ends.values()]
        clouds += placed
        moved += placed[-1].mean(axis=0) - placed[0].mean(axis=0)
    low, high = np.min([c.min(axis=0) for c in clouds], axis=0), np.max([c.max(axis=0) for c in clouds], axis=0)
    forward = horizontal_direction(moved)
    aside = np.array([-forward[1], forward[0], 0.0])
    target = (low + high) / 2
    direction = forward - 0.6 * aside + np.array([0.0, 0.0, 0.6])
    eye = target + direction / np.linalg.norm(direction) * 1.5 * float(np.linalg.norm(high - low))
    return LookAtCamera(tuple(eye.tolist()), tuple(target.tolist()), fov_deg=40.0)


def _largest_extent(model: UrdfModel, surfaces: dict[str, LinkSurfaces]) -> float:
    points = [model.link_pose(name) @ vertices for name, vertices in _link_vertices(surfaces)]
    return float(np.max(np.ptp(np.concatenate(points), axis=0))) if points else 0.0


def _link_vertices(surfaces: dict[str, LinkSurfaces]) -> Iterator[tuple[str, np.ndarray]]:
    """Yields each link that has a surface with all its vertices (V, 3) [m]."""
    for name, found in surfaces.items():
        meshes = (*found.visual_meshes, *found.collision_meshes)
        if meshes:
            yield name, np.concatenate([mesh.vertices for mesh in meshes])


def _measure_link(
    name: str, model: UrdfModel, surfaces: LinkSurfaces, size_m: float, problems: list[str]
) -> dict[str, Any]:
    link = model.links[name]
    parts = [part for mesh in surfaces.collision_meshes for part in split_components(mesh)]
    concave = any(shape.concave for shape in link.collisions)
    quality = collider_quality(surfaces.visual_meshes, parts) if not concave else None
    values: dict[str, Any] = {"parts": len(parts), "mass_kg": link.inertial.mass_kg if link.inertial else 0.0}
    if quality is not None:
        values |= asdict(quality) | {"hausdorff_m": quality.hausdorff_m}
        if quality.protruding_m > PROTRUSION_LIMIT * size_m + quality.spacing_m:
            problems.append(f"colliders of link '{name}' stand out by {quality.protruding_m * 1000:.0f} mm")
    held = name == model.root and link.inertial is not None and link.inertial.mass_kg == 0.0
    problem = inertia_problem(link.inertial) if link.inertial is not None and not held else None
    values["inertia"] = problem or ("held" if held else "sane" if link.inertial is not None else "none")
    if problem is not None:
        problems.append(f"link '{name}': {problem}")
    if surfaces.visual_meshes and not parts:
        problems.append(f"link '{name}' is seen but has no collider")
    return values


def _write_collider_urdf(model: UrdfModel, surfaces: dict[str, LinkSurfaces], folder: Path) -> Path:
    """Writes a copy of a URDF that shows its colliders, each in another colour."""
    links = {}
    number = 0
    for name, link in model.links.items():
        shapes = []
        for mesh in surfaces[name].collision_meshes:
            for part in split_components(mesh):
                shapes.append(_write_coloured_part(part, folder, number))
                number += 1
        links[name] = replace(link, visuals=tuple(shapes), collisions=())
    path = folder / "colliders.urdf"
    path.write_text(UrdfModel(model.name, links, model.joints).to_urdf(), encoding="utf-8")
    return path


def _write_coloured_part(part: TriangleMesh, folder: Path, number: int) -> Shape:
    file = f"part_{number}.obj"
    (folder / file).write_text(format_obj([part]), encoding="utf-8")
    red, green, blue = _COLOURS[number % len(_COLOURS)]
    return Shape(
        ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), rgba=(red, green, blue, 1.0), mesh=file, path=folder / file
    )
