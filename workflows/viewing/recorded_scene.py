"""The scene of a recorded episode: visible triangles of its links by colour, models posed by values of the record,
bodies with their poses in every frame, keypoints, forces and curves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.description import RobotCfg, base_pose
from unlatch.robots.models import model_path
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.mesh_reader import read_coloured_parts
from unlatch.simcore.meshes.obj_file import read_textured_surface
from unlatch.simcore.meshes.shape_surface import primitive_mesh
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import OBJECT_VIEWS
from unlatch.simcore.sim.visuals.pictures import framing_camera
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel, movable_joints
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.skills.commands import Phase
from unlatch.workflows.episode.assets import pin_side
from unlatch.workflows.episode.scene import stated_boxes
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.phase_moments import failure_notes, nothing_to_show, part_openings, with_what_frees
from unlatch.workflows.viewing.picture import Rgb
from unlatch.workflows.viewing.scene_picture import add_laid_out_state

Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, each from 0 to 1."""

_GREY: Colour = (0.75, 0.75, 0.75, 1.0)
_CREASE_RAD = 0.6
"""Faces that meet at a larger angle keep a sharp edge [rad]."""


@dataclass(frozen=True)
class MeshTexture:
    """A picture on a mesh; it is multiplied with the colour."""

    uvs: Array
    """(V, 2) coordinates in the picture: to the right, and upwards from the lower edge."""
    picture: bytes
    """A PNG or JPEG file."""


@dataclass(frozen=True)
class ColouredMesh:
    """Triangles of one colour, with or without a picture."""

    vertices: Array
    """(V, 3) in the link frame [m]; faces on two sides of a sharp edge share no vertices."""
    faces: Array
    """(F, 3) indices of vertices."""
    rgba: Colour
    texture: MeshTexture | None = None


def link_meshes(model: UrdfModel) -> dict[str, list[ColouredMesh]]:
    """Returns the visible triangles of every link: one mesh per colour, and one per surface with a picture.

    Raises:
        AssetError: A mesh cannot be read.
    """
    found = {}
    for name, link in model.links.items():
        by_colour: dict[Colour, list[tuple[Array, Array]]] = defaultdict(list)
        textured = []
        for shape in link.visuals:
            mesh = _textured_mesh(shape)
            if mesh is not None:
                textured.append(mesh)
                continue
            for rgba, vertices, faces in _list_parts(shape):
                by_colour[rgba].append((shape.T_link_shape @ vertices, faces))
        if by_colour or textured:
            found[name] = [*textured, *(_merge_pieces(pieces, rgba) for rgba, pieces in by_colour.items())]
    return found


def box_mesh(size_m: Array, rgba: Colour) -> ColouredMesh:
    """Returns a box with edges (3,) [m] about its centre."""
    box = primitive_mesh(ShapeKind.box, size_m.tolist())
    return _merge_pieces([(box.vertices, box.faces)], rgba)


def _textured_mesh(shape: Shape) -> ColouredMesh | None:
    """Returns the mesh of a visual with a colour and a picture from its own folder, or None."""
    if shape.path is None or shape.rgba is None:
        return None
    surface = read_textured_surface(shape.path, shape.path.parent)
    if surface is None:
        return None
    vertices = (shape.T_link_shape @ (surface.vertices * shape.size)).astype(np.float32)
    texture = MeshTexture(surface.uvs.astype(np.float32), surface.picture.read_bytes())
    return ColouredMesh(vertices, surface.faces.astype(np.uint32), shape.rgba, texture)


def _list_parts(shape: Shape) -> Iterator[tuple[Colour, Array, Array]]:
    """Yields colour, vertices (V, 3) in the frame of the shape and faces (F, 3) of every part of a shape."""
    if shape.kind is ShapeKind.mesh and shape.path is not None:
        # materials refer to further files: they are read only if the URDF states no colour
        for part in read_coloured_parts(shape.path, with_materials=shape.rgba is None):
            yield shape.rgba or part.rgba or _GREY, part.mesh.vertices * shape.size, part.mesh.faces
        return
    solid = primitive_mesh(shape.kind, shape.size)
    yield shape.rgba or _GREY, solid.vertices, solid.faces


def _merge_pieces(pieces: list[tuple[Array, Array]], rgba: Colour) -> ColouredMesh:
    """Returns pieces as one mesh in which faces on two sides of a sharp edge share no vertices."""
    import trimesh

    mesh = trimesh.util.concatenate([trimesh.Trimesh(*piece, process=False) for piece in pieces])
    mesh.merge_vertices(digits_vertex=5)  # a hundredth of a millimetre
    mesh.update_faces(mesh.nondegenerate_faces(height=1e-12))
    smooth = trimesh.graph.smooth_shade(mesh, angle=_CREASE_RAD, facet_minarea=None)
    return ColouredMesh(smooth.vertices.astype(np.float32), smooth.faces.astype(np.uint32), rgba)


@dataclass
class SceneModel:
    """A robot or an object in a pose, which stays until it is moved."""

    name: str
    """`robot/<robot>` or `object/<object>`."""
    meshes: Mapping[str, list[ColouredMesh]]
    """Visible triangles of each link."""
    model: UrdfModel
    root: Pose
    """Pose of the root link in the world frame."""
    positions: dict[str, float] = field(default_factory=dict)
    """Joint positions [rad or m]; missing ones are 0."""

    def move(self, joints: Iterable[str], positions: Iterable[float], root: Pose | None = None) -> None:
        """Sets positions of some joints [rad or m], and the pose of the root link; None: it stays."""
        self.positions.update(zip(joints, map(float, positions), strict=True))
        self.root = root or self.root

    def link_pose(self, link: str) -> Pose:
        """Returns the pose of a link in the world frame."""
        return self.root @ self.model.link_pose(link, self.positions)

    def frame_pose(self, part: Part, frame: str) -> Pose:
        """Returns the world pose of a part's frame `link`, `base` or another one, which is that of the root."""
        links = {"link": part.link, "base": part.base}
        return self.link_pose(links[frame]) if frame in links else self.root

    def link_poses(self) -> dict[str, Pose]:
        """Returns the pose of every visible link in the world frame."""
        poses = {self.model.root: self.root}
        joints_above = {joint.child: joint for joint in self.model.joints.values()}

        def find_pose(link: str) -> Pose:
            if link not in poses:
                joint = joints_above[link]
                poses[link] = find_pose(joint.parent) @ joint.child_pose(self.positions.get(joint.name, 0.0))
            return poses[link]

        return {link: find_pose(link) for link in self.meshes}


def robot_model(robot: RobotCfg) -> SceneModel:
    """Returns the model of a robot.

    Raises:
        AssetError: The robot is not available.
    """
    return SceneModel(f"robot/{robot.name}", *_read_robot(model_path(robot)), base_pose(robot))


@lru_cache(maxsize=4)
def _read_robot(path: Path) -> tuple[Mapping[str, list[ColouredMesh]], UrdfModel]:
    model = read_urdf(path, packages=True)
    return link_meshes(model), model


def object_model(name: str, asset: ObjectAsset) -> SceneModel:
    """Returns the model of an object.

    Raises:
        AssetError: A mesh cannot be read.
    """
    return SceneModel(f"object/{name}", link_meshes(read_urdf(asset.drawn_urdf())), asset.model, Pose.identity())


def load_assets(
    objects: list[ObjectCfg], layout: Mapping[str, Any], hashes: Mapping[str, str], *, number: int
) -> tuple[dict[str, ObjectAsset], list[str]]:
    """Loads the objects of an episode; returns them by name, and a line for each that has changed since.

    Args:
        objects: The objects of the configuration.
        layout: The layout of the record.
        hashes: The content hash of each object in the record.
        number: Number of the episode.
    """
    instances = layout.get("instances", {})
    assets, notices = {}, []
    for cfg in objects:
        drawn = instances.get(cfg.name, {}).get("instance", cfg.instance)
        # the generator draws nothing: the instance is known
        named = pin_side(cfg if drawn is None else cfg.with_instance(drawn), instances)
        asset = load_object(named, rng=np.random.default_rng(0), number=number)
        assets[cfg.name] = asset
        if hashes.get(cfg.name) != asset.content_hash:
            notices.append(
                f"object '{cfg.name}' ({asset.source} {asset.category} {asset.instance}) differs from the recorded "
                "one: it was changed, or another version made it; its shape may differ"
            )
    return assets, notices


FOV_DEG = 42.0
"""Vertical field of view of a page that is opened."""
_LOOKS_FROM = np.array([-0.72, -1.3, 0.7])
"""From the target to the eye, at the least distance [m]."""
_MARGIN = 1.1
_ELBOW_M = (-0.24, 0.0, 0.55)
"""Where the elbow of an arm that stands at the origin is at home."""


def choose_view(assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Returns eye and target (3,) [m]: from behind the robot's right shoulder, far enough for objects and hands."""
    middles, points = [], [array for key, array in arrays.items() if key.endswith((".tcp_position", ".ee_position"))]
    for name, asset in assets.items():
        pose = Pose.from_quat_xyzw(
            arrays[f"objects.{name}.root_position"][0], arrays[f"objects.{name}.root_quat_xyzw"][0]
        )
        middles.append(pose @ asset.bounds_obj.mean(axis=0))
        points.append(pose @ np.array([np.where(pick, *asset.bounds_obj) for pick in np.ndindex(2, 2, 2)]))
    points.append(np.array([_ELBOW_M]))
    whole = framing_camera(np.concatenate(points), _LOOKS_FROM, fov_deg=FOV_DEG, margin=_MARGIN)
    eye, target = np.array(whole.eye), np.array(whole.target)
    if np.linalg.norm(eye - target) > np.linalg.norm(_LOOKS_FROM):
        return eye, target
    target = 0.6 * np.mean(middles, axis=0) + 0.4 * np.array([0.12, 0.0, 0.5])
    return target + _LOOKS_FROM, target


_PHASE_NAMES = {phase.value: phase.name for phase in Phase}
_CONTACT_VIEWS: dict[str, tuple[str, Rgb, str]] = {
    "fingers_link": ("fingers on the moving part", (32, 150, 70), "tcp_position"),
    "fingers_base": ("fingers on the object's body", (240, 150, 20), "tcp_position"),
    "fingers": ("a finger, all contacts", (60, 120, 220), "tcp_position"),
    "forbid_collision": ("arm on the object", (215, 35, 35), "ee_position"),
    "environment": ("robot on its surroundings", (150, 60, 200), "ee_position"),
    "furniture": ("on furniture", (120, 120, 120), "root_position"),
    "other_objects": ("on other objects", (200, 110, 40), "root_position"),
}
"""Label, colour, and point of the arm or of the object for the mark, by the last word of a contact view. Views of an
object have its name before the label."""

_TABLE_RGBA, _PLINTH_RGBA = (0.83, 0.79, 0.72, 1.0), (0.45, 0.47, 0.5, 1.0)
POINT_RGB: Rgb = (250, 180, 20)
PATH_RGB: Rgb = (60, 110, 220)


@dataclass(frozen=True)
class ShownBody:
    """One rigid body: a link, a table."""

    name: str
    """Unique; slashes group bodies, as in `robot/panda_hand`."""
    meshes: tuple[ColouredMesh, ...]
    positions: Array
    """(T, 3) origin in the world frame [m]."""
    quats_xyzw: Array
    """(T, 4) orientation in the world frame."""

    @property
    def moves(self) -> bool:
        """Whether it ever leaves its first pose."""
        return bool(np.ptp(self.positions, axis=0).any() or np.ptp(self.quats_xyzw, axis=0).any())


@dataclass(frozen=True)
class ShownPoint:
    """A keypoint of the annotation."""

    name: str
    """`<object>/<part>/<keypoint>`."""
    label: str
    positions: Array
    """(T, 3) in the world frame [m]."""
    acted_on: bool = True
    """Whether a skill acted on its part; other parts have no labels."""


@dataclass(frozen=True)
class ShownForce:
    """The largest force of one contact view; the record has neither its point nor its direction."""

    name: str
    """Name of the view in the record."""
    label: str
    rgb: Rgb
    values_n: Array
    """(T,) largest force since the previous frame; 0 in the first [N]."""
    positions: Array
    """(T, 3) positions of its mark, at the tool or the hand, world frame [m]."""

    @cached_property
    def radii_m(self) -> Array:
        """(T,) radii of a ball whose volume shows the force: twice the width is eight times the force [m]."""
        return np.where(self.values_n > 0.1, 0.01 * np.cbrt(self.values_n), 0.0)  # smaller forces are not shown [N]


@dataclass(frozen=True)
class ShownCurve:
    """One value over time, beside the forces."""

    label: str
    unit: str
    values: Array
    """(T,)."""


@dataclass(frozen=True)
class RecordedScene:
    """Everything that a viewer shows of an episode."""

    title: str
    success: bool
    notes: tuple[str, ...]
    """Instruction and failure message, one line each."""
    times_s: Array
    """(T,) times from 0 on [s]."""
    phases: tuple[str, ...]
    """Name of the phase of each frame."""
    bodies: tuple[ShownBody, ...]
    points: tuple[ShownPoint, ...] = ()
    forces: tuple[ShownForce, ...] = ()
    curves: tuple[ShownCurve, ...] = ()
    tool_paths: Mapping[str, Array] = field(default_factory=dict)
    """Path (T, 3) of the point between the fingertips by arm, world frame [m]."""
    eye: Array = field(default_factory=lambda: np.array([-0.2, -1.3, 1.0]))
    """(3,) position of the camera, world frame [m]."""
    target: Array = field(default_factory=lambda: np.array([0.4, 0.0, 0.3]))
    """(3,) point that the camera looks at, world frame [m]."""


def read_scene(data_set: DataSet, number: int) -> tuple[RecordedScene, list[str]]:
    """Returns the scene of an episode, and one line for each thing that differs from the recording.

    Raises:
        RecordingError: The episode cannot be read or has no states.
        ConfigError, AssetError: Its robot or an object is not available.
    """
    cfg = config_of(data_set)
    record = add_laid_out_state(cfg, data_set.read(number))
    times = record.arrays.get("time")
    if times is None or len(times) == 0:
        raise nothing_to_show(record)
    robot = cfg.robot
    arrays = {key: _fill_gaps(array) for key, array in record.arrays.items() if array.dtype.kind == "f"}
    assets, notices = load_assets([cfg.object, *cfg.objects], record.layout, record.assets, number=number)
    bodies = [*fixed_bodies(record.layout, frames=len(times)), *robot_bodies(robot_model(robot), robot, arrays)]
    for name, asset in assets.items():
        bodies += object_bodies(object_model(name, asset), name, arrays)
    eye, target = choose_view(assets, arrays)
    numbers = record.arrays.get("skills.phase", np.zeros(len(times), dtype=int))
    acted_on = {f"{skill.get('object')}.{skill.get('part')}" for skill in record.skills}
    scene = RecordedScene(
        title=f"{cfg.task.name} · episode {number} · {record.outcome}",
        success=record.success,
        notes=(*record.language[:1], *failure_notes(record)),
        times_s=arrays["time"] - arrays["time"][0],
        phases=tuple(_PHASE_NAMES.get(int(number), str(int(number))) for number in numbers),
        bodies=tuple(bodies),
        points=tuple(shown_points(arrays, acted_on)),
        forces=tuple(shown_forces(robot, arrays)),
        curves=tuple(_shown_curves(record, assets, arrays)),
        tool_paths={arm.name: arrays[f"robots.{robot.name}.{arm.name}.tcp_position"] for arm in robot.arms},
        eye=eye,
        target=target,
    )
    return scene, notices


def fixed_bodies(layout: Mapping[str, Any], *, frames: int = 1) -> Iterator[ShownBody]:
    """Yields the table, or the floor and the robot's stand, and the plinths in the layout of a record."""
    for box in stated_boxes(layout.get("stand")):
        rgba = _PLINTH_RGBA if box.name.startswith("stand") else _TABLE_RGBA
        yield _fixed_body(box.name, box_mesh(np.array(box.size_m), rgba), box.T_world_box, frames)
    for name, place in layout.get("objects", {}).items():
        size, position = place.get("plinth_size_m"), place.get("plinth_position")
        if size is not None and position is not None:
            pose = Pose.from_quat_xyzw(position, place["plinth_quat_xyzw"])
            yield _fixed_body(f"plinth/{name}", box_mesh(np.array(size), _PLINTH_RGBA), pose, frames)


def _fixed_body(name: str, mesh: ColouredMesh, T_world_body: Pose, frames: int) -> ShownBody:
    return ShownBody(name, (mesh,), np.tile(T_world_body.p, (frames, 1)), np.tile(T_world_body.quat_xyzw, (frames, 1)))


def robot_bodies(model: SceneModel, robot: RobotCfg, arrays: Mapping[str, Array]) -> Iterator[ShownBody]:
    """Yields the visible links of a robot in the T states of arrays (T, ...) by the key of the record."""
    names: list[str] = []
    columns: list[Array] = []
    for arm in robot.arms:
        prefix = f"robots.{robot.name}.{arm.name}"
        names += [*arm.joints, *arm.gripper.joints]
        columns.append(arrays[f"{prefix}.joint_positions"])
        shared = np.array([arm.gripper.positions(float(opening)) for (opening,) in arrays[f"{prefix}.gripper_opening"]])
        columns.append(arrays.get(f"{prefix}.gripper_joint_positions", shared))
    yield from _moving_bodies(model, names, np.concatenate(columns, axis=1))


def object_bodies(model: SceneModel, name: str, arrays: Mapping[str, Array]) -> Iterator[ShownBody]:
    """Yields the visible links of an object in the T states of arrays (T, ...) by the key of the record.

    Raises:
        RecordingError: The record has another number of joints.
    """
    joints = movable_joints(model.model)
    positions = arrays[f"objects.{name}.joint_positions"]
    if positions.shape[1] != len(joints):
        raise RecordingError(
            f"Object '{name}' has {len(joints)} movable joints here ({', '.join(joints)}), the record has "
            f"{positions.shape[1]}. Expected the object that was recorded. Restore it.",
            object=name,
        )
    pairs = zip(arrays[f"objects.{name}.root_position"], arrays[f"objects.{name}.root_quat_xyzw"], strict=True)
    yield from _moving_bodies(model, joints, positions, [Pose.from_quat_xyzw(*pair) for pair in pairs])


def link_bodies(
    prefix: str, meshes: Mapping[str, Sequence[ColouredMesh]], poses: Mapping[str, Pose]
) -> Iterator[ShownBody]:
    """Yields links with meshes at one moment, named `PREFIX/LINK`, at their poses in the world frame."""
    for link, pieces in meshes.items():
        yield ShownBody(f"{prefix}/{link}", tuple(pieces), poses[link].p[None], poses[link].quat_xyzw[None])


def shown_points(arrays: Mapping[str, Array], acted_on: Collection[str]) -> Iterator[ShownPoint]:
    """Yields the keypoints of a record; `acted_on` has `object.part` of the parts that skills act on."""
    for key, positions in arrays.items():
        first, _, rest = key.partition(".")
        if first == "keypoints":
            part, _, point = rest.rpartition(".")
            yield ShownPoint(rest.replace(".", "/"), point, positions, part in acted_on)


def shown_forces(robot: RobotCfg, arrays: Mapping[str, Array]) -> Iterator[ShownForce]:
    """Yields the largest force of every contact view in each of the T states of a record."""
    first_arm = robot.arms[0].name
    known = list(_CONTACT_VIEWS)
    keys = [key for key in arrays if key.startswith("contacts.") and key.endswith(".force_max_n")]
    names = [key.removeprefix("contacts.").removesuffix(".force_max_n") for key in keys]
    for key in sorted(keys, key=lambda key: [view in key for view in known], reverse=True):
        values = arrays[key]
        name = key.removeprefix("contacts.").removesuffix(".force_max_n")
        words = name.split(".")
        label, rgb, point = _CONTACT_VIEWS.get(words[-1], (words[-1].replace("_", " "), (90, 90, 90), "ee_position"))
        arm = words[1] if len(words) > 2 else first_arm
        owner = f"robots.{robot.name}.{arm}"
        if words[-1] in OBJECT_VIEWS:
            owner, label = f"objects.{words[0]}", f"{words[0]} {label}"
        elif len(words) > 2:
            label += _tell_apart(words, [other.split(".") for other in names if other.endswith(f".{words[-1]}")])
        places = arrays[f"{owner}.{point}"]
        # a force between two frames belongs to the later one
        yield ShownForce(name, label, rgb, np.concatenate([np.zeros(1), values])[: len(places)], places)


def _tell_apart(words: Sequence[str], alike: Sequence[Sequence[str]]) -> str:
    """Returns the words of a name, after a comma each, in which it differs from others of the same view."""
    places = range(len(words) - 1)
    differ = [at for at in places if len({tuple(other[at : at + 1]) for other in alike}) > 1]
    return "".join(f", {words[at].replace('_', ' ')}" for at in differ)


def _moving_bodies(
    model: SceneModel, joints: Sequence[str], positions: Array, roots: Sequence[Pose] | None = None
) -> Iterator[ShownBody]:
    """Yields the visible links of a model, posed by joint positions (T, n)."""
    frames = []
    for frame, row in enumerate(positions):
        model.move(joints, row, None if roots is None else roots[frame])
        frames.append(model.link_poses())
    for link, meshes in model.meshes.items():
        points = np.array([poses[link].p for poses in frames])
        turns = np.array([poses[link].quat_xyzw for poses in frames])
        yield ShownBody(f"{model.name}/{link}", tuple(meshes), points, turns)


def _shown_curves(
    record: EpisodeRecord, assets: Mapping[str, ObjectAsset], arrays: Mapping[str, Array]
) -> Iterator[ShownCurve]:
    """Yields how far open the parts are that a skill acted on, and those that free them."""
    acted = [
        skill
        for skill in record.skills
        if skill.get("joint_index") is not None and f"objects.{skill['object']}.joint_positions" in arrays
    ]
    for entry in with_what_frees(record, acted, assets):
        owner, part = entry["object"], entry["part"]
        unit = assets[owner].model.joints[assets[owner].articulation.part(part).joint].unit
        label = part if part == owner else f"{part} of {owner}"
        yield ShownCurve(label, unit, _fill_gaps(part_openings(record, entry)))


def _fill_gaps(array: Array) -> Array:
    """Replaces rows that are not finite with the last finite row: a diverged episode ends with such rows."""
    if not len(array) or np.isfinite(array).all():
        return array
    good = np.isfinite(array.reshape(len(array), -1)).all(axis=1)
    last = np.maximum.accumulate(np.where(good, np.arange(len(array)), -1))
    return np.where(good.any(), array[np.maximum(last, int(np.argmax(good)))], 0.0)
