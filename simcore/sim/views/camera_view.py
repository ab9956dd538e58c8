"""A camera as a view: its mount, its lens and the noise of its images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.geometry.rotations import rpy_from_matrix
from unlatch.simcore.ranges import ranges_of
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.sim.sensors.image_noise import ImageNoise
from unlatch.simcore.sim.views.attribute_view import AttributeView

Array = np.ndarray

_WIDEST_RAD = 2.9


class CameraView(AttributeView):
    """One camera sensor, in the single environment of an episode."""

    kind = "camera view"

    def __init__(self, camera: Camera) -> None:
        super().__init__(camera.cfg.name)
        self._camera = camera
        mount = camera.mount
        self._add_attribute(
            "position", 3, "m", "x, y, z", lambda _env: mount.T_mount_sensor.p.copy(), self._set_position
        )
        if not mount.follows_target:
            self._add_attribute(
                "orientation",
                3,
                "rad",
                "roll, pitch, yaw",
                lambda _env: rpy_from_matrix(mount.T_mount_sensor.R),
                self._set_orientation,
            )
        self._add_attribute(
            "field_of_view",
            1,
            "rad",
            "angle between the upper and lower edge",
            lambda _env: np.array([camera.optics.fov_rad]),
            self._set_fov,
            least=0.02,
            most=_WIDEST_RAD,
        )
        self._add_attribute("intrinsics", 4, "px", "fx, fy, cx, cy", self._read_intrinsics, self._set_intrinsics)
        for name, limits in ranges_of(ImageNoise).items():
            unit, most = limits.unit.strip("[]"), limits.high
            self._add_field(name, 1, unit, "strength", camera, "noise", lambda v: float(v[0]), least=0.0, most=most)

    def _set_position(self, _env: int, values: Array) -> None:
        self._camera.mount.T_mount_sensor = Pose(self._camera.mount.T_mount_sensor.R, values)

    def _set_orientation(self, _env: int, values: Array) -> None:
        self._camera.mount.T_mount_sensor = Pose.from_rpy(self._camera.mount.T_mount_sensor.p, values)

    def _set_fov(self, _env: int, values: Array) -> None:
        self._camera.optics = self._camera.optics.with_fov(float(values[0]))

    def _read_intrinsics(self, _env: int) -> Array:
        optics = self._camera.optics
        return np.array([optics.fx, optics.fy, optics.cx, optics.cy])

    def _set_intrinsics(self, _env: int, values: Array) -> None:
        fx, fy, cx, cy = (float(value) for value in values)
        self._camera.optics = replace(self._camera.optics, fx=max(fx, 1.0), fy=max(fy, 1.0), cx=cx, cy=cy)
