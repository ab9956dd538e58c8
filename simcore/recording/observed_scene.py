"""The inputs of observations beside the arrays of a record: acted parts, their geometry, and points that
cameras see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import AssetError, RecordingError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, draw_surface_points, join_meshes
from unlatch.simcore.recording.modality import DEPTH, DISTANCE, PointSurface
from unlatch.simcore.rng import stream, sum_in_order
from unlatch.simcore.urdf.model import UrdfModel


@dataclass(frozen=True)
class PartGeometry:
    """One part of an object; vectors are in the frame of its link unless they say otherwise."""

    kind: str
    """How the part moves, one of `ObservedScene.part_kinds`."""
    link: str
    """URDF link of the part."""
    joint: str
    """URDF joint that moves it."""
    slides: bool
    """Whether the joint is prismatic."""
    closed: float
    """Joint position of the closed part [rad or m]."""
    open: float
    """Joint position of the fully open part [rad or m]."""
    limits: tuple[float, float]
    """Lower and upper limit of the joint [rad or m]; for a joint without limits, the lesser and greater of `closed` and
    `open`."""
    T_link_box: Pose
    """Centre of the box around the part, handle included; x out of the part, z along the grip."""
    box_size: Array
    """(3,) extents of that box along its x, y and z [m]."""
    hinge_point: Array
    """(3,) point on the axis of the joint nearest to the grip [m]; for a part that slides, the grip."""
    hinge_axis: Array
    """(3,) unit direction of the joint; the part opens by a positive turn about it or a motion along it."""
    T_link_grip: Pose
    """Centre of what the fingers hold; x out of the part, z along the handle. Without a handle: the keypoint at which a
    hand acts."""
    grip_type: str
    """What the fingers hold, one of `ObservedScene.grip_types`."""
    grip_size: Array
    """(3,) depth, thickness and length of what the fingers hold, along its x, y and z [m]; 0 without a handle."""

    @property
    def sign(self) -> float:
        """+1 if the position of the joint grows as the part opens, else -1."""
        return 1.0 if self.open >= self.closed else -1.0


@dataclass(frozen=True)
class ObservedObject:
    """One articulated object."""

    model: UrdfModel
    """Links, joints and shapes."""
    joints: tuple[str, ...]
    """Names of the movable joints, in the order of `objects.<object>.joint_positions`."""
    bounds: Array
    """(2, 3) lower and upper corner of the closed object in its root link frame [m]; x is its front, z is up."""
    parts: Mapping[str, PartGeometry]
    """Its annotated parts by name."""

    def link_pose(self, link: str, positions: Array) -> Pose:
        """Returns the frame of a link in the root link frame at (m,) positions of the movable joints [rad or m]."""
        return self.model.link_pose(link, dict(zip(self.joints, map(float, positions), strict=True)))


@dataclass(frozen=True)
class ActedPart:
    """The part that one skill acts on; of a skill that carries an object, that of the next skill that moves one, or
    else of the last.
    """

    skill: str
    """Name of the skill."""
    object: str
    part: str
    joint_index: int
    """Column of its joint in `objects.<object>.joint_positions`."""
    closed: float
    """Joint position of the closed part [rad or m]."""
    open: float
    """Joint position of the fully open part [rad or m]."""
    carried: str | None = None
    """The object that the skill carries; None: it moves the part."""

    @property
    def span(self) -> float:
        """Distance from closed to fully open [rad or m]."""
        return abs(self.open - self.closed)

    def opening(self, positions: Array) -> Array:
        """Returns how far the part is from closed, towards open [rad or m], for (T, m) positions of the joints."""
        return (positions[:, self.joint_index] - self.closed) * (1.0 if self.open >= self.closed else -1.0) + 0.0


def recorded_parts(skills: Sequence[Mapping[str, Any]], *, number: int) -> list[ActedPart]:
    """Returns the part of each entry of `skills` in a record.

    Raises:
        RecordingError: An entry is incomplete, or no entry names a part.
    """
    types = {"object": str, "part": str, "joint_index": int, "s_closed": float, "s_open": float}
    found = []
    for index, entry in enumerate(skills):
        nearest = (other for other in (*skills[index:], *reversed(skills)) if other.get("part") is not None)
        part = next(nearest, entry)
        try:
            carried = None if part is entry else str(entry["object"])
            values = (convert(part[key]) for key, convert in types.items())
            found.append(ActedPart(*(str(entry["name"]), *values, carried)))
        except (KeyError, TypeError, ValueError) as exc:
            raise RecordingError(
                f"Episode {number} has a skill '{entry.get('name')}' without a part ({exc}). The columns of the task "
                "need object, part, joint_index, s_closed and s_open. Leave the episode out by only=[...], or "
                "choose other values of state.",
                number=number,
            ) from exc
    return found


@dataclass(frozen=True)
class CameraFrame:
    """What one camera sees in one frame."""

    camera: str
    """Name of the camera."""
    optics: Pinhole | Fisheye
    """Size of its images and lens."""
    T_world_camera: Pose
    """Pose of its frame (x right, y down, z forward)."""
    lengths_m: Array
    """(H, W) depth of a pinhole camera, distance of a fisheye, infinite where nothing is seen [m]."""
    links: Array
    """(H, W) index of the visible link in `labels`."""
    labels: Sequence[str]
    """`<object>/<link>` of every link."""


def length_kind(optics: Pinhole | Fisheye) -> str:
    """Returns the kind of image that holds the lengths of a view: `depth`, or `distance` for a fisheye."""
    return DEPTH if isinstance(optics, Pinhole) else DISTANCE


class CameraCloud:
    """Points of one object in the images of cameras.

    The pixels that show the object have a random order, and the first n of them become points. The order comes from one
    number per pixel, drawn once for an episode, so that a camera that stands still keeps its points. A pixel that shows
    a larger patch comes earlier: points are spread evenly over what the cameras see, however near a camera is.
    """

    def __init__(self, item: ObservedObject, name: str, n: int, *, seed: int) -> None:
        """Takes the object.

        Args:
            item: The object.
            name: Its name, with which the labels of its links begin.
            n: Number of points.
            seed: Seed of the episode; orders the pixels.
        """
        self._item, self._name, self._n, self._seed = item, name, n, seed
        self._draws: dict[str, Array] = {}

    def points(self, views: Sequence[CameraFrame], part: str, T_base_world: Pose) -> Array:
        """Returns the points of one frame; (n, 4) float32.

        Each has x, y, z in the base frame of the arm [m], then 1 if the joint of the part moves it, else 0. If fewer
        than n pixels show the object, points are repeated; if none does, all numbers are 0.

        Args:
            views: What every camera sees, in any order.
            part: The part that is acted on.
            T_base_world: World frame in the base frame of the arm.
        """
        model = self._item.model
        top = model.joints[self._item.parts[part].joint].child
        on_part = {f"{self._name}/{link}" for link in model.links if model.is_below(link, top)}
        found, turns = [np.zeros((0, 4))], [np.zeros(0)]
        for view in sorted(views, key=lambda each: each.camera):
            rows, columns, turn = self._first_pixels(view)
            lengths = view.lengths_m[rows, columns].astype(float)
            at_camera = view.optics.rays_at(columns, rows) * lengths[:, None]
            label = np.array([each in on_part for each in view.labels])[view.links[rows, columns]]
            found.append(np.column_stack([T_base_world @ view.T_world_camera @ at_camera, label]))
            turns.append(turn)
        order = np.argsort(np.concatenate(turns), kind="stable")[: self._n]
        if not len(order):
            return np.zeros((self._n, 4), dtype=np.float32)
        return np.concatenate(found)[np.resize(order, self._n)].astype(np.float32)

    def _first_pixels(self, view: CameraFrame) -> tuple[Array, Array, Array]:
        """Returns rows, columns and turns of the first pixels of a view that show the object, at most n."""
        own = np.array([label.startswith(f"{self._name}/") for label in view.labels])
        rows, columns = np.nonzero(own[view.links] & np.isfinite(view.lengths_m) & (view.lengths_m > 0.0))
        if view.camera not in self._draws:
            rng = stream(self._seed, f"points.{self._name}.{view.camera}")
            self._draws[view.camera] = rng.exponential(size=view.links.shape)
        patch = view.lengths_m[rows, columns].astype(float) ** 2 / (view.optics.fx * view.optics.fy)  # [m^2]
        # exponential waiting times at rates of these areas: each next pixel is drawn in proportion to its area
        turns = self._draws[view.camera][rows, columns] / patch
        if len(turns) > self._n:
            first = np.argpartition(turns, self._n)[: self._n]
            rows, columns, turns = rows[first], columns[first], turns[first]
        return rows, columns, turns


@dataclass(frozen=True)
class ObservedScene:
    """The inputs of observations beside the arrays of a record."""

    bases: Mapping[str, Pose]
    """`T_world_base` of every arm by name."""
    skills: tuple[str, ...]
    """Kinds of skills that move an arm, in the order of the column `skill`."""
    motionless_skills: tuple[str, ...]
    """Skills that move nothing and end at once; the next skill counts in their place."""
    counted_as: Mapping[str, str]
    """Skills that count as another one in the column `skill`."""
    keypoints: tuple[str, ...]
    """Names of the keypoints that every part has."""
    part_kinds: tuple[str, ...]
    """How parts move, in the order of the column `geometry`."""
    grip_types: tuple[str, ...]
    """What fingers hold, in the order of the column `geometry`."""
    seed: int
    """Seed of the episode; draws the points of point clouds."""
    load_object: Callable[[str], ObservedObject] = field(repr=False)
    """Returns an object by name; called only where a column needs it."""
    _clouds: dict[tuple[Any, ...], SurfaceCloud] = field(default_factory=dict, init=False, repr=False)

    _camera_clouds: dict[tuple[str, int], CameraCloud] = field(default_factory=dict, init=False, repr=False)

    def cloud(self, part: ActedPart, n: int, surface: PointSurface, part_share: float | None) -> SurfaceCloud:
        """Returns n points on the surface of the object of a part; they are drawn once.

        `part_share`: share of the points that lie on the part; None: the density is the same everywhere.
        """
        share: dict[str, Any] = {} if part_share is None else {"part": part.part, "part_share": part_share}
        key = (part.object, n, surface, *share.values())
        if key not in self._clouds:
            item, rng = self.load_object(part.object), stream(self.seed, f"points.{part.object}")
            self._clouds[key] = SurfaceCloud(item, n, surface=surface, rng=rng, **share)
        return self._clouds[key]

    def camera_cloud(self, name: str, n: int) -> CameraCloud:
        """Returns what makes n points of an object from the images of cameras."""
        if (name, n) not in self._camera_clouds:
            self._camera_clouds[name, n] = CameraCloud(self.load_object(name), name, n, seed=self.seed)
        return self._camera_clouds[name, n]


_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class GeometryEntry:
    """Some numbers of the column `geometry`."""

    name: str
    words: tuple[str, ...]
    """Endings of the names of its numbers; empty: one number. `kinds` and `types` stand for those of the scene."""
    unit: str
    meaning: str
    """What the numbers mean, and their frame."""

    def table_row(self) -> str:
        """Returns the row of this entry in the table of the page."""
        own = {"kinds": "a kind of part", "types": "a type of grip"}
        words = ", ".join(own.get(word, f"`{word}`") for word in self.words)
        return f"| `{self.name}` | {words or 'one number'} | {self.unit} | {self.meaning} |"


GEOMETRY: tuple[GeometryEntry, ...] = (
    GeometryEntry("body.center", _AXES, "m", "Centre of the box around the closed object, base frame of the arm."),
    GeometryEntry("body.front", _AXES, "-", "Direction out of the object's front, base frame of the arm."),
    GeometryEntry(
        "body.size", ("depth", "width", "height"), "m", "Extents of that box along the front, across it and upwards."
    ),
    GeometryEntry(
        "part.center", _AXES, "m", "Centre of the box around the part, handle included, base frame of the arm."
    ),
    GeometryEntry("part.normal", _AXES, "-", "Direction out of the plane of the part, base frame of the arm."),
    GeometryEntry(
        "part.size",
        ("depth", "across", "along"),
        "m",
        "Extents of that box along the normal, across and along the grip.",
    ),
    GeometryEntry("part.kind", ("kinds",), "-", "1 for the kind of the part, 0 for the other kinds."),
    GeometryEntry(
        "hinge.point",
        _AXES,
        "m",
        "Point on the axis of the joint nearest to the grip, base frame of the arm. For a part that slides: the grip.",
    ),
    GeometryEntry(
        "hinge.axis",
        _AXES,
        "-",
        "Axis of the joint, base frame of the arm. The part opens by a positive turn about it, or a motion along it.",
    ),
    GeometryEntry("hinge.slides", (), "-", "1 if the part slides along the axis, 0 if it turns about it."),
    GeometryEntry("joint.opening", (), "rad or m", "How far the part is from closed, towards open."),
    GeometryEntry("joint.span", (), "rad or m", "Distance from closed to fully open."),
    GeometryEntry(
        "joint.limits",
        ("least", "most"),
        "rad or m",
        "Least and largest opening that the limits of the joint allow; for a joint without limits, 0 and the span.",
    ),
    GeometryEntry(
        "grip.center",
        _AXES,
        "m",
        "Centre of what the fingers hold, base frame of the arm. Without a handle: the keypoint at which a hand acts.",
    ),
    GeometryEntry("grip.out", _AXES, "-", "Direction from the part to a hand that holds it, base frame of the arm."),
    GeometryEntry(
        "grip.along",
        _AXES,
        "-",
        "Direction along the handle or edge, base frame of the arm. Of a closed object: left, up or to the front.",
    ),
    GeometryEntry(
        "grip.size",
        ("depth", "thickness", "length"),
        "m",
        "Extents of what the fingers hold: away from the part, across and along it. 0 without a handle.",
    ),
    GeometryEntry("grip.type", ("types",), "-", "1 for what the fingers hold, 0 for the other types."),
)
"""The numbers of the column in their order. The site has the same table on the page of exports."""


def geometry_names(scene: ObservedScene) -> tuple[str, ...]:
    """Returns the names of the numbers, such as `geometry.hinge.point.x`."""
    words = {"kinds": scene.part_kinds, "types": scene.grip_types}
    names: list[str] = []
    for entry in GEOMETRY:
        endings = [word for each in entry.words for word in words.get(each, (each,))]
        names += [f"geometry.{entry.name}.{word}" for word in endings] or [f"geometry.{entry.name}"]
    return tuple(names)


def geometry_values(
    scene: ObservedScene, item: ObservedObject, name: str, T_base_root: Pose, positions: Array
) -> Array:
    """Returns the numbers of one frame, in the order of `geometry_names`.

    Args:
        scene: Gives the order of the kinds.
        item: The object.
        name: The part of it that the arm acts on.
        T_base_root: Root link frame of the object in the base frame of the arm.
        positions: (m,) positions of the object's movable joints [rad or m].
    """
    part = item.parts[name]
    T_base_link = T_base_root @ item.link_pose(part.link, positions)
    T_base_box, T_base_grip = T_base_link @ part.T_link_box, T_base_link @ part.T_link_grip
    lower, upper = item.bounds
    openings = [part.sign * (s - part.closed) for s in (float(positions[item.joints.index(part.joint)]), *part.limits)]
    return np.concatenate(
        [
            T_base_root @ ((lower + upper) / 2),
            T_base_root.R[:, 0],
            upper - lower,
            T_base_box.p,
            T_base_box.R[:, 0],
            part.box_size,
            [float(part.kind == each) for each in scene.part_kinds],
            T_base_link @ part.hinge_point,
            T_base_link.rotate(part.hinge_axis),
            [float(part.slides), openings[0], abs(part.open - part.closed), *sorted(openings[1:])],
            T_base_grip.p,
            T_base_grip.R[:, 0],
            T_base_grip.R[:, 2],
            part.grip_size,
            [float(part.grip_type == each) for each in scene.grip_types],
        ]
    )


class SurfaceCloud:
    """Points on all links of an object, each fixed to its link.

    Their density is the same everywhere, or a share of them lies on one part.
    """

    def __init__(
        self,
        item: ObservedObject,
        n: int,
        *,
        surface: PointSurface,
        rng: np.random.Generator,
        part: str | None = None,
        part_share: float = 0.5,
    ) -> None:
        """Draws the points.

        Args:
            item: The object.
            n: Number of points.
            surface: Shapes that are used; a link that has none gives its other shapes.
            rng: Draws the points.
            part: Name of a part on which a share of the points lies; None: the density is the same everywhere.
            part_share: That share, 0 to 1; it counts all links that the joint of the part moves.

        Raises:
            AssetError: The object has no surface, or a mesh cannot be read.
        """
        model = item.model
        meshes: dict[str, list[TriangleMesh]] = {}
        for name, link in model.links.items():
            moving, T_moving_link = _moving_link(model, name)
            visual = link.visuals or link.collisions
            shapes = visual if surface is PointSurface.visual else link.collisions or link.visuals
            found = [shape_mesh(shape).moved(T_moving_link @ shape.T_link_shape) for shape in shapes]
            meshes.setdefault(moving, []).extend(found)
        self._item = item
        self._links = list(meshes)
        whole = [join_meshes(meshes[name]) for name in self._links]
        if not any(mesh.area for mesh in whole):
            raise AssetError(f"'{model.name}' has no surface. Expected visuals or colliders. Set point_cloud=0.")
        on_part = np.zeros(len(whole), dtype=bool) if part is None else self._moved_by(part)
        groups = [np.flatnonzero(on_part), np.flatnonzero(~on_part)]
        areas = [sum_in_order(whole[index].area for index in group) for group in groups]
        n_part = 0 if not areas[0] else n if not areas[1] else round(n * part_share)
        points, owners = [], []
        for group, count in zip(groups, (n_part, n - n_part), strict=True):
            if count:
                drawn, faces = draw_surface_points(join_meshes(whole[index] for index in group), count, rng)
                points.append(drawn)
                owners.append(np.repeat(group, [len(whole[index].faces) for index in group])[faces])
        self._points, self._owners = np.concatenate(points), np.concatenate(owners)
        self._places = [np.flatnonzero(self._owners == index) for index in range(len(self._links))]

    def positions(self, positions: Array, T_base_root: Pose) -> Array:
        """Returns the points (n, 3) in the frame in which the root link has the pose `T_base_root` [m].

        Args:
            positions: (m,) positions of the object's movable joints [rad or m].
            T_base_root: Pose of its root link.
        """
        found = np.empty_like(self._points)
        for link, places in zip(self._links, self._places, strict=True):
            if len(places):
                found[places] = (T_base_root @ self._item.link_pose(link, positions)) @ self._points[places]
        return found

    def on_part(self, part: str) -> Array:
        """Returns (n,) whether the joint of a part moves each point."""
        return self._moved_by(part)[self._owners]

    def _moved_by(self, part: str) -> Array:
        """Returns for every moving link whether the joint of a part moves it."""
        model = self._item.model
        top = model.joints[self._item.parts[part].joint].child
        return np.array([model.is_below(link, top) for link in self._links])


def _moving_link(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the root or the child of the nearest movable joint above a link, and the link's frame in its frame."""
    T_moving_link = Pose.identity()
    for joint in model.joints_above(link):
        if joint.moves:
            return joint.child, T_moving_link
        T_moving_link = joint.T_parent_joint @ T_moving_link
    return model.root, T_moving_link
