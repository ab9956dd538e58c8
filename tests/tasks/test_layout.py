"""Layouts are drawn inside their region, the same for the same stream."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.objects.builders import generated
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_task import derive_task
from unlatch.objects.annotation_entries import ClosingForces
from unlatch.objects.closing_force_values import closing_reach
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_instance, load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.rng import stream
from unlatch.tasks.layout import Layout, sample_layout
from unlatch.tasks.placing import PlacedObject
from unlatch.tasks.task import OpennessCfg, RegionCfg, TaskCfg

HOMES = [("left", [0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8], 0.02)]


@pytest.fixture(scope="module")
def microwave():
    return load_object(ObjectCfg(name="microwave", category="microwave"), rng=np.random.default_rng(0))


def task(*, opening=(0.2, 0.4), part="door", **region):
    openness = [OpennessCfg(object="microwave", part=part, range=list(opening))]
    return TaskCfg(name="t", regions=[RegionCfg(object="microwave", **region)], openness=openness)


def sample(cfg, asset, seed=1):
    return sample_layout(cfg, {asset.name: asset}, HOMES, stream(seed, "layout"))


def placed(cfg, asset, seed=1):
    return sample(cfg, asset, seed).objects[asset.name]


def test_the_middle_of_the_front_lies_in_the_region_and_faces_the_robot(microwave):
    cfg = task(center_m=[0.7, 0.1], half_extent_m=[0.15, 0.1], yaw_deg=25.0, height_m=[0.02, 0.08])
    low, high = microwave.bounds_obj
    poses = [placed(cfg, microwave, seed).T_world_root for seed in range(200)]
    fronts = np.array([T @ np.array([high[0], 0.5 * (low[1] + high[1]), low[2]]) for T in poses])
    assert np.all(fronts.min(axis=0) >= [0.55, 0.0, 0.02])
    assert np.all(fronts.max(axis=0) <= [0.85, 0.2, 0.084])
    assert np.all(np.ptp(fronts, axis=0) > [0.28, 0.18, 0.05])
    x, y, _ = np.array([T.rotate([-1.0, 0.0, 0.0]) for T in poses]).T
    assert np.deg2rad(24) < np.abs(np.arctan2(y, x)).max() <= np.deg2rad(25) + 1e-9


def test_the_plinth_reaches_from_the_table_to_the_object_which_stands_on_its_feet_without_one(microwave):
    place = placed(task(height_m=[0.05, 0.05]), microwave)
    assert (place.plinth_size_m[2], place.T_world_plinth.p[2]) == pytest.approx((0.05, 0.025))
    place = placed(task(height_m=[0.0, 0.0]), microwave)
    assert place.plinth_size_m is None
    assert (place.T_world_root @ np.array([0.0, 0.0, microwave.bounds_obj[0, 2]]))[2] == pytest.approx(0.004)


def test_a_layout_is_read_from_a_record_exactly(microwave):
    height_m = 0.05
    layout = sample(task(height_m=[height_m] * 2, yaw_deg=25.0), microwave)
    assert Layout.from_dict(json.loads(json.dumps(layout.to_dict()))).to_dict() == layout.to_dict()


@pytest.mark.parametrize("category", ["bottle", "microwave"])
def test_a_plinth_lies_below_its_object_and_carries_at_least_half_of_it(category):
    for instance in range(2):
        asset = generated(category, instance, name="microwave")
        place = placed(replace(task(height_m=[0.05, 0.05]), openness=[]), asset)
        (low, high), size = asset.bounds_obj[:, :2], np.array(place.plinth_size_m[:2])
        middle = (place.T_world_root.inverse() @ place.T_world_plinth).p[:2]
        assert np.all(0.5 * (high - low) <= size + 1e-9)
        assert np.all((low <= middle - 0.5 * size) & (middle + 0.5 * size <= high))


def test_the_start_opening_is_measured_from_closed_in_the_opening_direction(microwave):
    part = microwave.articulation.part("door")
    opened = placed(task(), microwave, 3).joint_positions[part.joint] - part.openness.closed
    assert 0.2 <= abs(opened) <= 0.4
    assert np.sign(opened) == np.sign(part.openness.open - part.openness.closed)


def test_an_opening_within_the_catch_starts_closed_and_changes_no_other_value(microwave):
    part = microwave.articulation.part("door")
    reach = closing_reach(part, microwave.model)
    free = replace(microwave.articulation, parts={"door": replace(part, closing_forces=ClosingForces())})
    cfg, closed = task(opening=[0.0, 2.0 * reach]), 0
    for seed in range(40):
        place, other = (placed(cfg, each, seed) for each in (microwave, replace(microwave, articulation=free)))
        opening = other.drawn["opening.door"]
        expected = 0.0 if opening <= reach else opening
        closed += expected == 0.0
        assert place.drawn == {**other.drawn, "opening.door": expected}
        assert place.joint_positions == {part.joint: part.openness.position(expected)}
    assert 10 <= closed <= 30


def test_the_same_stream_gives_the_same_layout(microwave):
    first, again, other = (sample(task(), microwave, seed).to_dict() for seed in (5, 5, 6))
    assert first == again != other


@pytest.mark.parametrize(
    ("cfg", "error", "message"),
    [
        (
            TaskCfg(name="t", regions=[RegionCfg(object="microwav")]),
            ConfigError,
            r"names object 'microwav'.* Did you mean 'microwave'\?",
        ),
        (TaskCfg(name="t"), ConfigError, r"Object 'microwave' has no entry in task\.regions of 't'"),
        (task(part="dor"), AssetError, r"'dor'.*Did you mean 'door'\?"),
    ],
)
def test_what_does_not_fit_the_objects_is_refused(microwave, cfg, error, message):
    with pytest.raises(error, match=message):
        sample(cfg, microwave)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (RegionCfg, {"center_m": [1.0]}, r"center_m has 1 values, expected 2"),
        (RegionCfg, {"height_m": [0.2, 0.1]}, r"must be 0 <= low <= high"),
        (RegionCfg, {"yaw_deg": 200.0}, r"yaw_deg=200 is out of range\. Expected 0 to 180"),
        (OpennessCfg, {"part": "y", "range": [0.4, 0.1]}, r"range=\[0\.4, 0\.1\] must be two values, 0 <= low <= high"),
    ],
)
def test_invalid_ranges_are_refused(kind, values, message):
    with pytest.raises(ConfigError, match=message):
        kind(object="x", **values)


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


def _with_bar(place):
    """The case with a bar that slides down out of it, in place of the shell."""
    bar = SUITCASE.replace('"0.025 0 0.19"', f'"{place} 0.19"').replace("revolute", "prismatic")
    bar = bar.replace(
        '"0.05 0.4 0.4"/></geometry></collision>\n</link>\n<joint',
        '"0.08 0.08 0.4"/></geometry></collision>\n</link>\n<joint',
    )
    return bar.replace('"0 1 0"', '"0 0 -1"').replace("3.1", "0.2")


@pytest.fixture
def suitcase(tmp_path):
    """Makes a case, of some depth, with a shell that swings down to the floor, or with a bar that slides down."""

    def make(depth_m=0.05, bar_at=None):
        urdf = SUITCASE if bar_at is None else _with_bar(bar_at)
        urdf = urdf.replace('"-0.025 0 0.2"', f'"{-depth_m / 2} 0 0.2"')
        (tmp_path / "suitcase.urdf").write_text(urdf.replace('"0.05 0.4 0.4"', f'"{depth_m} 0.4 0.4"', 1))
        root = str(tmp_path / "suitcase.urdf")
        case = load_instance(ObjectCfg(name="suitcase", category="suitcase", source=ObjectSource.urdf, root=root))
        (shell,) = case.articulation.parts.values()
        return case, shell

    return make


def swings(case, shell, place, led_to):
    """The case with its shell along its way, none of which meets the plinth."""
    half = 0.5 * np.array(place.plinth_size_m)
    for opening in np.linspace(0.0, led_to, 29):
        item = PlacedObject(case, place.T_world_root, {shell.joint: shell.openness.position(float(opening))})
        assert not item.meets(np.array([-half, half]), place.T_world_plinth, 0.0), f"meets the plinth at {opening:.2f}"
        yield item


def test_a_shell_that_swings_below_its_case_passes_plinth_and_table(suitcase):
    case, shell = suitcase()
    derived = derive_task("open", case, shell, hand_shape("franka_panda", load_robot("franka_panda").arms[0]))
    made = read_dataclass(TaskCfg, {**derived["task"], "name": "t"}, where="task")
    led_to = made.openness[0].range[0] + 1.5 * made.goal[0].value
    assert led_to > 1.0
    for item in swings(case, shell, placed(made, case, 0), led_to):
        assert item.box()[0, 2] - case.bounds_obj[0, 2] + made.regions[0].height_m[0] > 0.0, "meets the table"


@pytest.mark.parametrize("depth_m", [0.2, 0.05])
def test_a_shell_that_hangs_down_in_the_end_passes_the_plinth(suitcase, depth_m):
    case, shell = suitcase(depth_m)
    region = RegionCfg(object="suitcase", center_m=[0.6, 0.0], height_m=[0.35, 0.35])
    place = placed(TaskCfg(name="t", regions=[region]), case, 0)
    assert len(list(swings(case, shell, place, shell.openness.span))) == 29
    half_x = 0.5 * place.plinth_size_m[0]
    front_x = (place.T_world_root.inverse() @ place.T_world_plinth.p)[0] + half_x
    assert front_x == pytest.approx(min(-0.05, case.bounds_obj[1, 0] - 0.06) - 0.005, abs=0.003)
    assert half_x > 0.01


@pytest.mark.parametrize("beside", ["-0.03 0", "-0.1 0.17"])
def test_the_plinth_leaves_room_for_a_bar_that_slides_below_its_case(suitcase, beside):
    case, bar = suitcase(0.2, bar_at=beside)
    region = RegionCfg(object="suitcase", center_m=[0.6, 0.0], height_m=[0.35, 0.35])
    place = placed(TaskCfg(name="t", regions=[region]), case, 0)
    assert len(list(swings(case, bar, place, bar.openness.span))) == 29
    assert np.prod(place.plinth_size_m[:2]) > 0.25 * 0.2 * 0.4
