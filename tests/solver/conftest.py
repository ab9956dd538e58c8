"""A Panda, a door and a drawer as numbers, and a toy collision checker."""

import math
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pybullet_data
import pytest

from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene
from unlatch.solver.setting_reader import read_planner_setting

DATA = Path(pybullet_data.getDataPath())
LINK = ("articulated_object_head", "articulated_object_tail", "link_contact_point", "link0_contact_axis")


@pytest.fixture(scope="session")
def panda():
    return Kinematics.from_urdf(DATA / "franka_panda" / "panda.urdf", base_link="panda_link0", tip_link="panda_hand")


@pytest.fixture(scope="session")
def arm(panda):
    return ArmModel(
        kinematics=panda,
        tool_keypoints={
            "tool_head": np.array([0, 0, 0.1034]),
            "tool_tail": np.array([0, 0, 0.0584]),
            "tool_side": np.array([0, 0.04, 0.1034]),
        },
        q_lower=np.array([-2.86, -1.73, -2.86, -3.04, -2.86, 0.01, -2.86]),
        q_upper=np.array([2.86, 1.73, 2.86, -0.1, 2.86, 3.72, 2.86]),
        max_velocity=np.array([2.175] * 4 + [2.61] * 3),
        max_acceleration=np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]),
        workspace=np.array([[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]]),
        q_home=np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    )


def door_scene(*, x=0.75, y=0.0, z=0.05, yaw=0.0, s=0.0, hinge=1.0, width=0.48):
    """A door of a box that looks at the robot; the hinge on the box's own left (+1) or right (-1)."""
    R, p = matrix_from_axis_angle([0, 0, 1], math.pi + yaw), np.array([x, y, z])
    bar = np.array([0.19 + 0.045, -hinge * (0.5 * width - 0.05), 0.14])
    push = np.array([0.19, -hinge * (0.5 * width - 0.12), 0.14])
    head, tail = R @ bar + p, R @ (bar + np.array([0, -hinge * 0.03, 0])) + p
    normal = R @ np.array([1.0, 0, 0])
    axis = R @ np.array([0, 0, hinge])
    origin = R @ np.array([0.19, hinge * 0.5 * width, 0]) + p
    contact = np.cross(normal, (tail - head) / np.linalg.norm(tail - head))
    closed = PlanningScene(
        keypoints={
            "articulated_object_head": head,
            "articulated_object_tail": tail,
            "link_contact_point": R @ push + p,
            "base_contact_point": p,
        },
        axes={"link0_contact_axis": contact, "base_front_axis": normal, "link0_rot_axis": axis},
        R_base_link=R,
        R_base_world=np.eye(3),
        joint=JointGeometry(False, origin, axis, 0.0, 0.0, 2.0),
        s_closed=0.0,
        s_open=1.57,
        moving_names=frozenset(LINK),
    )
    return closed.at(s)


def drawer_scene(*, x=0.8, y=0.0, z=0.2, yaw=0.0, s=0.0):
    """A drawer with a horizontal bar."""
    R, p = matrix_from_axis_angle([0, 0, 1], math.pi + yaw), np.array([x, y, z])
    normal = R @ np.array([1.0, 0, 0])
    head, tail = R @ np.array([0.245, 0, 0]) + p, R @ np.array([0.245, 0, 0.03]) + p
    closed = PlanningScene(
        keypoints={
            "articulated_object_head": head,
            "articulated_object_tail": tail,
            "link_contact_point": R @ np.array([0.2, 0.1, 0]) + p,
        },
        axes={"link0_contact_axis": np.cross(normal, [0, 0, 1.0]), "link0_move_axis": normal},
        R_base_link=R,
        R_base_world=np.eye(3),
        joint=JointGeometry(True, p, normal, 0.0, 0.0, 0.3),
        s_closed=0.0,
        s_open=0.3,
        moving_names=frozenset((*LINK, "link0_move_axis")),
    )
    return closed.at(s)


_OUTWARD = {
    "type": "frame_axis_parallel",
    "axis_from_keypoint_name": "tool_head",
    "axis_to_keypoint_name": "tool_tail",
    "cross_target_axis1_from_keypoint_name": "articulated_object_head",
    "cross_target_axis1_to_keypoint_name": "articulated_object_tail",
    "target_axis": "link0_contact_axis",
}


def open_raw():
    return {
        "success_threshold": 0.7,
        "constraint_list": [
            {
                "name": "fingers at the handle",
                "type": "point2point_constraint",
                "keypoint_name": "tool_head",
                "target_keypoint_name": "articulated_object_head",
                "tolerance": 1e-3,
            },
            {
                "name": "fingers across the handle",
                "type": "keypoint_axis_parallel",
                "axis_from_keypoint_name": "tool_head",
                "axis_to_keypoint_name": "tool_side",
                "target_axis_from_keypoint_name": "articulated_object_head",
                "target_axis_to_keypoint_name": "articulated_object_tail",
                "tolerance": 0.05,
            },
            {**_OUTWARD, "name": "from the front", "tolerance": 0.8},
        ],
        "pre_actuation_motions": [["translate_z", -0.1]],
    }


def close_raw():
    return {
        "success_threshold": 0.08,
        "constraint_list": [
            {
                "name": "fingers at the door",
                "type": "point2point_constraint",
                "keypoint_name": "tool_head",
                "target_keypoint_name": "link_contact_point",
                "tolerance": 1e-3,
            },
            {**_OUTWARD, "name": "from the front", "tolerance": 0.6},
        ],
        "pre_actuation_motions": [["translate_z", -0.08]],
    }


@pytest.fixture
def open_setting():
    return read_planner_setting(open_raw(), where="skills[0].planner_setting")[0]


@pytest.fixture
def close_setting():
    return read_planner_setting(close_raw(), where="skills[0].planner_setting")[0]


@dataclass
class RowTerm:
    """A row in the role of a term."""

    fixed: object
    label: str = "given"
    TYPE = "given"

    def row(self, tool, scene):
        return self.fixed


@pytest.fixture(scope="session")
def row_term():
    return RowTerm


@dataclass
class Pair:
    """What a checker answers with."""

    link_a: str
    link_b: str
    distance_m: float = -0.01
    where: tuple[float, float, float] = (0.0, 0.0, 0.0)


class ToyChecker:
    """Collides where a function of (q, s, gripper, allowed links) names a pair."""

    def __init__(self, hit):
        self.hit = hit
        self.allowed = frozenset()
        self.queries = 0

    def deepest_collision(self, q, *, s=None, gripper=None, clearance_m=None):
        del clearance_m
        self.queries += 1
        names = self.hit(q, s, gripper, self.allowed)
        return Pair(*names) if names is not None else None

    @contextmanager
    def allow(self, links):
        before, self.allowed = self.allowed, frozenset(links)
        try:
            yield
        finally:
            self.allowed = before


@pytest.fixture(scope="session")
def toy_checker():
    return ToyChecker


@pytest.fixture
def door():
    return door_scene


@pytest.fixture
def drawer():
    return drawer_scene
