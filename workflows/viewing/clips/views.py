"""What a clip shows: the whole robot, the hands and the objects, or the image of a camera."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.simcore.state import Rendering
from unlatch.skills.contract.command import Phase
from unlatch.workflows.episode.randomization.visual_views import cameras
from unlatch.workflows.viewing.acted_part import find_acted_part
from unlatch.workflows.viewing.best_view import Direction, Subject, choose_best_view
from unlatch.workflows.viewing.phase_moments import find_rounds
from unlatch.workflows.viewing.recorded_moments import last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

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
_RIGHT_SIDE = 1.03
"""Factor on the weights of the robot's right side, so that clips of symmetric scenes look alike."""
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
        return lambda: _camera_image(camera)
    aspect = width / height
    view = choose_view(shown, whole_robot=name == OVERVIEW, aspect=aspect)
    return lambda: take_picture(shown.world, view, width=width, height=height, fine=False)


def _camera_image(camera: Camera) -> Array:
    camera.update_state()
    return camera.image(Rendering.rgb)


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
        return shown.episode.scene.view(aspect=aspect)
    arrays, last = shown.record.arrays, last_finite_frame(shown.record)
    subjects, motions, near = [], [], []
    for skill, frames in skills.items():
        acted = find_acted_part(shown, skill)
        subjects += [Subject(frame, acted.fingers, acted.label) for frame in frames]
        # a closed part shows its face alone: it should be seen before it opens
        subjects += [Subject(frame, acted.fingers, acted.label, in_contact=False) for frame in (0, last)]
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
    scene, arrays, last = shown.episode.scene, shown.record.arrays, last_finite_frame(shown.record)
    ends = ("tcp_position", "ee_position")
    points = [array[: last + 1 : 10] for key, array in arrays.items() if key.endswith(ends)]
    bodies = [item.body for item in scene.objects.values()]
    if whole_robot:
        bodies.append(scene.robot.body)
    for frame in frames:
        shown.show(frame)
        points += [_corners(body.link_aabb(link)) for body in bodies for link in body.links]
    return np.concatenate(points)


def _corners(box: Array) -> Array:
    """Returns the corners (8, 3) of a box of a lower and an upper corner (2, 3)."""
    return np.array([box[corner, range(3)] for corner in product((0, 1), repeat=3)])


def _directions() -> dict[Direction, float]:
    """Returns the directions of the camera that are compared, with their weights."""
    found = {}
    for side, factor in ((-1.0, _RIGHT_SIDE), (1.0, 1.0)):
        for azimuth, elevation in product(_AZIMUTHS_DEG, _ELEVATIONS_DEG):
            around, above = np.deg2rad(azimuth), np.deg2rad(elevation)
            flat = np.array([-np.cos(around), side * np.sin(around)]) * np.cos(above)
            weight = factor * _AZIMUTHS_DEG[azimuth] * _ELEVATIONS_DEG[elevation]
            found[float(flat[0]), float(flat[1]), float(np.sin(above))] = weight
    return found
