"""What the cameras of a running episode see, for point clouds by camera."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.images.modality import LINKS, ImageStream
from unlatch.simcore.recording.observed.camera_cloud import CameraView, length_kind
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.randomization.visual_views import cameras
from unlatch.workflows.episode.scene import EpisodeScene


def point_cameras(scene: EpisodeScene, names: Sequence[str] | None) -> list[Camera]:
    """Returns the named cameras of a scene; None: all.

    Raises:
        ConfigError: There is no camera, or none of this name.
    """
    found = {camera.cfg.name: camera for camera in cameras(scene)}
    if not found:
        raise ConfigError(
            "observation.point_cloud_source asks for points by camera, and the sensors have no camera. Expected at "
            "least one. Add one, such as sensors=[front], or set observation.point_cloud_source=geometry.",
            key="sensors",
        )
    for name in names or []:
        if name not in found:
            raise ConfigError(
                f"observation.point_cloud_cameras has '{name}', which is not a camera among the sensors."
                f"{close_matches(name, found)} They are: {', '.join(found)}. Name one of them.",
                key="observation.point_cloud_cameras",
            )
    return [camera for name, camera in found.items() if names is None or name in names]


def switch_views_on(camera: Camera) -> None:
    """Switches on the images that `camera_view` needs."""
    for kind in (length_kind(camera.optics), LINKS):
        camera.switch_rendering(Rendering[kind], on=True)


def camera_view(camera: Camera) -> CameraView:
    """Returns what a camera saw in the last `update_state`, equal to what is read from a render set."""
    optics, kind, cfg = camera.optics, length_kind(camera.optics), camera.cfg
    # in the steps in which a render set stores lengths, so that both give the same points
    stream = ImageStream.of(
        kind, width=optics.width, height=optics.height, farthest_m=cfg.farthest_m(kind), lossless=True
    )
    lengths = stream.unpack(stream.pack(camera.image(Rendering[kind])))
    place = camera.pose_and_intrinsics()  # as a render set stores it
    T_world_camera = Pose.from_quat_xyzw(place["position"], place["quat_xyzw"])
    links = camera.image(Rendering.instance_id_segmentation)
    labels = camera.labels(Rendering.instance_id_segmentation)
    return CameraView(cfg.name, optics, T_world_camera, lengths, links, labels)
