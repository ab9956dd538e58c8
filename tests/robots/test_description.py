"""One opening, many joints."""

import math
from dataclasses import replace

import numpy as np
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.simcore.errors import ConfigError

SLIDING = load_robot("franka_panda").arms[0].gripper
LEVERS = load_robot("xarm6").arms[0].gripper


def xarm_opening_m(drive_rad):
    """Opening between the pads of the xArm Gripper at a position of its drive joint [m]; see `xarm6.yaml`."""
    return 2.0 * (0.035 + 0.035465 * math.cos(drive_rad) - 0.042039 * math.sin(drive_rad) - 0.026)


@pytest.mark.parametrize("gripper", [SLIDING, LEVERS])
def test_positions_and_opening_are_each_others_inverse(gripper):
    low, high = gripper.opening_range()
    for width in np.linspace(low, high, 9):
        assert gripper.width(gripper.positions(float(width))) == pytest.approx(width, abs=1e-9)
    assert gripper.positions(low) == pytest.approx(gripper.offsets())
    assert np.array(gripper.positions(high)) - gripper.offsets() == pytest.approx(np.array(gripper.travel()))


def test_the_table_of_openings_is_that_of_the_linkage():
    for drive in np.linspace(LEVERS.closed[0], LEVERS.opened[0], 40):
        assert LEVERS.width([drive] * len(LEVERS.joints)) == pytest.approx(xarm_opening_m(drive), abs=2e-4)
    drives = np.linspace(LEVERS.closed[0], LEVERS.opened[0], len(LEVERS.widths_m))
    assert [round(xarm_opening_m(drive), 5) for drive in drives] == LEVERS.widths_m
    # an impossible opening gives the end of the range
    assert LEVERS.positions(1.0) == pytest.approx(LEVERS.opened)
    assert LEVERS.positions(0.0) == pytest.approx(LEVERS.closed)


@pytest.mark.parametrize("gripper", [SLIDING, LEVERS])
def test_all_joints_together_do_the_work_of_the_grip_force(gripper):
    low, high = gripper.opening_range()
    work = sum(effort * abs(way) for effort, way in zip(gripper.efforts(), gripper.travel(), strict=True))
    assert work == pytest.approx(gripper.grip_force_n * (high - low))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"opened": [0.1]}, r"gripper\.opened has 1 values, expected 6"),
        ({"closed": []}, r"gripper\.closed has 0 values, expected 6 \(one for each of joints"),
        ({"opened": [0.85] * 6}, r"gripper\.opened of drive_joint is 0\.85, as is gripper\.closed"),
        ({"widths_m": [0.0, 0.05, 0.04, 0.08392]}, r"gripper\.widths_m=.* is not a sequence from closed to open"),
        ({"widths_m": [0.0, 0.05]}, r"the last one max_width_m=0\.08392"),
        ({"closed": [], "opened": []}, r"gripper\.widths_m is set, and gripper\.opened is not"),
        ({"grip_force_n": 20.0, "least_force_n": 25.0}, r"grip_force_n=20\.0 is below the smallest force that the"),
        *(
            ({key: -1.0}, rf"gripper\.{key}=-1 is out of range\. Expected 0 or more")
            for key in ("pad_stiffness_n_m", "pad_damping_n_s_m", "spinning_friction", "least_force_n")
        ),
        ({"finger_force_limit_n": -1.0}, r"gripper\.finger_force_limit_n=-1 is out of range\. Expected 0 or more"),
        ({"grip_force_n": 31.0}, r"gripper\.grip_force_n=31\.0 is above the maker's 30\.0 N"),
    ],
)
def test_contradicting_settings_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        replace(LEVERS, **changes)


def test_a_finger_bears_twice_the_makers_grip_force_where_no_limit_is_stated():
    assert LEVERS.finger_force_limit_n == 2.0 * LEVERS.max_force_n
    assert replace(SLIDING, max_force_n=60.0, finger_force_limit_n=0.0).finger_force_limit_n == 120.0
    assert replace(SLIDING, finger_force_limit_n=5.0).finger_force_limit_n == 5.0
