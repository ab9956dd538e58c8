"""Cameras that are fitted to the hand and to the task: what they see, and that their places are those of the set."""

import numpy as np
import pytest

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.hand_shape import hand_shape, tool_frame
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.simcore.sim.sensors.config import MountCfg, MountFit
from unlatch.simcore.sim.visuals.pictures import link_labels
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.visual_views import cameras, fit_sensors
from unlatch.workflows.runs.loading import load

pytestmark = pytest.mark.integration


def fitted(cfg: EpisodeCfg, name: str) -> CameraCfg:
    (camera,) = fit_sensors(cfg, read_render_settings(cfg, [name], size_px=[128, 128]).cameras)
    assert isinstance(camera, CameraCfg)
    return camera


@pytest.mark.parametrize("robot", ["franka_panda", "xarm6", "vx300s"])
def test_the_fingertips_are_in_the_lower_third_of_the_wrist_camera_and_the_palm_is_below_it(robot):
    cfg = load("place_can", f"robot={robot}")
    camera, arm = fitted(cfg, "wrist"), cfg.robot.arms[0]
    hand, T_ee_tool = hand_shape(cfg.robot, arm), tool_frame(arm.keypoints)
    T_camera_tool = camera.mount.T_mount_sensor.inverse() @ T_ee_tool
    ((column, row),) = camera.optics().project(T_camera_tool @ np.array([[hand.tip_m, 0.0, 0.0]]))
    assert column == pytest.approx(63.5, abs=0.5)
    assert 128 * 2 / 3 < row < 120


def test_the_wrist_camera_shows_fingers_and_no_palm_and_the_front_camera_a_can_of_seven_centimetres_large():
    cfg = load("place_can")
    seen = with_cameras(cfg, read_render_settings(cfg, ["front", "wrist"], size_px=[128, 128]).cameras)
    with World(cfg.world, visuals=True) as world, BulletCollisionChecker() as checker:
        episode = Episode(seen, 0, world, checker)
        episode.reset()
        pixels = {}
        for camera in cameras(episode.scene):
            camera.switch_rendering(Rendering.instance_id_segmentation, on=True)
            camera.update_state()
            counts = np.bincount(
                camera.image(Rendering.instance_id_segmentation).ravel(), minlength=len(link_labels(world)) + 1
            )
            labels = ["nothing", *(label for label, _ in link_labels(world))]
            pixels[camera.cfg.name] = dict(zip(labels, (int(count) for count in counts), strict=True))
    wrist, front = pixels["wrist"], pixels["front"]
    assert wrist["franka_panda/panda_hand"] < 0.05 * 128**2
    assert min(wrist["franka_panda/panda_leftfinger"], wrist["franka_panda/panda_rightfinger"]) > 100
    assert front["can"] > 3 * 35  # from (-0.3, -0.95, 1.0), it had 35 pixels
    assert front["franka_panda/panda_hand"] > 100


def test_a_fitted_place_is_the_same_in_all_episodes_and_where_a_set_of_cameras_is_read():
    cfg = load("open_microwave", "sensors=[front]")
    poses = []
    with World(cfg.world) as world, BulletCollisionChecker() as checker:
        for number in (0, 5):
            episode = Episode(cfg, number, world, checker)
            episode.reset()
            (camera,) = cameras(episode.scene)
            poses.append(camera.T_world_sensor)
    (front,) = fit_sensors(cfg, list(cfg.all_sensors().values()))
    assert poses[0].is_close(poses[1])
    assert poses[0].is_close(front.mount.T_mount_sensor)
    assert front.mount.fit is MountFit.none


def test_a_place_that_is_given_is_not_fitted():
    assert MountCfg(fit=MountFit.task).is_fitted
    assert not MountCfg(fit=MountFit.task, position_m=[0.0, 0.0, 1.0]).is_fitted
    assert not MountCfg(position_m=[0.0, 0.0, 1.0]).is_fitted
