"""Keeps the annotation of a URDF beside it: reads, edits, checks and writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.objects.annotate.source import read_model, with_freed_joints, without_empty_colliders
from unlatch.objects.annotation import ANNOTATION_FILE, Articulation, FramedVector, Part, PartKind
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.mechanism_problems import coupled_joints
from unlatch.objects.mechanisms import Mechanism, Mimic, PushLatch
from unlatch.objects.turned_object import scaled_model
from unlatch.objects.validation import articulation_problems, raise_problems
from unlatch.simcore.cache import json_hash
from unlatch.simcore.errors import AssetError
from unlatch.simcore.files import read_text, write_whole_file
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.collider_pieces import SolidPieces
from unlatch.simcore.meshes.shape_surface import shape_cloud, shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes, sample_surface
from unlatch.simcore.urdf.model import UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import resolve_inside

TOOL = "unlatch annotate"
"""Mark in a file that the command made."""


@dataclass(frozen=True)
class AnnotatedUrdf:
    """An annotation with its URDF."""

    articulation: Articulation
    model: UrdfModel
    """The URDF in metres."""
    path: Path
    size_m: float
    """Largest extent of the closed object [m]."""

    @property
    def problems(self) -> list[str]:
        """What the validator finds, one line each."""
        return articulation_problems(self.articulation, self.model, size_m=self.size_m)


def with_mark(articulation: Articulation) -> Articulation:
    """Returns the annotation with a mark: the command made it, and the digest of its content."""
    plain = _without_mark(articulation)
    return replace(plain, extra={**plain.extra, "made_by": {"tool": TOOL, "digest": _content_digest(plain)}})


def is_hand_made(articulation: Articulation) -> bool:
    """Returns whether a person wrote the annotation, or changed one that the command made."""
    mark = articulation.extra.get("made_by")
    if not isinstance(mark, Mapping) or mark.get("tool") != TOOL:
        return True
    return bool(mark.get("digest") != _content_digest(_without_mark(articulation)))


def check_replaceable(path: Path, *, urdf: str, force: bool) -> None:
    """Refuses to replace an annotation made by hand, or one about another URDF than `urdf`, unless `force` is set.

    One without parts is completed, and loses nothing but comments.

    Raises:
        AssetError: A person made or changed the annotation, it cannot be read, or it is about another URDF.
    """
    if force or not path.exists():
        return
    try:
        found = read_articulation(path)
    except AssetError as exc:
        raise AssetError(f"{exc.message} The file is kept: correct or remove it.", path=str(path)) from exc
    if found.parts and is_hand_made(found):
        raise AssetError(
            f"{path} was not made by `unlatch annotate`, or was changed since. It is kept; force=true replaces it.",
            path=str(path),
        )
    if not found.is_about(urdf):
        raise AssetError(
            f"{path} is about {found.urdf_record.get('file')}, not {urdf}. Give out=FOLDER, or force=true to replace "
            "it.",
            path=str(path),
        )
    if not found.parts and _COMMENT.search(read_text(path)):
        raise AssetError(
            f"{path} has comments, which are lost when its parts are written into it. Give out=FOLDER, or force=true "
            "to write them without its comments.",
            path=str(path),
        )


_COMMENT = re.compile(r"(?:^|\s)#")
_KEPT = ("closing_forces", "mechanisms", "freed_joints")
"""What stays of a file that is replaced."""


def read_stated(path: Path, *, urdf: str) -> Articulation | None:
    """Returns the annotation in a file; None if it is missing, cannot be read, or is about another URDF than `urdf`.

    Raises:
        AssetError: It cannot be read, and states what stays when it is replaced.
    """
    try:
        found = read_articulation(path) if path.exists() else None
    except AssetError as exc:
        if not any(f"{key}:" in path.read_text(encoding="utf-8", errors="replace") for key in _KEPT):
            return None
        raise AssetError(f"{exc.message} The file is kept: correct or remove it.", path=str(path)) from exc
    return found if found is not None and found.is_about(urdf) else None


def _before_press(part: Part, mechanisms: Iterable[Mechanism], model: UrdfModel) -> Part:
    """Returns a part that is closed where a press begins, if it is annotated as closed at the limit of its joint."""
    press = next((each.press for each in mechanisms if isinstance(each, PushLatch) and each.joint == part.joint), 0.0)
    joint, openness = model.joints[part.joint], part.openness
    limit = joint.lower if openness.sign > 0.0 else joint.upper
    if press == 0.0 or abs(openness.closed - limit) > 0.5 * press:
        return part
    return replace(part, openness=replace(openness, closed=openness.position(press)))


def with_stated_mechanics(found: Articulation, old: Articulation, model: UrdfModel, *, where: str) -> Articulation:
    """Returns a new annotation with the freed joints, closing forces and mechanisms that another one states.

    No rule finds closing forces, and only a `mimic` among mechanisms, which is kept if a person wrote or changed the
    other annotation. Parts are matched by their joints. Parts that state nothing stay so, and get the values of their
    category. Of one without parts, and of one that the command completed, all else stays, too.

    Args:
        found: The new annotation.
        old: The one that it replaces, or that has no parts.
        model: The URDF in metres.
        where: The file of the other one, for messages.

    Raises:
        AssetError: The object cannot have what the other one states.
    """
    stated = {part.joint: part.closing_forces for part in old.parts.values() if part.closing_forces is not None}
    parts = {
        name: replace(part, closing_forces=stated.get(part.joint, part.closing_forces))
        for name, part in found.parts.items()
    }
    by_hand = is_hand_made(old)
    own = {name: each for name, each in old.mechanisms.items() if by_hand or not isinstance(each, Mimic)}
    known = {(each.kind, frozenset(each.joints_named)) for each in own.values()}
    more = {
        name if name not in own else f"{name}_found": each
        for name, each in found.mechanisms.items()
        if (each.kind, frozenset(each.joints_named)) not in known
    }
    parts = {name: _before_press(part, own.values(), model) for name, part in parts.items()}
    kept = replace(
        found,
        parts=parts,
        mechanisms={**own, **more},
        parts_collide=old.parts_collide,
        freed_joints=old.freed_joints,
    )
    if not (old.parts and by_hand):
        kept = replace(
            kept,
            source={**kept.source, **old.source},
            handles={**kept.handles, **old.handles},
            keypoints={**kept.keypoints, **old.keypoints},
            regions=kept.regions if old.regions is None else old.regions,
            free=old.free,
            extra={**_without_mark(old).extra, **kept.extra},
        )
    raise_problems(articulation_problems(kept, model, size_m=model_extent(model, kept)), where=where)
    return kept


def write_annotation_file(path: Path, data: bytes) -> None:
    """Writes a file of an annotation completely or not at all.

    Raises:
        AssetError: The file cannot be written.
    """
    try:
        write_whole_file(path, data)
    except OSError as exc:
        raise AssetError(
            f"{path} cannot be written ({exc.strerror or exc}). Give out=FOLDER, a folder that can be written.",
            path=str(path),
        ) from exc


def load_annotation(path: Path | str, *, urdf: Path | None = None, check: bool = True) -> AnnotatedUrdf:
    """Reads an annotation and its URDF, in metres.

    Args:
        path: The annotation file, or its folder.
        urdf: The URDF or USD; without it, the one that the annotation names, or the only URDF in the folder.
        check: Whether to check that the annotation fits the URDF.

    Raises:
        AssetError: One of them is missing or damaged, or the annotation does not fit the URDF.
    """
    file = Path(path)
    file = file / ANNOTATION_FILE if file.is_dir() else file
    articulation = read_articulation(file)
    record = articulation.urdf_record
    name, scale = record.get("file"), record.get("scale", 1.0)
    if not record:
        found = sorted(file.parent.glob("*.urdf"))
        name = found[0].name if len(found) == 1 else "object.urdf"
    if not isinstance(name, str) or isinstance(scale, bool) or not isinstance(scale, (int, float)) or not scale > 0:
        raise AssetError(
            f"{file}: urdf is {dict(record)!r}, expected {{file: NAME, scale: METRES_PER_UNIT}}.", path=str(file)
        )
    place = urdf if urdf is not None else resolve_inside(file.parent, name, where=str(file))
    freed = with_freed_joints(read_model(place), articulation.freed_joints, where=str(file))
    model = scaled_model(without_empty_colliders(freed), float(scale))
    loaded = AnnotatedUrdf(articulation, model, file, model_extent(model, articulation))
    if check:
        raise_problems(loaded.problems, where=str(file))
    return loaded


def model_extent(model: UrdfModel, articulation: Articulation) -> float:
    """Largest extent of an object with its parts closed [m]; 0 without shapes."""
    points = shape_cloud(model, articulation.closed_positions())
    return float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0


def _without_mark(articulation: Articulation) -> Articulation:
    return replace(articulation, extra={k: v for k, v in articulation.extra.items() if k != "made_by"})


def _content_digest(articulation: Articulation) -> str:
    return json_hash(articulation.to_dict())[:16]


Array = np.ndarray

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"


class KeypointEdit:
    """Moves keypoints and writes the file. Moving the head moves the tail and the handle too, which keeps the direction
    in which the fingers close. A saved file counts as made by hand.
    """

    def __init__(self, loaded: AnnotatedUrdf) -> None:
        self.loaded = loaded
        self.articulation = loaded.articulation
        """The annotation with what has been moved so far."""

    @property
    def problems(self) -> list[str]:
        """Problems of the current annotation, one line each."""
        return articulation_problems(self.articulation, self.loaded.model, size_m=self.loaded.size_m)

    def move(self, part: str, keypoint: str, xyz: Array) -> None:
        """Moves a keypoint to a position (3,) in its own frame [m].

        Raises:
            AssetError: There is no such part or keypoint.
        """
        entry = self.articulation.part(part)
        old = entry.keypoint(keypoint)
        moved = FramedVector.of(old.frame, xyz)
        keypoints = {**entry.keypoints, keypoint: moved}
        handle = entry.handle
        if keypoint == HEAD:
            shift = moved.xyz - old.xyz
            keypoints[TAIL] = FramedVector.of(old.frame, entry.keypoints[TAIL].xyz + shift)
            if handle.T_link_handle is not None and old.frame == "link":
                pose = handle.T_link_handle
                handle = replace(handle, T_link_handle=Pose(pose.R, pose.p + shift))
        changed = replace(entry, keypoints=keypoints, handle=handle)
        self.articulation = replace(self.articulation, parts={**self.articulation.parts, part: changed})

    def save(self) -> None:
        """Writes the annotation and marks it as made by hand.

        Raises:
            AssetError: It does not fit its object, or cannot be written. The file is unchanged.
        """
        problems = self.problems
        if problems:
            raise AssetError(f"{self.loaded.path}: {problems[0]} Not saved.", path=str(self.loaded.path))
        extra = {key: value for key, value in self.articulation.extra.items() if key != "made_by"}
        articulation = replace(self.articulation, extra={**extra, "made_by": {"tool": "by hand"}})
        write_annotation_file(self.loaded.path, articulation.to_yaml().encode())
        self.articulation = articulation


def mechanism_warnings(articulation: Articulation) -> list[str]:
    """Returns a line for each joint that must move before another one does, but that moves no part itself."""
    parts = {part.joint for part in articulation.parts.values()}
    return [
        f"mechanism '{name}': joint '{condition.by}' must move before '{condition.joint}' does, and it is the joint of "
        "no part: no skill can free it. Add its part, or remove the mechanism."
        for name, mechanism in articulation.mechanisms.items()
        for condition in mechanism.conditions()
        if parts.isdisjoint(coupled_joints(condition.by, articulation.mechanisms))
    ]


_DEEP_M = 0.005
"""A part that is less deep in the body has play, or a model that is not exact."""
_TOUCH_M = 0.001
"""A point that is less deep in the body lies on it."""
_CLOSED_POINTS, _CLOSED_RANGE = 0.01, 1 / 3
"""Models are often not exact where a part is closed. An overlap there counts only if it is more than this share of the
part's points, over this share of the range."""
_STEPS = 24
_HALVINGS = 6
_SPACINGS = 100
_LEAST_POINTS, _MOST_POINTS = 300, 6000
_MOST_PAIRS = 100_000
"""Pairs of a point of the part and a triangle of the body that are tried at one position, as far as there are enough
points."""
_NEAR_AXIS = 0.2
"""Points nearer to the axis than this share of the part's reach are left out: corners beside a hinge often overlap."""


def range_warnings(model: UrdfModel, articulation: Articulation) -> list[str]:
    """Returns a line for each part that moves into the body between closed and open.

    Only closed meshes have an inside. What is in the body where the part is freest does not count.
    """
    return [line for part in articulation.parts.values() for line in _part_warnings(model, articulation, part)]


def _part_warnings(model: UrdfModel, articulation: Articulation, part: Part) -> Iterator[str]:
    joint = model.joints[part.joint]
    held = {other.joint: other.openness.closed for other in articulation.parts.values()}
    moving = [name for name in model.links if model.is_below(name, joint.child)]
    moved = [other.child for other in model.joints.values() if other.moves]
    fixed = {name for name in model.links if not any(model.is_below(name, top) for top in moved)}
    body = sorted({*fixed, *rigid_links(model, joint.parent)})
    solids = SolidPieces(mesh.moved(model.link_pose(name, held)) for name in body for mesh in _link_meshes(model, name))
    meshes = [(name, join_meshes(_link_meshes(model, name))) for name in moving]
    meshes = [(name, mesh) for name, mesh in meshes if len(mesh.faces)]
    if not meshes or part.kind is PartKind.knob:  # a knob is round: where it overlaps, it does so at every position
        return
    most_points = int(np.clip(_MOST_PAIRS / max(1, solids.face_count), _LEAST_POINTS, _MOST_POINTS))
    spacing_m = max(float(np.max(mesh.extents)) for _, mesh in meshes) / _SPACINGS
    clouds = [(name, sample_surface(mesh, spacing_m=spacing_m, max_points=most_points)) for name, mesh in meshes]

    def points_at(position: float) -> np.ndarray:
        positions = {**held, joint.name: position}
        return np.concatenate([model.link_pose(name, positions) @ cloud for name, cloud in clouds])

    positions = [float(position) for position in np.linspace(part.openness.closed, part.openness.open, _STEPS + 1)]
    depths = np.stack([solids.depths(points_at(position)) for position in positions])  # (P, N)
    free = int(np.argmin((depths > _DEEP_M).sum(axis=1)))
    counts = depths[free] < _TOUCH_M
    if part.kind is not PartKind.slider:
        relative = model.link_pose(joint.child, held).inverse() @ points_at(held[joint.name])
        axis = joint.axis / np.linalg.norm(joint.axis)
        levers = np.linalg.norm(relative - np.outer(relative @ axis, axis), axis=1)
        counts &= levers >= _NEAR_AXIS * float(levers.max())
    deepest = depths[:, counts].max(axis=1, initial=0.0)
    shares = (depths[:free, counts] > _DEEP_M).mean(axis=1) if counts.any() else np.zeros(free)
    if np.sum(shares > _CLOSED_POINTS) < _CLOSED_RANGE * _STEPS:
        deepest[:free] = 0.0
    most = int(np.argmax(deepest))
    if deepest[most] <= _DEEP_M:
        return
    path = range(free, most + 1) if most > free else range(free, most - 1, -1)
    first = next(index for index in path if deepest[index] > _DEEP_M)
    begin = _find_begin(
        lambda position: bool(solids.depths(points_at(position))[counts].max() > _DEEP_M),
        positions[first + (1 if most < free else -1)],
        positions[first],
    )
    unit = "m" if part.kind is PartKind.slider else "rad"
    yield (
        f"{part.name} moves into the body: more than {1000 * _DEEP_M:g} mm deep from {begin:.3g} {unit} on, "
        f"{1000 * deepest[most]:.0f} mm deep at {positions[most]:.3g} {unit}. Correct the axis, place or range of "
        f"joint '{joint.name}'."
    )


def _find_begin(is_deep: Callable[[float], bool], free: float, deep: float) -> float:
    """Returns the position between a free and a deep one at which a part begins to be deep."""
    for _ in range(_HALVINGS):
        middle = (free + deep) / 2
        free, deep = (free, middle) if is_deep(middle) else (middle, deep)
    return deep


def _link_meshes(model: UrdfModel, name: str) -> list[TriangleMesh]:
    link = model.links[name]
    return [shape_mesh(shape).moved(shape.T_link_shape) for shape in link.collisions or link.visuals]
