"""Pictures of objects without a robot: sheets of generated objects, annotated objects with keypoints and axes, and the
colliders, masses and free motion of converted objects.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count, cycle, groupby, product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unlatch.objects.annotation import Articulation, Part
from unlatch.objects.importers.converted_asset import LinkSurfaces, inertia_problem, read_surfaces
from unlatch.objects.procedural.assembly import GeneratedObject, model_bounds
from unlatch.objects.procedural.colours import FINISH_OF_COLOUR
from unlatch.simcore.errors import count_noun
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.collider_pieces import collider_quality
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, split_components
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.converted_body import measure_motion
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import Inertial, Shape, ShapeKind, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.viewing.picture import (
    INK,
    Overlay,
    SheetRow,
    compose_sheet,
    draw_caption,
    horizontal_direction,
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
_GROUPS_PX = 24
"""Gap between two rows side by side [pixels]."""
_SHADE = 5
"""Brightness is rounded to multiples of this, of 255: few shades make a small file."""


def object_sheet(objects: Sequence[tuple[str, GeneratedObject, Path]]) -> Array:
    """Draws objects, given by category, object and URDF file and sorted by category; (height, width, 3) uint8."""
    side = LARGE_PX if len(objects) <= 3 else TILE_PX
    rows: list[SheetRow] = []
    with World(WorldCfg(), visuals=True, renderer=make_picture_renderer()) as world:
        for category, members in groupby(objects, key=lambda item: item[0]):
            tiles = [
                _draw_object(world, made, path, share=_SHARES[number % len(_SHARES)], side=side)
                for number, (_, made, path) in enumerate(members)
            ]
            rows.append(SheetRow(category, tiles))
    shades: Array = _arrange_rows(rows).astype(int) + _SHADE // 2
    return np.asarray(np.clip(shades // _SHADE * _SHADE, 0, 255), dtype=np.uint8)


def _draw_object(world: World, made: GeneratedObject, path: Path, *, share: float, side: int) -> Array:
    world.reset()
    positions = {part.joint: share * part.openness.open for part in made.articulation.parts.values()}
    # objects face the light, which comes from where the robot stands in an episode
    T_world_root = Pose.from_rpy([0.0, 0.0, 0.0], [0.0, 0.0, np.pi])
    body = world.load_urdf(path, name="object", T_world_root=T_world_root)
    body.finish_by_colour = FINISH_OF_COLOUR
    body.set_joint_positions(list(positions), list(positions.values()))
    corners = T_world_root @ np.array(list(product(*model_bounds(made.model, positions).T)))  # (8, 3)
    view = framing_camera(corners, (-0.80, -0.52, 0.42), fov_deg=_FOV_DEG, margin=_MARGIN)
    picture = take_picture(world, view, width=_OVERSAMPLED * side, height=_OVERSAMPLED * side, smooth=False)
    return np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.LANCZOS))


def _arrange_rows(rows: Sequence[SheetRow]) -> Array:
    """Puts rows below one another, in two columns if there are many."""
    length = -(-len(rows) // 2) if len(rows) > 6 else len(rows)
    columns = [compose_sheet(rows[start : start + length]) for start in range(0, len(rows), length)]
    height = max(len(column) for column in columns)
    filled = [np.pad(c, ((0, height - len(c)), (0, _GROUPS_PX), (0, 0)), constant_values=255) for c in columns]
    return np.concatenate(filled, axis=1)[:, :-_GROUPS_PX]


VIEW_PX = 480
"""Width and height of one view [pixels]."""
MOST_PARTS = 4
"""Largest number of parts that are drawn; the annotation lists the best parts first."""
_BODY, _PART = (0.8, 0.8, 0.82), (0.3, 0.55, 0.95)
KEYPOINT_COLOURS = {
    "articulated_object_head": (210, 30, 30),
    "articulated_object_tail": (240, 160, 0),
    "link_contact_point": (20, 140, 40),
    "base_contact_point": (110, 60, 180),
}
Rgb01 = tuple[float, float, float]
_Meshes = Mapping[str, Sequence[TriangleMesh]]
"""By link, in its frame [m]."""
_AXES = {"link0_contact_axis": (0, 150, 160), "base_front_axis": (150, 90, 30)}


def annotation_png(model: UrdfModel, articulation: Articulation) -> bytes:
    """Returns a PNG with a row for each part: closed and half open seen obliquely, and closed seen from the front."""
    meshes = {
        name: [shape_mesh(shape).moved(shape.T_link_shape) for shape in link.visuals or link.collisions]
        for name, link in model.links.items()
    }
    closed, rows = articulation.closed_positions(), []
    for part in list(articulation.parts.values())[:MOST_PARTS]:
        moving = set(rigid_links(model, part.link))
        colours = {name: [_PART if name in moving else _BODY] * len(meshes[name]) for name in model.links}
        with (
            tempfile.TemporaryDirectory(prefix="unlatch-annotation-") as folder,
            World(WorldCfg(), visuals=True) as world,
        ):
            front = _front_of(model, part, closed)
            # the light comes from where the robot stands in an episode
            T_world_root = Pose.from_rpy([0.0, 0.0, 0.0], [0.0, 0.0, np.pi - np.arctan2(front[1], front[0])])
            urdf = _write_painted_urdf(model, meshes, colours, Path(folder))
            body = world.load_urdf(urdf, name="object", T_world_root=T_world_root)
            rows.append(_draw_part(world, body, model, meshes, part, closed))
    stream = io.BytesIO()
    Image.fromarray(np.concatenate(rows, axis=0)).save(stream, format="png", optimize=False)
    return stream.getvalue()


def _front_of(model: UrdfModel, part: Part, closed: dict[str, float]) -> Array:
    """Returns the horizontal direction (3,) to which the front of a part's base faces in the root frame."""
    axis = part.axes["base_front_axis"]
    frame = model.link_pose(part.base, closed) if axis.frame == "base" else Pose.identity()
    return horizontal_direction(frame.rotate(axis.xyz))


def _draw_part(
    world: World, body: Body, model: UrdfModel, meshes: _Meshes, part: Part, closed: dict[str, float]
) -> Array:
    half = {**closed, part.joint: (part.openness.closed + part.openness.open) / 2}
    points = np.concatenate(
        [
            body.root_pose() @ (model.link_pose(name, positions) @ mesh.vertices)
            for name, shown in meshes.items()
            for mesh in shown
            for positions in (closed, half)
        ]
    )
    length_m = 0.12 * float(np.ptp(points, axis=0).max())
    tiles = []
    views = (("closed", closed, -0.6, 0.45), ("half open", half, -0.6, 0.45), ("from the front", closed, 0.0, 0.0))
    for title, positions, side, lift in views:
        body.set_joint_positions(list(positions), list(positions.values()))
        # wide enough that an object of five metres is nearer than the far plane of a picture
        view = framing_camera(points, (-1.0, side, lift), fov_deg=40.0, margin=1.25)
        overlay = Overlay(take_picture(world, view, width=VIEW_PX, height=VIEW_PX, fine=False), view)
        _draw_marks(overlay, body.root_pose(), model, part, positions, length_m=length_m)
        caption = f"{part.name}: {part.kind.name}, {part.handle.type.name}; {title}"
        tiles.append(np.concatenate([draw_caption(caption, VIEW_PX), overlay.picture()], axis=0))
    return np.concatenate(tiles, axis=1)


def _draw_marks(
    overlay: Overlay, T_world_root: Pose, model: UrdfModel, part: Part, positions: dict[str, float], *, length_m: float
) -> None:
    """Draws the axes of a part, and its keypoints with their names."""
    frames = {name: model.link_pose(link, positions) for name, link in (("link", part.link), ("base", part.base))}
    frames = {name: T_world_root @ T for name, T in {**frames, "obj": Pose.identity()}.items()}
    points = {name: frames[point.frame] @ point.xyz for name, point in part.keypoints.items()}
    for name, axis in part.axes.items():
        start = points["base_contact_point" if name.startswith("base") else "articulated_object_head"]
        if name == "link0_rot_axis":
            start = T_world_root @ model.link_pose(model.joints[part.joint].child, positions).p
        end = start + length_m * frames[axis.frame].rotate(axis.xyz)
        overlay.line(np.stack([start, end]), color=_AXES.get(name, INK), width=3)
        overlay.text_at(end, name.removeprefix("link0_"))
    overlay.labels(points, colours=KEYPOINT_COLOURS)


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
    points = [model.link_pose(name) @ vertices for name, vertices in _link_vertices(surfaces)]
    size_m = float(np.max(np.ptp(np.concatenate(points), axis=0))) if points else 0.0
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
        colliders = {
            link: [part for mesh in found.collision_meshes for part in split_components(mesh)]
            for link, found in surfaces.items()
        }
        palette = cycle(_COLOURS)
        colours = {link: [next(palette) for _ in parts] for link, parts in colliders.items()}
        urdfs = {"as seen": urdf_path, "colliders": _write_painted_urdf(model, colliders, colours, Path(name))}
        rows = []
        for label, urdf in urdfs.items():
            pictures = []
            with World(WorldCfg(), visuals=True) as world:
                body = world.load_urdf(urdf, name="object", T_world_root=Pose.identity())
                for positions in ends.values():
                    body.set_joint_positions(list(positions), list(positions.values()))
                    pictures.append(take_picture(world, view, width=_TILE[0], height=_TILE[1]))
            rows.append(SheetRow(f"{urdf_path.parent.name}, {label}: lower end, upper end", pictures))
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
    forward = horizontal_direction(moved)
    direction = forward + 0.6 * np.array([forward[1], -forward[0], 1.0])
    return framing_camera(np.concatenate(clouds), direction, fov_deg=40.0, aspect=_TILE[0] / _TILE[1], margin=1.15)


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


_ANY_INERTIAL = Inertial(1.0, np.zeros(3), np.eye(3))


def _write_painted_urdf(
    model: UrdfModel, meshes: _Meshes, colours: Mapping[str, Sequence[Rgb01]], folder: Path
) -> Path:
    """Writes a copy of a URDF that shows meshes in the frames of its links, each in a colour; returns its path."""
    links, number = {}, count()
    for name, link in model.links.items():
        shapes = []
        for mesh, rgb in zip(meshes[name], colours[name], strict=True):
            if len(mesh.faces):
                path = folder / f"part_{next(number)}.obj"
                path.write_text(format_obj([mesh]), encoding="utf-8")
                size, rgba = (1.0, 1.0, 1.0), (*rgb, 1.0)
                shapes.append(Shape(ShapeKind.mesh, size, Pose.identity(), rgba=rgba, mesh=path.name, path=path))
        # Bullet complains about a link without a mass
        links[name] = replace(link, visuals=tuple(shapes), collisions=(), inertial=link.inertial or _ANY_INERTIAL)
    target = folder / "shown.urdf"
    target.write_text(UrdfModel(model.name, links, model.joints).to_urdf(), encoding="utf-8")
    return target
