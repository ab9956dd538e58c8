"""Chooses the camera that shows best how hands move parts: it compares the visible pixels of hand and part."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.visuals.pictures import (
    LookAtCamera,
    framing_camera,
    project_points,
    take_picture,
    visible_links,
)
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Rendering
from unlatch.skills.commands import Phase
from unlatch.workflows.episode.visual_views import cameras, seen_corners
from unlatch.workflows.viewing.phase_moments import find_rounds, last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld, whole_view

_HELD_AT, _PUSHED_AT = "articulated_object_head", "link_contact_point"


@dataclass(frozen=True)
class ActedItem:
    """What a skill acts on, and with which hand."""

    item: SceneObject
    """The object."""
    link: str
    """Link of the object that is acted on: that of the part, or of the fixed handle that the hand holds."""
    point_key: str
    """Array of the record, (T+1, 3): the point that the hand acts on, in the world frame [m]."""
    arm_key: str
    """Prefix of the arrays of the arm."""
    fingers: frozenset[str]
    """Labels of the fingers, `<body>/<link>`."""

    @property
    def label(self) -> str:
        """Label of the link, `<body>/<link>`."""
        return self.item.body.label(self.item.body.link_index(self.link))


def find_acted_part(shown: RecordedWorld, skill: int) -> ActedItem:
    """Returns what a skill of an episode acts on.

    Args:
        shown: The recorded episode.
        skill: Index into the skills of the record.
    """
    cfg, scene, entry = shown.episode.cfg, shown.episode.scene, shown.record.skills[skill]
    arm = scene.robot.arm(entry.get("arm", cfg.skills[entry.get("entry", skill)].arm))
    item, part = scene.objects[entry["object"]], entry["part"]
    if part is None:
        link, key = item.asset.model.root, f"objects.{entry['object']}.root_position"
    else:
        point = _HELD_AT if entry.get("finger_contact_required", True) else _PUSHED_AT
        link, key = item.asset.articulation.part(part).link, f"keypoints.{entry['object']}.{part}.{point}"
    arm_key = f"robots.{cfg.robot.name}.{arm.name}"
    if "link" in entry:
        link, key = entry["link"], f"{arm_key}.tcp_position"
    fingers = frozenset(f"{cfg.robot.name}/{name}" for name in arm.cfg.gripper.finger_links)
    return ActedItem(item, link, key, arm_key, fingers)


Array = np.ndarray
Direction = tuple[float, float, float]

_MARGIN_M = 0.05
"""Margin around each point that must be in the picture: half the width of a hand [m]."""
_PROBE_PX = (96, 72)
"""Width and height of the pictures in which visible pixels are counted."""


@dataclass(frozen=True)
class Subject:
    """What should be visible in one recorded frame."""

    frame: int
    """State frame."""
    fingers: frozenset[str]
    """Labels of the links that act, `<body>/<link>`."""
    part: str
    """Label of the link that they act on."""
    in_contact: bool = True
    """Whether the hand is at the part, so that it should be visible, too."""


def choose_best_view(
    world: World,
    show: Callable[[int], None],
    *,
    subjects: Sequence[Subject],
    points_world: Array,
    directions: Mapping[Direction, float],
    motions: Collection[tuple[Array, Array]] = (),
    fov_deg: float,
    aspect: float,
    margin: float = 1.0,
    near_points_world: Array | None = None,
) -> LookAtCamera:
    """Returns the camera that shows hands and parts best over all subjects.

    A direction scores by the visible pixels of the part and of the hand, each relative to the direction that shows most
    of it. A part that is seen edge-on has few pixels, and so has one that is hidden.

    Args:
        world: The world of the scene, with visual shapes.
        show: Sets the world to a recorded frame.
        subjects: What should be visible in which frame; at least one.
        points_world: (K, 3) points that must be in the picture [m].
        directions: Directions from the scene to the camera in the world frame, with their weights.
        motions: Where points of the parts are before and after a motion, (3,) each [m]; the motion should be visible.
        fov_deg: Vertical field of view [deg].
        aspect: Width over height of the picture.
        margin: See `framing_camera`.
        near_points_world: (K, 3) points of hands and parts, where visible pixels are counted [m]; None: the whole
            picture. Of a picture of a whole robot, too few pixels show a hand.
    """
    around = _MARGIN_M * np.array(list(product((-1.0, 1.0), repeat=3)))  # (8, 3)
    points = (points_world[:, None] + around).reshape(-1, 3)
    views = [framing_camera(points, each, fov_deg=fov_deg, aspect=aspect, margin=margin) for each in directions]
    counted = views if near_points_world is None else [_zoom_in(view, near_points_world) for view in views]
    seen = np.zeros((len(views), len(subjects), 2))
    for frame in sorted({subject.frame for subject in subjects}):
        show(frame)
        for row, view in enumerate(counted):
            pixels = visible_links(world, view, width=_PROBE_PX[0], height=_PROBE_PX[1])
            for column, subject in enumerate(subjects):
                if subject.frame == frame:
                    of_hand = sum(pixels.get(label, 0) for label in subject.fingers)
                    seen[row, column] = of_hand, pixels.get(subject.part, 0)
    shares = seen / np.maximum(seen.max(axis=0, keepdims=True), 1.0)  # relative to the best view of the frame
    of_fingers, of_part = shares[:, :, 0], shares[:, :, 1]
    contact = np.array([subject.in_contact for subject in subjects])
    shown = np.where(contact, np.sqrt(of_fingers * of_part), of_part)
    # a geometric mean: the part should be seen in every picture; one picture does not make up for another
    # what is hidden counts as this share of the most that a camera sees of it
    typical = np.exp(np.log(shown + 0.02).mean(axis=1))
    # the frame that shows the least of the hand counts too: the hand should be seen in every picture
    least = of_fingers[:, contact].min(axis=1) if contact.any() else 0.0
    # weight of the part's motion in the picture, beside 1 for what is visible of hand and part
    scores = typical + least + 0.5 * _motion_shares(views, motions)
    return views[int(np.argmax(scores * np.array(list(directions.values()))))]


def _zoom_in(view: LookAtCamera, points_world: Array) -> LookAtCamera:
    """Returns a camera at the same place that shows some points (K, 3) as large as possible."""
    target = (points_world.min(axis=0) + points_world.max(axis=0)) / 2
    axis, rays = target - np.array(view.eye), points_world - np.array(view.eye)
    cosines = rays @ axis / (np.linalg.norm(rays, axis=1) * np.linalg.norm(axis))
    angle = float(np.rad2deg(np.arccos(np.clip(cosines.min(), -1.0, 1.0))))
    return LookAtCamera(view.eye, tuple(target.tolist()), min(2.0 * angle, view.fov_deg))


def _motion_shares(views: Sequence[LookAtCamera], motions: Collection[tuple[Array, Array]]) -> Array:
    """Returns how far the points move in the picture of each view, relative to the view with most; (V,) in 0 to 1."""
    width, height = _PROBE_PX
    total: Array = np.zeros(len(views))
    for motion in motions:
        moved = [np.ptp(project_points(view, np.stack(motion), width=width, height=height), axis=0) for view in views]
        lengths = np.linalg.norm(moved, axis=1)
        total += lengths / max(float(lengths.max()), 1.0)
    return total / max(len(motions), 1)


OVERVIEW = "overview"
CLOSE = "close"
VIEWS = {
    OVERVIEW: "the whole robot and the objects",
    CLOSE: "the objects, and the hands in the whole episode",
}
"""Views that are no cameras of a configuration."""
_AZIMUTHS_DEG = {30: 0.9, 48: 1.0, 66: 1.0, 85: 0.94, 120: 0.84}
"""Angles of the camera's direction around the vertical axis, to both sides of the direction behind the robot, with
their weights: the object is recognized best over the robot's shoulders, as most tasks turn its front to the robot."""
_ELEVATIONS_DEG = {25: 1.0, 45: 0.95}
"""Angles of the camera's direction above the horizon, with their weights."""
_FRAMES_APART = 10
"""A hand moves by less than its length from one frame to the next that is looked at."""
_FOV_DEG = 32.0
_MARGIN = 1.02


def view_taker(shown: RecordedWorld, name: str, *, width: int, height: int) -> Callable[[], Array]:
    """Returns a function that takes a picture (height, width, 3) uint8 of the shown state.

    Args:
        shown: The recorded episode.
        name: One of `VIEWS`, or of a camera, which must then be the only one in the scene.
        width: Of the pictures of a view [pixels]; a camera has its own size.
        height: Of the pictures of a view [pixels].
    """
    if name not in VIEWS:
        (camera,) = cameras(shown.episode.scene)
        camera.switch_rendering(Rendering.rgb, on=True)

        def take_image() -> Array:
            camera.update_state()
            return camera.image(Rendering.rgb)

        return take_image
    aspect = width / height
    view = choose_view(shown, whole_robot=name == OVERVIEW, aspect=aspect)
    return lambda: take_picture(shown.world, view, width=width, height=height, fine=False)


def choose_view(shown: RecordedWorld, *, whole_robot: bool, aspect: float) -> LookAtCamera:
    """Returns a camera from which the parts that move and the hands at them are visible in the whole episode.

    It depends on the record alone. If no arm moved, it is the camera of scenes at their start.

    Args:
        shown: The recorded episode.
        whole_robot: Whether the whole robot is in the picture, or the hands and the objects alone.
        aspect: Width over height of the pictures.
    """
    skills = _acting_frames(shown.record)
    if not skills:
        return whole_view(shown.episode.scene, aspect=aspect)
    arrays, last = shown.record.arrays, last_finite_frame(shown.record)
    subjects, motions, near = [], [], []
    for skill, frames in skills.items():
        acted = find_acted_part(shown, skill)
        subjects += [Subject(frame, acted.fingers, acted.label) for frame in frames]
        # a closed part shows its face alone: it should be seen before it opens
        subjects += [Subject(frame, acted.fingers, acted.label, in_contact=False) for frame in (0, last)]
        if "link" not in shown.record.skills[skill]:  # a fixed handle does not move
            motions.append((arrays[acted.point_key][0], arrays[acted.point_key][frames[-1]]))
        near.append(arrays[f"{acted.arm_key}.tcp_position"][frames])
        for frame in (0, *frames, last):
            shown.show(frame)
            near.append(_corners(acted.item.body.link_aabb(acted.link)))
    shown_frames = sorted({0, last, *(subject.frame for subject in subjects)})
    return choose_best_view(
        shown.world,
        shown.show,
        subjects=subjects,
        points_world=_framed_points(shown, shown_frames, whole_robot=whole_robot),
        directions=_directions(),
        motions=motions,
        fov_deg=_FOV_DEG,
        aspect=aspect,
        margin=_MARGIN,
        near_points_world=np.concatenate(near),
    )


def _acting_frames(record: EpisodeRecord) -> dict[int, list[int]]:
    """Returns, by skill, the frames in which its hand is at the part: as the part begins to move and has moved."""
    found: dict[int, list[int]] = {}
    for item in find_rounds(record):
        moments = [moment for moment in item.moments if moment.phase in (Phase.grasp, Phase.follow)] or item.moments
        if moments:
            found.setdefault(item.skill, []).extend(moment.frame for moment in (moments[0], moments[-1]))
    return {skill: sorted({frames[0], frames[-1]}) for skill, frames in found.items()}


def _framed_points(shown: RecordedWorld, frames: Sequence[int], *, whole_robot: bool) -> Array:
    """Returns points (K, 3) in the world frame that a picture of an episode must show [m]."""
    scene, last = shown.episode.scene, last_finite_frame(shown.record)
    robot, arms = scene.robot.body, [arm.cfg for arm in scene.robot.arms.values()]
    # beside what is as large as in a shop, an arm on its stand is small: cut by an edge, it would look like a mistake
    hands = {link for arm in arms for link in (arm.ee_link, *arm.gripper.finger_links)}
    seen = robot.links if whole_robot or scene.stand is not None else hands
    points = [seen_corners(scene.stand)] if whole_robot and scene.stand is not None else []
    for frame in range(0, last + 1, _FRAMES_APART):
        shown.show(frame)
        points += [_corners(robot.link_aabb(link)) for link in seen]
    for frame in frames:
        shown.show(frame)
        points += [_corners(item.body.link_aabb(link)) for item in scene.objects.values() for link in item.body.links]
    return np.concatenate(points)


def _corners(box: Array) -> Array:
    """Returns the corners (8, 3) of a box of a lower and an upper corner (2, 3)."""
    return np.array([box[corner, range(3)] for corner in product((0, 1), repeat=3)])


def _directions() -> dict[Direction, float]:
    """Returns the directions of the camera that are compared, with their weights."""
    found = {}
    # factor on the weights of the robot's right side, so that clips of symmetric scenes look alike
    for side, factor in ((-1.0, 1.03), (1.0, 1.0)):
        for azimuth, elevation in product(_AZIMUTHS_DEG, _ELEVATIONS_DEG):
            around, above = np.deg2rad(azimuth), np.deg2rad(elevation)
            flat = np.array([-np.cos(around), side * np.sin(around)]) * np.cos(above)
            weight = factor * _AZIMUTHS_DEG[azimuth] * _ELEVATIONS_DEG[elevation]
            found[float(flat[0]), float(flat[1]), float(np.sin(above))] = weight
    return found
