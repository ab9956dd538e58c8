"""Layouts are drawn inside their region, the same for the same stream."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_task import derive_task
from unlatch.objects.annotation_entries import ClosingForces
from unlatch.objects.closing_force_values import closing_reach
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.rng import stream
from unlatch.tasks.layout import sample_layout
from unlatch.tasks.placing import PlacedObject
from unlatch.tasks.task import OpennessCfg, RegionCfg, TaskCfg

HOMES = [("left", [0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8], 0.02)]


@pytest.fixture(scope="module")
def microwave(tmp_path_factory):
    cfg = ObjectCfg(name="microwave", category="microwave", cache_dir=str(tmp_path_factory.mktemp("cache")))
    return load_object(cfg, rng=np.random.default_rng(0))


def task(**region):
    return TaskCfg(
        name="t",
        regions=[RegionCfg(object="microwave", **region)],
        openness=[OpennessCfg(object="microwave", part="door", range=[0.2, 0.4])],
    )


def sample(cfg, asset, seed):
    return sample_layout(cfg, {"microwave": asset}, HOMES, stream(seed, "layout"))


def test_the_middle_of_the_front_lies_in_the_region_and_faces_the_robot(microwave):
    cfg = task(center_m=[0.7, 0.1], half_extent_m=[0.15, 0.1], yaw_deg=25.0, height_m=[0.02, 0.08])
    low, high = microwave.bounds_obj
    front_obj = np.array([high[0], 0.5 * (low[1] + high[1]), low[2]])
    fronts, yaws = [], []
    for seed in range(200):
        place = sample(cfg, microwave, seed).objects["microwave"]
        front = place.T_world_root @ front_obj
        facing = place.T_world_root.rotate([1.0, 0.0, 0.0])
        fronts.append(front)
        yaws.append(np.arctan2(-facing[1], -facing[0]))
    box = np.array(fronts)
    assert np.all(box.min(axis=0) >= [0.55, 0.0, 0.02])
    assert np.all(box.max(axis=0) <= [0.85, 0.2, 0.084])
    assert np.ptp(box[:, 0]) > 0.28
    assert np.ptp(box[:, 1]) > 0.18
    assert np.ptp(box[:, 2]) > 0.05
    assert np.deg2rad(24) < np.abs(yaws).max() <= np.deg2rad(25) + 1e-9


def test_the_plinth_reaches_from_the_table_to_the_object(microwave):
    place = sample(task(height_m=[0.05, 0.05]), microwave, 1).objects["microwave"]
    assert place.plinth_size_m is not None
    assert place.T_world_plinth is not None
    assert place.plinth_size_m[2] == pytest.approx(0.05)
    assert place.T_world_plinth.p[2] == pytest.approx(0.025)


@pytest.mark.parametrize("category", ["bottle", "microwave"])
def test_a_plinth_lies_below_its_object_and_carries_at_least_half_of_it(category):
    for instance in range(5):
        cfg = ObjectCfg(name="microwave", category=category, instance=str(instance))
        asset = load_object(cfg, rng=np.random.default_rng(0))
        standing = replace(task(height_m=[0.05, 0.05]), openness=[])
        place = sample(standing, asset, 1).objects["microwave"]
        assert place.plinth_size_m is not None
        assert place.T_world_plinth is not None
        low, high = asset.bounds_obj
        middle_obj = (place.T_world_root.inverse() @ place.T_world_plinth).p
        for axis in range(2):
            size = place.plinth_size_m[axis]
            assert 0.5 * (high[axis] - low[axis]) <= size + 1e-9
            assert low[axis] <= middle_obj[axis] - 0.5 * size
            assert middle_obj[axis] + 0.5 * size <= high[axis]


def test_without_height_it_stands_on_its_feet_on_the_table(microwave):
    place = sample(task(height_m=[0.0, 0.0]), microwave, 1).objects["microwave"]
    assert place.plinth_size_m is None
    assert (place.T_world_root @ np.array([0.0, 0.0, microwave.bounds_obj[0, 2]]))[2] == pytest.approx(0.004)


def test_the_start_opening_is_measured_from_closed_in_the_opening_direction(microwave):
    part = microwave.articulation.part("door")
    opened = sample(task(), microwave, 3).objects["microwave"].joint_positions[part.joint] - part.openness.closed
    assert 0.2 <= abs(opened) <= 0.4
    assert np.sign(opened) == np.sign(part.openness.open - part.openness.closed)


def test_an_opening_within_the_catch_starts_closed_and_changes_no_other_value(microwave):
    part = microwave.articulation.part("door")
    reach = closing_reach(part, microwave.model)
    free = replace(microwave.articulation, parts={"door": replace(part, closing_forces=ClosingForces())})
    cfg = replace(task(), openness=[OpennessCfg(object="microwave", part="door", range=[0.0, 2.0 * reach])])
    closed = 0
    for seed in range(40):
        place = sample(cfg, microwave, seed).objects["microwave"]
        other = sample(cfg, replace(microwave, articulation=free), seed).objects["microwave"]
        opening = other.drawn["opening.door"]
        expected = 0.0 if opening <= reach else opening
        closed += expected == 0.0
        assert place.drawn == {**other.drawn, "opening.door": expected}
        assert place.joint_positions == {part.joint: part.openness.position(expected)}
    assert 10 <= closed <= 30


def test_the_same_stream_gives_the_same_layout(microwave):
    assert sample(task(), microwave, 5).to_dict() == sample(task(), microwave, 5).to_dict()
    assert sample(task(), microwave, 5).to_dict() != sample(task(), microwave, 6).to_dict()


def test_a_region_of_an_unknown_object_is_refused(microwave):
    cfg = TaskCfg(name="t", regions=[RegionCfg(object="microwav")])
    with pytest.raises(ConfigError, match=r"names object 'microwav'.* Did you mean 'microwave'\?"):
        sample(cfg, microwave, 0)


def test_an_object_without_a_region_is_refused(microwave):
    with pytest.raises(ConfigError, match=r"Object 'microwave' has no entry in task\.regions of 't'"):
        sample(TaskCfg(name="t"), microwave, 0)


def test_an_opening_of_an_unknown_part_is_refused(microwave):
    cfg = task()
    cfg.openness[0].part = "dor"
    with pytest.raises(AssetError, match=r"'dor'.*Did you mean 'door'\?"):
        sample(cfg, microwave, 0)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"center_m": [1.0]}, r"center_m has 1 values, expected 2"),
        ({"height_m": [0.2, 0.1]}, r"must be 0 <= low <= high"),
        ({"yaw_deg": 200.0}, r"yaw_deg=200 is out of range\. Expected 0 to 180"),
    ],
)
def test_invalid_regions_are_refused(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        RegionCfg(object="x", **kwargs)


def test_an_invalid_opening_is_refused():
    with pytest.raises(ConfigError, match=r"range=\[0\.4, 0\.1\] must be two values, 0 <= low <= high"):
        OpennessCfg(object="x", part="y", range=[0.4, 0.1])


SUITCASE = """<robot name="suitcase">
<link name="body">
  <inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="-0.025 0 0.2"/><geometry><box size="0.05 0.4 0.4"/></geometry></collision>
</link>
<link name="shell">
  <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0.025 0 0.19"/><geometry><box size="0.05 0.4 0.4"/></geometry></collision>
</link>
<joint name="hinge" type="revolute">
  <parent link="body"/><child link="shell"/><origin xyz="0 0 0.01"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="3.1" effort="1" velocity="1"/>
</joint>
</robot>"""


def test_a_shell_that_swings_below_its_case_passes_plinth_and_table(tmp_path):
    (tmp_path / "suitcase.urdf").write_text(SUITCASE)
    cfg = ObjectCfg(
        name="suitcase", category="suitcase", source=ObjectSource.urdf, root=str(tmp_path / "suitcase.urdf")
    )
    case = load_object(cfg, rng=np.random.default_rng(0))
    (shell,) = case.articulation.parts.values()
    derived = derive_task("open", case, shell, hand_shape("franka_panda", load_robot("franka_panda").arms[0]))
    made = read_dataclass(TaskCfg, {**derived["task"], "name": "t"}, where="task")
    lowest_m = made.regions[0].height_m[0]
    place = sample_layout(made, {"suitcase": case}, HOMES, stream(0, "layout")).objects["suitcase"]
    assert place.plinth_size_m is not None
    assert place.T_world_plinth is not None
    half = 0.5 * np.array(place.plinth_size_m)
    led_to = made.openness[0].range[0] + 1.5 * made.goal[0].value
    assert led_to > 1.0
    for opening in np.linspace(0.0, led_to, 29):
        item = PlacedObject(case, place.T_world_root, {shell.joint: shell.openness.position(float(opening))})
        assert not item.meets(np.array([-half, half]), place.T_world_plinth, 0.0), f"meets the plinth at {opening:.2f}"
        assert item.box()[0, 2] - case.bounds_obj[0, 2] + lowest_m > 0.0, f"meets the table at {opening:.2f} rad"


@pytest.mark.parametrize("depth_m", [0.2, 0.05])
def test_a_shell_that_hangs_down_in_the_end_passes_the_plinth(tmp_path, depth_m):
    urdf = SUITCASE.replace('"-0.025 0 0.2"', f'"{-depth_m / 2} 0 0.2"')
    urdf = urdf.replace('"0.05 0.4 0.4"', f'"{depth_m} 0.4 0.4"', 1)
    (tmp_path / "suitcase.urdf").write_text(urdf)
    cfg = ObjectCfg(
        name="suitcase", category="suitcase", source=ObjectSource.urdf, root=str(tmp_path / "suitcase.urdf")
    )
    case = load_object(cfg, rng=np.random.default_rng(0))
    (shell,) = case.articulation.parts.values()
    task = TaskCfg(name="t", regions=[RegionCfg(object="suitcase", center_m=[0.6, 0.0], height_m=[0.35, 0.35])])
    place = sample_layout(task, {"suitcase": case}, HOMES, stream(0, "layout")).objects["suitcase"]
    assert place.plinth_size_m is not None
    assert place.T_world_plinth is not None
    half = 0.5 * np.array(place.plinth_size_m)
    for opening in np.linspace(0.0, shell.openness.span, 29):
        item = PlacedObject(case, place.T_world_root, {shell.joint: shell.openness.position(float(opening))})
        assert not item.meets(np.array([-half, half]), place.T_world_plinth, 0.0), f"meets the plinth at {opening:.2f}"
    front_x = (place.T_world_root.inverse() @ place.T_world_plinth.p)[0] + half[0]
    assert front_x == pytest.approx(min(-0.05, case.bounds_obj[1, 0] - 0.06) - 0.005, abs=0.003)
    assert half[0] > 0.01
