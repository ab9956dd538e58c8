"""Points by camera lie on the object that is acted on, and are the same in an export and in an environment."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.export.columns import CAMERA_CLOUD, CLOUD
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.modality import PointSource
from unlatch.simcore.recording.observed_scene import ObservedScene
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.simcore.sim.world import WorldCfg
from unlatch.workflows.commands.images import render_command as render
from unlatch.workflows.episode.observed_scene import recorded_scene
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.runs.recorded_config import config_of

pytestmark = pytest.mark.integration

SIZES = [("width", 64), ("height", 48)]
OBSERVED = ["observation.columns=true", "observation.keys=[]", "observation.point_cloud=256"]
BY_CAMERA = [*OBSERVED, "observation.point_cloud_source=camera"]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory, collected: Callable[..., Path]) -> Path:
    out = tmp_path_factory.mktemp("set") / "d"
    shutil.copytree(collected("open_microwave", "world.record_hz=10", seed=5), out)
    sizes = [f"cameras.{index}.{key}={value}" for index in (0, 1) for key, value in SIZES]
    kinds = "modalities=[depth,instance_id_segmentation]"
    assert render([str(out), "cameras=[front,wrist]", *sizes, kinds, "renderer=software", "executor=serial"]) == 0
    return out


def source_of(folder: Path) -> ExportSource:
    data_set = DataSet.open(folder)
    cfg = ExportCfg(point_cloud=256, point_cloud_source=PointSource.both, render="default")
    episodes = config_of(data_set)
    return ExportSource(data_set, cfg, scene_of=lambda record: recorded_scene(episodes, record))


def surfaces(scene: ObservedScene, positions: np.ndarray) -> dict[bool, np.ndarray]:
    """Returns the triangles (F, 3, 3) of what the door's joint moves and of the rest, in the frame of the root [m]."""
    item = scene.load_object("microwave")
    (part,) = item.parts.values()
    top, found = item.model.joints[part.joint].child, {True: [], False: []}
    for name, link in item.model.links.items():
        T_root_link = item.link_pose(name, positions)
        for shape in link.visuals:
            mesh = shape_mesh(shape).moved(T_root_link @ shape.T_link_shape)
            found[item.model.is_below(name, top)].append(mesh.triangles)
    return {key: np.concatenate(triangles) for key, triangles in found.items()}


def distances(triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns the distance (K,) of points (K, 3) to the nearest triangle."""
    nearest = np.full(len(points), np.inf)
    for triangle in triangles:
        closest = trimesh.triangles.closest_point(np.repeat(triangle[None], len(points), axis=0), points)
        nearest = np.minimum(nearest, np.linalg.norm(closest - points, axis=1))
    return nearest


@pytest.mark.slow
def test_points_by_camera_lie_on_the_object_and_those_of_the_part_on_the_part(rendered: Path):
    source = source_of(rendered)
    record = source.data_set.read(0)
    scene = recorded_scene(config_of(source.data_set), record)
    clouds = next(source.trajectories()).columns[CAMERA_CLOUD].values.astype(float)
    (T_world_base,) = scene.bases.values()
    counts = []
    for frame in range(0, record.n_actions + 1, 40):
        root = (record.arrays[f"objects.microwave.root_{word}"][frame] for word in ("position", "quat_xyzw"))
        T_root_base = Pose.from_quat_xyzw(*root).inverse() @ T_world_base
        triangles = surfaces(scene, record.arrays["objects.microwave.joint_positions"][frame])
        for is_part in (True, False):
            points = clouds[frame][clouds[frame][:, 3] == float(is_part), :3]
            counts.append(len(points))
            assert distances(triangles[is_part], T_root_base @ points).max() < 5e-3, (frame, is_part)
    assert min(counts) > 30


def actions(folder: Path) -> Iterator[tuple[int, np.ndarray]]:
    """Yields the index of each state from the first that an environment observes on, and the action after it."""
    record, arm = DataSet.open(folder).read(0), "actions.franka_panda.left"
    targets, opening = (record.arrays[f"{arm}.{key}"] for key in ("joint_targets", "gripper_target"))
    for index in range(WorldCfg(record_hz=10).frames(INITIAL_S), record.n_actions):
        yield index, np.append(targets[index], opening[index])


@pytest.mark.slow
def test_an_environment_observes_the_points_of_an_export(rendered: Path):
    wanted = next(source_of(rendered).trajectories()).columns
    sizes = [f"sensors.{index}.{key}={value}" for index in (0, 1) for key, value in SIZES]
    both = [*OBSERVED, "observation.point_cloud_source=both", "observation.images=[rgb]"]
    env = UnlatchEnv(
        "open_microwave", overrides=["success_when=still", "world.record_hz=10", "sensors=[wrist,front]", *sizes, *both]
    )
    observation, _ = env.reset(seed=5, options={"episode": 0})
    assert not [key for key in observation if "depth" in key or "segmentation" in key]
    assert observation["observation.images.front"].shape == (48, 64, 3)
    frames = 0
    for index, action in actions(rendered):
        for key in (CLOUD, CAMERA_CLOUD):
            np.testing.assert_array_equal(observation[key], wanted[key].values[index], err_msg=f"{key} {index}")
        observation, *_ = env.step(action)
        frames += 1
    assert frames > 50
    env.close()


@pytest.mark.slow
def test_one_of_several_cameras_gives_the_points(rendered: Path):
    sizes = [f"sensors.0.{key}={value}" for key, value in SIZES]
    clouds = []
    for own in (["sensors=[front]"], ["sensors=[front,wrist]", "observation.point_cloud_cameras=[front]"]):
        env = UnlatchEnv("open_microwave", overrides=[*own, *sizes, *BY_CAMERA])
        observation, _ = env.reset(seed=5)
        env.close()
        assert set(observation) == {
            "observation.state",
            "observation.environment_state",
            "observation.keypoints",
            CLOUD,
        }
        clouds.append(observation[CLOUD])
    np.testing.assert_array_equal(clouds[0], clouds[1])
    assert 0.0 < clouds[0][:, 3].mean() < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["sensors=[imu]"], "the sensors have no camera.*sensors=.front."),
        (
            ["sensors=[front]", "observation.point_cloud_cameras=[frond]"],
            "='frond' is not a camera.*Did you mean 'front'",
        ),
        (["sensors=[front]", "observation.point_cloud=0"], "point_cloud_source=camera has no effect"),
    ],
)
def test_an_environment_without_the_cameras_for_the_points_is_refused(overrides: list[str], message: str):
    with pytest.raises(ConfigError, match=message):
        UnlatchEnv("open_microwave", overrides=[*BY_CAMERA, *overrides])
