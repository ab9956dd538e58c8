"""Changes models for a scene: scaled, or turned onto another side; and finds the sides on which one lies stably."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from unlatch.objects.annotation import (
    ANNOTATION_FILE,
    UPWARDS,
    Articulation,
    FramedVector,
    Openness,
    Part,
    PartKind,
    write_articulation,
)
from unlatch.objects.annotation_entries import FixedHandle, Region
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.articulated_object import PHYSICS_FILE, ObjectAsset
from unlatch.objects.config import OTHER_SIDES, RestsOn
from unlatch.objects.mechanisms import STRENGTH, Mechanism, Mimic
from unlatch.simcore.cache import cache_root, cached_folder, json_hash
from unlatch.simcore.files import plain_name
from unlatch.simcore.geometry import Pose, turn_to_x
from unlatch.simcore.meshes.mesh_store import model_files
from unlatch.simcore.meshes.solids import Solids
from unlatch.simcore.temporary_folders import scratch_files
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, UrdfModel, moved_bounds
from unlatch.simcore.urdf.reader import read_urdf

_ASIDE = 0.05
"""A part that is off the middle by less than this share of the object's extent is on none of its sides."""
_X = np.array([1.0, 0.0, 0.0])
_HINGED = (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid)


@dataclass(frozen=True)
class TurnedObject:
    """An object that lies on a side: z up, the front of one of its parts towards +x of the root link."""

    model: UrdfModel
    articulation: Articulation
    bounds_obj: np.ndarray
    """(2, 3) lower and upper corner of the closed object in its root link frame [m]."""
    R_lying_standing: np.ndarray
    """(3, 3) rotation of the root link frame of the standing object, in that of the lying one."""


def turn_object(
    model: UrdfModel, articulation: Articulation, bounds_obj: np.ndarray, side: RestsOn, *, front_part: str | None
) -> TurnedObject:
    """Returns an object that lies on a side.

    Links, joints, parts and keypoints keep their names, and keypoints stay where they are on the object. The kind of a
    hinged part (door, flap or lid) and the front follow from how the object lies. Stated regions are dropped: a floor
    is a floor no more, so regions are found from the geometry.

    Args:
        model: The standing object.
        articulation: Its annotation.
        bounds_obj: (2, 3) corners of the closed object in its root link frame [m].
        side: The side that is down.
        front_part: The part whose front faces the robot; None: the first one.
    """
    R_down = side.down_rotation
    articulation = replace(articulation, regions=None)
    lying = _move_object(model, articulation, Pose(R_down, np.zeros(3)), bounds_obj)
    fronts = {
        name: _front_of(part, lying, articulation.parts[name], model) for name, part in lying.articulation.parts.items()
    }
    first = front_part if front_part in fronts else next(iter(fronts), None)
    R = turn_to_x(0 if first is None else fronts[first]) @ R_down
    # the underside stays at its height, and the middle over the same point
    low, high = moved_bounds(bounds_obj, Pose(R, np.zeros(3)))
    lift = [*(bounds_obj.mean(axis=0) - 0.5 * (low + high))[:2], float(bounds_obj[0, 2] - low[2])]
    made = _move_object(model, articulation, Pose(R, np.array(lift)), bounds_obj)
    parts = {
        name: replace(
            part,
            kind=_kind_of(part, made),
            axes={**part.axes, "base_front_axis": _front_axis(part, fronts, first, made)},
        )
        for name, part in made.articulation.parts.items()
    }
    return replace(made, articulation=replace(made.articulation, parts=parts))


def outward_of(part: Part, model: UrdfModel, articulation: Articulation) -> np.ndarray:
    """Returns (3,) the unit direction in which a hand pulls a closed part, root frame."""
    R = model.link_pose(part.link, articulation.closed_positions()).R
    if part.kind is PartKind.slider:
        return np.asarray(R @ part.axis("link0_move_axis").xyz)
    tail = part.keypoint("articulated_object_tail").xyz - part.keypoint("articulated_object_head").xyz
    out = R @ np.cross(tail, part.axis("link0_contact_axis").xyz)
    return np.asarray(out / np.linalg.norm(out))


def _move_object(model: UrdfModel, articulation: Articulation, T: Pose, bounds_obj: np.ndarray) -> TurnedObject:
    """Returns an object all of which is moved by `T` in the frame of its root link; kinds and axes of parts stay."""
    root = model.root
    joints = {
        name: replace(joint, T_parent_joint=T @ joint.T_parent_joint) if joint.parent == root else joint
        for name, joint in model.joints.items()
    }
    links = {name: moved_link(link, T) if name == root else link for name, link in model.links.items()}
    moved = moved_annotation(articulation, lambda link: (link, T if link == root else None), T)
    return TurnedObject(UrdfModel(model.name, links, joints), moved, moved_bounds(bounds_obj, T), T.R)


def moved_link(link: Link, T: Pose) -> Link:
    """Returns a link in another frame; `T` is the pose of its own frame there."""

    def moved(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(replace(shape, T_link_shape=T @ shape.T_link_shape) for shape in shapes)

    inertial = link.inertial
    if inertial is not None:
        inertial = Inertial(inertial.mass_kg, T @ inertial.com_link, T.R @ inertial.inertia @ T.R.T)
    return Link(link.name, moved(link.visuals), moved(link.collisions), inertial)


def moved_annotation(
    articulation: Articulation, owner_of: Callable[[str], tuple[str, Pose | None]], T_obj: Pose
) -> Articulation:
    """Returns an annotation in the frames of other links.

    Args:
        articulation: The annotation.
        owner_of: Returns the link that a link is part of now, and the pose of its frame there; None: it stays.
        T_obj: Pose of the former root frame in the present one.
    """

    def moved_part(part: Part) -> Part:
        (link, T_link), (base, T_base) = owner_of(part.link), owner_of(part.base)
        frames = {"link": T_link, "base": T_base, "obj": T_obj}
        handle, points, axes = part.handle, dict(part.keypoints), dict(part.axes)
        if handle.T_link_handle is not None and T_link is not None:
            handle = replace(handle, T_link_handle=T_link @ handle.T_link_handle)
        for frame, T in frames.items():
            if T is not None:
                points |= {n: FramedVector(frame, T @ v.xyz) for n, v in part.keypoints.items() if v.frame == frame}
                axes |= {n: FramedVector(frame, T.rotate(v.xyz)) for n, v in part.axes.items() if v.frame == frame}
        return replace(part, link=link, base=base, handle=handle, keypoints=points, axes=axes)

    def moved_region(region: Region) -> Region:
        link, T = owner_of(region.link)
        return region if T is None else replace(region, link=link, T_link_region=T @ region.T_link_region)

    def moved_handle(handle: FixedHandle) -> FixedHandle:
        link, T = owner_of(handle.link)
        return handle if T is None else handle.moved(T, link=link)

    regions = articulation.regions
    return replace(
        articulation,
        parts={name: moved_part(part) for name, part in articulation.parts.items()},
        keypoints={name: replace(v, xyz=T_obj @ v.xyz) for name, v in articulation.keypoints.items()},
        regions=None if regions is None else {name: moved_region(region) for name, region in regions.items()},
        handles={name: moved_handle(handle) for name, handle in articulation.handles.items()},
    )


def _kind_of(part: Part, lying: TurnedObject) -> PartKind:
    """Returns the kind of a part as its object lies: a door in the front is a lid if the front is up."""
    if part.kind not in _HINGED:
        return part.kind
    return PartKind.of_hinge(_axis_of(part, lying), outward_of(part, lying.model, lying.articulation))


def _axis_of(part: Part, lying: TurnedObject) -> np.ndarray:
    """Returns (3,) the unit axis of the joint of a closed part, root frame."""
    joint = lying.model.joints[part.joint]
    pose = lying.model.link_pose(joint.child, lying.articulation.closed_positions())
    return np.asarray(pose.rotate(joint.axis / np.linalg.norm(joint.axis)))


def _front_of(part: Part, lying: TurnedObject, standing: Part, model: UrdfModel) -> int:
    """Returns the number of quarter turns about z from +x to the front of a part, as the annotator chooses it.

    The front is the side to which the part opens, or, for a lid, the side of its free edge. For other parts that open
    upwards, it is the side on which they are. `standing` is the part of the standing object `model`.
    """
    out = outward_of(part, lying.model, lying.articulation)
    kept = _front_direction(part, lying.model, lying.articulation)
    if part.kind is PartKind.slider:
        front = _front_direction(standing, model, lying.articulation)
        slides_aside = abs(float(front @ outward_of(standing, model, lying.articulation))) < UPWARDS
        if slides_aside and abs(float(kept[2])) < UPWARDS:
            return _quarter_of(kept)  # a sash of a window, or a lever in the front
    if abs(float(out[2])) < UPWARDS:
        return _quarter_of(out)
    pose = lying.model.link_pose(part.link, lying.articulation.closed_positions())
    head = pose @ part.keypoint("articulated_object_head").xyz
    if part.kind in _HINGED:
        hinge = lying.model.link_pose(lying.model.joints[part.joint].child, lying.articulation.closed_positions()).p
        arm, axis = head - hinge, _axis_of(part, lying)
        return _quarter_of(arm - axis * float(arm @ axis))
    aside = (head - lying.bounds_obj.mean(axis=0)) * [1.0, 1.0, 0.0]
    if float(np.abs(aside).max()) < _ASIDE * float((lying.bounds_obj[1] - lying.bounds_obj[0])[:2].max()):
        return 0
    return _quarter_of(aside)


def _front_direction(part: Part, model: UrdfModel, articulation: Articulation) -> np.ndarray:
    """Returns (3,) the `base_front_axis` of a part in the root frame of the closed object."""
    axis = part.axis("base_front_axis")
    frame = {"link": part.link, "base": part.base}.get(axis.frame)
    return axis.xyz if frame is None else model.link_pose(frame, articulation.closed_positions()).rotate(axis.xyz)


def _quarter_of(direction: np.ndarray) -> int:
    if float(np.hypot(direction[0], direction[1])) < 1e-9:
        return 0
    return round(float(np.arctan2(direction[1], direction[0])) / (np.pi / 2)) % 4


def _front_axis(part: Part, fronts: dict[str, int], first: str | None, made: TurnedObject) -> FramedVector:
    """Returns the `base_front_axis` of a part of the turned object, whose front is that of the part `first`."""
    turn = fronts[part.name] - (0 if first is None else fronts[first])
    front_root = turn_to_x(-turn) @ _X
    R_root_base = made.model.link_pose(part.base, made.articulation.closed_positions()).R
    return FramedVector.of("base", R_root_base.T @ front_root)


_CONTACT_M = 0.001
"""Points of the body that are at most this much above its lowest one carry the object [m]."""
_FEET_M = 0.004
"""A part may stand out below the body by at most this much: it does not touch what an object with feet of this height
lies on [m]."""
_MARGIN_M, _MARGIN_SHARE = 0.006, 0.15
"""The centre of mass is at least this far within the hull of these points [m], and at least this share of the smaller
extent of the object: a bottle rolls away on the strip that carries it."""
_DOWNWARDS = -0.5
"""A part that opens more steeply downwards is blocked by what the object lies on."""
LIGHT_KG, SMALL_M = 5.0, 0.5
"""A person lays an object that is not heavier and not larger than this on another side."""


def stable_sides(asset: ObjectAsset, parts: Collection[str] = ()) -> list[RestsOn]:
    """Returns the sides other than the bottom on which a standing object would lie stably, in order of trial.

    The centre of mass is above the hull of the points that carry the object, with a margin, and no given part carries
    it or opens downwards. `parts` are those that are acted on; empty: all.
    """
    acted = [part for name, part in asset.articulation.parts.items() if not parts or name in parts]
    return [side for side in OTHER_SIDES if _is_free(asset, acted, side) and _is_balanced(asset, acted, side)]


def suits_any_side(asset: ObjectAsset, parts: Collection[str] = ()) -> bool:
    """Returns whether a person would lay a standing object on another side: it is small and light, and lies stably."""
    if asset.rests_on is not RestsOn.bottom or float(asset.size_m.max()) > SMALL_M or asset.mass_kg > LIGHT_KG:
        return False
    return bool(stable_sides(asset, parts))


def _is_free(asset: ObjectAsset, acted: Collection[Part], side: RestsOn) -> bool:
    outward = [side.down_rotation @ outward_of(part, asset.model, asset.articulation) for part in acted]
    return all(float(direction[2]) > _DOWNWARDS for direction in outward)


def _is_balanced(asset: ObjectAsset, acted: Collection[Part], side: RestsOn) -> bool:
    R, model, solids = side.down_rotation, asset.model, Solids.from_urdf(asset.urdf_path)
    closed = asset.articulation.closed_positions()
    poses = {name: model.link_pose(name, closed) for name in model.links}
    points = {name: (pose @ solids.vertices(name)) @ R.T for name, pose in poses.items() if len(solids.vertices(name))}
    if not points:
        return False
    everything = np.concatenate(list(points.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    moving = {name for name in points for part in acted if model.is_below(name, model.joints[part.joint].child)}
    body = [cloud for name, cloud in points.items() if name not in moving]
    if not body:
        return False
    carrying = np.concatenate(body)
    underside = float(carrying[:, 2].min())
    if underside > float(low[2]) + _FEET_M:
        return False
    carrying = carrying[carrying[:, 2] < underside + _CONTACT_M, :2]
    middle = R @ asset.centre_of_mass
    margin_m = max(_MARGIN_M, _MARGIN_SHARE * float((high - low)[:2].min()))
    try:
        hull = scipy.spatial.ConvexHull(carrying)
    except (scipy.spatial.QhullError, ValueError):  # fewer than three points, or all on a line
        return False
    distances = hull.equations[:, :2] @ middle[:2] + hull.equations[:, 2]
    return bool(np.all(distances < -margin_m))


def scaled_model(model: UrdfModel, factor: float) -> UrdfModel:
    """Returns a model with all lengths multiplied. Densities stay the same, so masses grow with the third power."""
    if factor == 1.0:
        return model
    links = {
        name: Link(
            name,
            tuple(_scaled_shape(shape, factor) for shape in link.visuals),
            tuple(_scaled_shape(shape, factor) for shape in link.collisions),
            _scaled_inertial(link.inertial, factor),
        )
        for name, link in model.links.items()
    }
    slides = {name for name, joint in model.joints.items() if joint.kind == "prismatic"}
    joints = {name: _scaled_joint(joint, factor, slides) for name, joint in model.joints.items()}
    return UrdfModel(model.name, links, joints)


def scaled_pose(pose: Pose, factor: float) -> Pose:
    """Returns the pose with its position multiplied."""
    return Pose(pose.R, pose.p * factor)


def _scaled_shape(shape: Shape, factor: float) -> Shape:
    size = tuple(value * factor for value in shape.size)
    return replace(shape, size=size, T_link_shape=scaled_pose(shape.T_link_shape, factor))


def _scaled_inertial(inertial: Inertial | None, factor: float) -> Inertial | None:
    if inertial is None:
        return None
    return Inertial(inertial.mass_kg * factor**3, inertial.com_link * factor, inertial.inertia * factor**5)


def _scaled_joint(joint: Joint, factor: float, slides: Collection[str]) -> Joint:
    limits, follows = factor if joint.name in slides else 1.0, joint.follows
    if follows is not None:
        ratio = follows.ratio * limits / (factor if follows.joint in slides else 1.0)
        follows = replace(follows, ratio=ratio, offset=follows.offset * limits)
    return replace(
        joint,
        T_parent_joint=scaled_pose(joint.T_parent_joint, factor),
        lower=joint.lower * limits,
        upper=joint.upper * limits,
        follows=follows,
    )


def scaled_object(asset: ObjectAsset, factor: float) -> ObjectAsset:
    """Returns an object all of whose lengths are multiplied; its files are in the temporary folder of this process.

    Forces change with the third power, as weights do, and speeds with the root: the small object moves like the large
    one in slow motion. Drives and masses of `physics.json` are left out.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    slides = {name for name, joint in asset.model.joints.items() if joint.kind == "prismatic"}
    articulation = _scaled_articulation(asset.articulation, factor, slides)
    model = scaled_model(asset.model, factor)
    is_slide = {name: joint.kind == "prismatic" for name, joint in model.joints.items()}
    files = {
        _URDF_FILE: model.to_urdf().encode(),
        ANNOTATION_FILE: articulation.to_yaml().encode(),
        **{
            name: path.read_bytes() for name, path in model_files(asset.model, asset.urdf_path.parent.resolve()).items()
        },
    }
    digest = json_hash([asset.content_hash, factor])
    folder = scratch_files(f"{plain_name(asset.instance)[:64]}-sized-{digest[:24]}", files)

    def write_textured(write: Callable[[], Path]) -> Path:
        drawn = write()
        shapes = scaled_model(read_urdf(drawn), factor)
        meshes = {path.name: path.read_bytes() for path in drawn.parent.iterdir() if path.name != drawn.name}
        name = f"{folder.name}-drawn"
        return scratch_files(name, {drawn.name: shapes.to_urdf().encode(), **meshes}) / drawn.name

    return replace(
        asset,
        urdf_path=folder / _URDF_FILE,
        articulation=articulation,
        content_hash=digest,
        bounds_obj=asset.bounds_obj * factor,
        friction={name: value * factor ** (3 if is_slide[name] else 4) for name, value in asset.friction.items()},
        damping={name: value * factor ** (2.5 if is_slide[name] else 4.5) for name, value in asset.damping.items()},
        parameters={**asset.parameters, "size": factor},
        write_textured=None if asset.write_textured is None else partial(write_textured, asset.write_textured),
    )


def _scaled_articulation(articulation: Articulation, factor: float, slides: Collection[str]) -> Articulation:
    """Returns an annotation with all lengths multiplied; directions stay. `slides` are joints that slide."""

    def scaled_points(points: Mapping[str, FramedVector]) -> dict[str, FramedVector]:
        return {name: FramedVector(point.frame, point.xyz * factor) for name, point in points.items()}

    def scaled_part(part: Part) -> Part:
        handle, openness = part.handle, part.openness
        T = None if handle.T_link_handle is None else scaled_pose(handle.T_link_handle, factor)
        reach = factor if part.kind is PartKind.slider else 1.0
        forces = part.closing_forces
        return replace(
            part,
            keypoints=scaled_points(part.keypoints),
            handle=replace(handle, size=handle.size * factor, T_link_handle=T),
            openness=Openness(openness.closed * reach, openness.open * reach),
            closing_forces=None if forces is None else forces.scaled(factor),
        )

    regions = articulation.regions
    return replace(
        articulation,
        parts={name: scaled_part(part) for name, part in articulation.parts.items()},
        scale=articulation.scale * factor,
        handles={
            name: replace(handle, middle=handle.middle * factor, thickness_m=handle.thickness_m * factor)
            for name, handle in articulation.handles.items()
        },
        keypoints=scaled_points(articulation.keypoints),
        mechanisms={
            name: scaled_mechanism(mechanism, factor, slides) for name, mechanism in articulation.mechanisms.items()
        },
        regions=None
        if regions is None
        else {
            name: replace(each, T_link_region=scaled_pose(each.T_link_region, factor), size=each.size * factor)
            for name, each in regions.items()
        },
    )


_LENGTHS = {"free_at": "by", "at": "by", "range": "by"}
"""The joint of which a field is a position or distance; of the others in `_OF_JOINT`, it is the first that is named."""
_OF_JOINT = ("play", "press", "pops_to", "reach", "positions", "rest", "offset", "speed")
_EFFORTS = {"effort": 3.0, "strength": 3.0, "stiffness": 2.0, "damping": 2.5}
"""Powers of the length with which fields of a joint that slides grow, see `scaled_object`; of one that turns, efforts
and what multiplies an angle grow by one power or two more."""


def scaled_mechanism(mechanism: Mechanism, factor: float, slides: Collection[str]) -> Mechanism:
    """Returns a mechanism of an object whose lengths are multiplied; `slides` are its joints that slide.

    Forces change with the third power of `factor`, and speeds with the root. The default strength stays: it is more
    than an arm can pull at an object of any size.
    """
    own = mechanism.joints_named[0] in slides
    values: dict[str, Any] = {}
    for field in fields(mechanism):
        value = getattr(mechanism, field.name)
        by = own if field.name in _OF_JOINT else getattr(mechanism, _LENGTHS.get(field.name, ""), None) in slides
        times = factor if by and (field.name in _OF_JOINT or field.name in _LENGTHS) else 1.0
        if field.name == "ratio" and isinstance(mechanism, Mimic):
            times = (factor if own else 1.0) / (factor if mechanism.follows in slides else 1.0)
        elif field.name == "speed":
            times = factor**0.5 if own else factor**-0.5
        elif field.name in _EFFORTS and (field.name, value) != ("strength", STRENGTH):
            more = 0.0 if own else 1.0 if field.name in ("effort", "strength") else 2.0
            times = factor ** (_EFFORTS[field.name] + more)
        if times != 1.0:
            values[field.name] = tuple(each * times for each in value) if isinstance(value, tuple) else value * times
    return replace(mechanism, **values)


VERSION = 2
"""Raise it with every change of the output: cached objects are then turned again."""

_URDF_FILE = "object.urdf"
_FACTS_FILE = "asset.json"


def write_turned_object(
    asset: ObjectAsset, side: RestsOn, *, front_part: str | None, cache_dir: str | None
) -> ObjectAsset:
    """Returns an object that lies on a side; its files are written first unless the cache holds them.

    Args:
        asset: The standing object.
        side: The side that is down.
        front_part: The part whose front faces the robot; None: the first one.
        cache_dir: See `unlatch.simcore.cache`.

    Raises:
        AssetError: The cache cannot be written.
    """
    key = json_hash([VERSION, asset.content_hash, asset.urdf_path.name, side.value, front_part])
    folder = cache_root(cache_dir) / "turned" / f"{plain_name(asset.instance)[:64]}-{side.value}-{key[:16]}"
    digest = cached_folder(folder, key=key, make=lambda made: _write_turned(asset, side, front_part, made))
    facts = json.loads((folder / _FACTS_FILE).read_text(encoding="utf-8"))
    return replace(
        asset,
        urdf_path=folder / _URDF_FILE,
        articulation=read_articulation(folder),
        content_hash=digest,
        bounds_obj=np.array(facts["bounds_obj"]),
        R_obj_peer=np.array(facts["R_lying_standing"]) @ asset.R_obj_peer,
    )


def _write_turned(asset: ObjectAsset, side: RestsOn, front_part: str | None, folder: Path) -> None:
    lying = turn_object(asset.model, asset.articulation, asset.bounds_obj, side, front_part=front_part)
    source = asset.urdf_path.parent.resolve()
    for name, path in model_files(asset.model, source).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    if (source / PHYSICS_FILE).is_file():
        shutil.copyfile(source / PHYSICS_FILE, folder / PHYSICS_FILE)
    (folder / _URDF_FILE).write_text(lying.model.to_urdf(), encoding="utf-8")
    write_articulation(lying.articulation, folder / ANNOTATION_FILE)
    facts = {
        "bounds_obj": lying.bounds_obj.round(6).tolist(),
        "R_lying_standing": lying.R_lying_standing.round().tolist(),  # quarter turns: exact
    }
    (folder / _FACTS_FILE).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
