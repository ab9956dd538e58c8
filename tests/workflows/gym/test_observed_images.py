"""Observed images: how often they are made, by which renderer, and which keys need them or the columns."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.modality import PointSource
from unlatch.simcore.recording.renders import RenderSet
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.workflows.gym.config import ObservationCfg
from unlatch.workflows.gym.env import UnlatchEnv

pytestmark = pytest.mark.integration

Array = np.ndarray
CAMERAS = [
    "sensors=[front,wrist]",
    *(f"sensors.{index}.{key}={value}" for index in (0, 1) for key, value in (("width", 32), ("height", 24))),
]
POINTS = ["observation.columns=true", "observation.point_cloud=64", "observation.point_cloud_source=camera"]
STEPS = 9


def observe(*overrides: str, steps: int = STEPS) -> list[dict[str, Array]]:
    """The observations of an arm that swings down over the object, from that of the reset on."""
    noise = [f"sensors.{index}.noise.depth_noise=0.001" for index in (0, 1)]  # each frame has draws of its own
    env = UnlatchEnv("close_drawer", overrides=[*CAMERAS, *noise, *overrides])
    observations = [env.reset(seed=3)[0]]
    action = np.append(observations[0]["robots.franka_panda.left.joint_positions"], 0.04)
    action[1] += 0.3
    for _ in range(steps):
        observations.append(env.step(action)[0])
    env.close()
    return observations


def is_image(key: str) -> bool:
    return "image" in key or "point_cloud" in key


@pytest.mark.slow
def test_images_are_new_in_every_nth_frame_and_repeated_in_between_and_nothing_else_changes():
    kinds = ["observation.images=[rgb,depth,segmentation]", *POINTS]
    always, at_times = observe(*kinds), observe(*kinds, "observation.images_every=4")
    assert {key for key in always[0] if is_image(key)} == {
        *(f"sensors.{name}.{kind}" for name in ("front", "wrist") for kind in ("rgb_image", "depth_image_m")),
        *(f"sensors.{name}.segmentation_image" for name in ("front", "wrist")),
        *(f"observation.images.{name}" for name in ("front", "wrist")),
        "observation.point_cloud",
    }
    for frame, (wanted, found) in enumerate(zip(always, at_times, strict=True)):
        assert found.keys() == wanted.keys()
        for key, value in found.items():
            shown = always[4 * (frame // 4)] if is_image(key) else wanted
            np.testing.assert_array_equal(value, shown[key], err_msg=f"{key} in frame {frame}")
    for key in ("sensors.wrist.rgb_image", "sensors.wrist.depth_image_m", "observation.point_cloud"):
        assert not np.array_equal(always[0][key], always[4][key]), key
        assert not np.array_equal(always[4][key], always[5][key]), key


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [["observation.images=[rgb]"], POINTS])
def test_nothing_is_rendered_between_new_images_and_a_reset_makes_new_ones(make, kinds, monkeypatch):
    rendered: list[int] = []
    render = SoftwareRenderer.render

    def count(self: SoftwareRenderer, world: Any, request: Any) -> Any:
        rendered.append(world.steps)
        return render(self, world, request)

    monkeypatch.setattr(SoftwareRenderer, "render", count)
    env = make("close_drawer", *CAMERAS, *kinds, "observation.images_every=4")
    made = []
    for _ in range(2):
        observation, _ = env.reset(seed=3)
        made.append(len(rendered))
        action = np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)
        for _ in range(6):
            env.step(action)
            made.append(len(rendered))
    # two cameras: once for the shapes of the observation, then after each reset and in its fourth frame
    assert made == [4, 4, 4, 4, 6, 6, 6, 8, 8, 8, 8, 10, 10, 10]


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory) -> Path:
    from unlatch.workflows.commands.collect import collect_command as collect

    out = tmp_path_factory.mktemp("set") / "d"
    few_frames = "task.max_duration_s=1"
    assert (
        collect(
            ["task=close_drawer", "seed=5", few_frames, "episodes=1", "executor=serial", "pictures=0", f"out={out}"]
        )
        == 0
    )
    return out


@pytest.mark.slow
def test_a_renderer_observes_the_images_of_its_render_set(make, demonstration):
    from unlatch.workflows.commands.images import render_command as render

    sizes = [f"cameras.{index}.{key}={value}" for index in (0, 1) for key, value in (("width", 32), ("height", 24))]
    options = ["modalities=[rgb]", "rgb=lossless", "renderer=software", "all=true", "executor=serial"]
    assert render([str(demonstration), "cameras=[front,wrist]", *sizes, *options]) == 0
    renders = RenderSet.open(demonstration)
    wanted = {name: list(renders.frames(0, name, "rgb")) for name in ("front", "wrist")}
    arrays, arm = DataSet.open(demonstration).read(0).arrays, "actions.franka_panda.left"
    actions = np.hstack([arrays[f"{arm}.joint_targets"], arrays[f"{arm}.gripper_target"]])
    options = ["success_when=still", "observation.images=[rgb]"]
    env = make("close_drawer", *CAMERAS, *options)
    observation, _ = env.reset(seed=5, options={"episode": 0})
    for index in range(5, 15):
        for name, images in wanted.items():
            np.testing.assert_array_equal(observation[f"sensors.{name}.rgb_image"], images[index], err_msg=str(index))
        observation, *_ = env.step(actions[index])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"renderer": "softwear", "images": ["rgb"]}, "'softwear' is not a renderer. Did you mean 'software'?"),
        ({"renderer": "tiny", "images": ["rgb"]}, "observation.renderer=tiny: The renderer 'tiny' is gone."),
        ({"images_every": 0, "images": ["rgb"]}, "observation.images_every=0 is out of range. Expected 1 or more"),
        ({"images_every": 3}, "images_every=3 has no effect: no images are observed, and no points by camera"),
        ({"renderer": "pygfx", "columns": True, "point_cloud": 8}, "observation.renderer=pygfx has no effect"),
        ({"point_cloud": 1024}, "observation.point_cloud=1024 needs observation.columns=true"),
        ({"objects": False}, "observation.objects=false needs observation.columns=true"),
        ({"images": ["rgb"], "keypoints": False}, "observation.keypoints=false needs observation.columns=true"),
    ],
)
def test_a_key_that_would_be_ignored_or_is_unknown_is_refused(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        ObservationCfg(**options)


SLOW = [pytest.param(key, marks=pytest.mark.slow) for key in ("rotation=rot6d", "point_cloud_surface=collision")]


@pytest.mark.parametrize("key", ["state=[tcp_pose]", *SLOW])
def test_keys_of_the_columns_are_refused_without_columns_on_the_command_line(key, assert_refused, tmp_path):
    arguments = ["task=close_drawer", "policy=random", f"out={tmp_path / 'eval'}", f"observation.{key}"]
    assert_refused("evaluate", *arguments, text=f"observation.{key} needs observation.columns=true", folder=tmp_path)


def test_points_by_camera_may_be_made_at_a_lower_rate():
    assert ObservationCfg(columns=True, point_cloud=8, point_cloud_source=PointSource.camera, images_every=3).has_images
