"""What a clip shows: the whole robot, the hands and the objects, or the image of a camera."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.randomization.visual_views import cameras
from unlatch.workflows.viewing.recorded_moments import last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

OVERVIEW, CLOSE = "overview", "close"
VIEWS = {
    OVERVIEW: "the whole robot and the objects",
    CLOSE: "the objects, and the hands in the whole episode",
}
"""Views that are no cameras of a configuration."""
_LOOKS_FROM = (-0.75, -1.15, 0.75)
"""Direction from the scene to the camera in the world frame: over the robot's right shoulder."""
_LOOKS_FROM_FAR_SIDE = (1.05, -0.8, 0.75)
"""The same for a robot with several arms, whose shoulders would hide the object."""
_FOV_DEG = 32.0
_MARGIN = 1.14


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
    view = shown.episode.scene.view(aspect=aspect) if name == OVERVIEW else choose_close_view(shown, aspect=aspect)
    return lambda: take_picture(shown.world, view, width=width, height=height)


def _camera_image(camera: Camera) -> Array:
    camera.update_state()
    return camera.image(Rendering.rgb)


def choose_close_view(shown: RecordedWorld, *, aspect: float) -> LookAtCamera:
    """Returns a camera that sees the objects at the start and the end, and the hands in the whole episode.

    Args:
        shown: The recorded episode.
        aspect: Width over height of the pictures.
    """
    arrays = shown.record.arrays
    last = last_finite_frame(shown.record)
    ends = ("tcp_position", "ee_position")
    points = [array[: last + 1 : 10] for key, array in arrays.items() if key.endswith(ends)]
    for frame in (0, last):
        shown.show(frame)
        for item in shown.episode.scene.objects.values():
            low, high = np.array([item.body.link_aabb(link) for link in item.body.links]).swapaxes(0, 1)
            points += [low, high]
    direction = _LOOKS_FROM if len(shown.episode.scene.robot.arms) == 1 else _LOOKS_FROM_FAR_SIDE
    return framing_camera(np.concatenate(points), direction, fov_deg=_FOV_DEG, aspect=aspect, margin=_MARGIN)
