"""Measures the quality of a converted object and draws it: colliders, masses, limits, overlap and free motion."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.link_inertia import inertia_problem
from unlatch.objects.importers.urdf_surfaces import LinkSurfaces, read_surfaces
from unlatch.simcore.errors import count_noun
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.decomposition.collider_quality import collider_quality
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, split_components
from unlatch.simcore.sim.part_motion import measure_motion
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.viewing.picture import SheetRow, compose_sheet, horizontal_direction, write_picture

OVERLAP_LIMIT_M = 0.01
"""Deeper overlaps of a part with its own object are reported as problems [m]."""
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
        if worst > OVERLAP_LIMIT_M:
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
    ends = {end: {j.name: _end_position(j.kind, getattr(j, end), end) for j in moving} for end in ("lower", "upper")}
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


def _end_position(kind: str, value: float, end: str) -> float:
    return (0.0 if end == "lower" else np.pi / 2) if kind == "continuous" else value


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
