"""Views of what is no body: every attribute gets what was drawn, and the draws follow their law."""

import numpy as np
import pytest
from scipy.stats import kstest

from unlatch import randomization as dr
from unlatch.objects.procedural.textures import texture_file
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.body_views import PoseEstimateView
from unlatch.simcore.sim.pose_estimate_error import PoseEstimateError
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg, CameraView
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.visuals.appearance import AppearanceView, LightView, LinkAppearance, TextureStore
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.episode.randomization import SignalView

N = 400
RANGES = {
    "action_latency": (0.0, 0.5),
    "texture": (0.0, 1000.0),
    "field_of_view": (0.5, 1.5),
    "intrinsics": (100.0, 400.0),
    "image_noise": (0.0, 8.0),
    "white_balance": (-0.5, 0.5),
    "image_blur": (0.0, 2.0),
    "depth_noise": (0.0, 0.01),
}
"""Where 0 to 1 is none, or is too narrow."""
STEPPED = {"action_latency": 1 / 240, "texture": 1.0, "action_dropped": 1.0, "shadow": 1.0}
"""Attributes that know steps only."""


def views(world: World) -> list[AttributeView]:
    arm = Robot(world, load_robot("franka_panda"), model_path("franka_panda"), T_world_root=Pose.identity()).arms[
        "left"
    ]
    box = world.add_box("box", size_m=(0.1, 0.1, 0.1), T_world_box=Pose.identity())
    appearance = LinkAppearance(world, [box], TextureStore(texture_file), links=[-1])
    camera = Camera(CameraCfg(name="front", type="camera", mount=MountCfg()), world)
    return [
        PoseEstimateView(PoseEstimateError([("door", "head"), ("door", "tail")], joints=["hinge"]), name="door"),
        SignalView([arm], name="robot", physics_hz=240),
        AppearanceView(appearance, name="box", links=["box"]),
        LightView(world),
        CameraView(camera),
    ]


@pytest.mark.slow
def test_every_attribute_follows_its_distribution_and_reads_back():
    with World(WorldCfg()) as world:
        made = views(world)
        for view in made:
            for name in view.attributes:
                check(view, name)


def check(view: AttributeView, name: str) -> None:
    setup = dr.Setup(keep_firings=True)
    setup.register_view(view)
    low, high = RANGES.get(name, (0.0, 1.0))
    with setup.on_rl_frame(num_envs=1), setup.on_env_reset():
        setup.randomize(view.name, {name: dr.distribution.uniform(low, high)})
    setup.run(stream(11, "sensors"))
    for _ in range(N):
        setup.step_randomization([0])
        written, read = setup.firings[-1].values, view.get(name)
        assert np.abs(written - read).max() <= STEPPED.get(name, 1e-9), f"{view.name}.{name}"
    values = np.array([firing.values[0] for firing in setup.firings])  # (N, width)
    for column in values.T:
        assert kstest(column, "uniform", args=(low, high - low)).pvalue > 1e-4, f"{view.name}.{name}"


def test_values_out_of_range_are_refused():
    with World(WorldCfg()) as world:
        setup = dr.Setup()
        setup.register_view(LightView(world))
        with (
            setup.on_rl_frame(num_envs=1),
            setup.on_env_reset(),
            pytest.raises(ConfigError, match=r"light\.ambient: constant\(value=-0\.5\) .* goes down to -0\.5"),
        ):
            setup.randomize("light", {"ambient": -0.5})


def test_a_latency_beyond_the_buffer_is_clipped():
    with World(WorldCfg()) as world:
        view = views(world)[1]
        attribute = view.attribute("action_latency")
        assert attribute.bounded(np.array([1e6])).tolist() == [10.0]
