"""Reads goal problems of other systems (`problems.json`) as rows of the solver.

Every target of the file is a vector in the base frame of the arm (`target_in_base`, `target_axis_in_base`), so
nothing here reads the name of a frame. Whoever wrote the file turned the axes of the frame called `object` with the
moving link: for all 917 of them, `target_axis_in_base` is the axis turned by `object_T_in_base`. GenSim2 itself turns
them with the root of the articulation (`root_pose_in_base`), which agrees for 11 of them. The comparison of the
solvers stands, because both solve the same numbers, but most of these goals are not those at which GenSim2 acts.
Planner settings of GenSim2 are read with the root: `unlatch.solver.setting_reader`.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import Nearness
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene
from unlatch.solver.term import AxisRow, PointRow, Row

Array = np.ndarray

FEASIBLE = ("solved", "missed_by_9_seeds_but_feasible")
CONTRADICTING = "provably_infeasible_axis_conflict"
VARIABLE = "UNLATCH_KPAM_PROBLEMS"


@dataclass
class Given:
    """A row of the file in the role of a term."""

    fixed: Row
    label: str
    TYPE = "given"

    def row(self, tool: Mapping[str, Any], scene: PlanningScene) -> Row:
        """Returns the row."""
        del tool, scene
        return self.fixed


def load(path: str | None) -> dict[str, Any]:
    """Reads the file. The path names it or its folder; without a path, the environment variable does.

    Raises:
        SystemExit: There is no such file.
    """
    chosen = path or os.environ.get(VARIABLE)
    if chosen is None:
        raise SystemExit(f"No problems: give problems=FILE, or set {VARIABLE} to problems.json or its folder.")
    file = Path(chosen)
    file = file / "problems.json" if file.is_dir() else file
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as exc:
        raise SystemExit(f"{file} cannot be read: {exc.strerror}.") from exc


def arm_of(common: Mapping[str, Any]) -> ArmModel:
    """Returns a new model of the set's arm: a Panda with the set's tool keypoints. Each has its own programs."""
    arm = load_robot("franka_panda").arms[0]
    box = common["workspace_box"]
    return ArmModel(
        kinematics=Kinematics.from_urdf(model_path("franka_panda"), base_link=arm.base_link, tip_link=arm.ee_link),
        tool_keypoints={name: np.array(p) for name, p in common["keypoints_in_hand"].items()},
        q_lower=np.array(common["robot"]["lower"][:7]),
        q_upper=np.array(common["robot"]["upper"][:7]),
        max_velocity=np.array(arm.max_velocity),
        max_acceleration=np.array(arm.max_acceleration),
        workspace=np.array([box["lower"], box["upper"]], dtype=float),
        q_home=np.array(common["current_joints"][:7]),
        symmetric_gripper=False,
    )


def nearness_of(common: Mapping[str, Any]) -> Nearness:
    """Returns the cost of the set, without the constant share of the fingers."""
    T = np.array(common["hand_pose_at_current"])
    return Nearness(
        weights=np.array(common["centering_weights_diag"][:7], dtype=float),
        T_base_ee=Pose(T[:3, :3], T[:3, 3]),
        position_weight=float(common["hand_position_cost"]["weight"]),
        rotation_weight=float(common["hand_orientation_cost"]["weight"]),
    )


def terms_of(problem: Mapping[str, Any], keypoints: Mapping[str, Array]) -> list[Given]:
    """Returns the constraints of one problem, named by index and kind."""
    terms = []
    for i, entry in enumerate(problem["constraints"]):
        label = f"constraint_list[{i}]"
        row: Row
        if entry["kind"] == "point":
            point = np.array(keypoints[entry["keypoint"]])
            row = PointRow(point, np.array(entry["target_in_base"]), entry["tolerance"])
        else:
            x = np.array(keypoints[entry["to_keypoint"]]) - np.array(keypoints[entry["from_keypoint"]])
            a = np.array(entry["target_axis_in_base"])
            lower, upper, wanted = angles_of(entry)
            row = AxisRow(x / np.linalg.norm(x), a / np.linalg.norm(a), lower, upper, wanted)
        terms.append(Given(row, label))
    return terms


def angles_of(entry: Mapping[str, Any]) -> tuple[float, float, float]:
    """Returns smallest, largest and target angle of an axis constraint [rad]; if missing, from its inner product."""
    wanted = entry.get("target_angle_rad")
    if wanted is None:
        wanted = math.acos(min(1.0, max(-1.0, float(entry["target_inner_product"]))))
    lower = entry.get("angle_lower_rad", max(0.0, wanted - entry.get("tolerance", 0.0)))
    upper = entry.get("angle_upper_rad", min(math.pi, wanted + entry.get("tolerance", 0.0)))
    return float(lower), float(upper), float(wanted)


def seeds_of(problem: Mapping[str, Any], common: Mapping[str, Any], index: int) -> list[list[float]]:
    """Returns Drake's starts: those of the file, or the present joints and eight anchors drawn in the same way."""
    if problem.get("seeds"):
        return list(problem["seeds"])
    anchors = common["anchor_seeds"]
    drawn = np.random.default_rng([777, index]).integers(0, len(anchors), 8)
    return [common["current_joints"], *[anchors[int(i)] for i in drawn]]


def scene() -> PlanningScene:
    """Returns an empty scene, because the rows contain their targets."""
    return PlanningScene(
        keypoints={},
        axes={},
        R_base_link=np.eye(3),
        R_base_world=np.eye(3),
        joint=JointGeometry(False, np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.0, 0.0, 1.0),
        s_closed=0.0,
        s_open=1.0,
    )


def moved(problem: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Moves the object of a problem rigidly: yaw within 0.6 rad, 0.12 m to the sides, -0.05 to 0.10 m in height.

    Removes the known answers of the file, because they no longer hold.
    """
    angle = rng.uniform(-0.6, 0.6)
    shift = np.array([*rng.uniform(-0.12, 0.12, 2), rng.uniform(-0.05, 0.10)])
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    out = {key: copy.deepcopy(problem[key]) for key in ("id", "constraints", "seeds") if key in problem}
    for entry in out["constraints"]:
        if entry["kind"] == "point":
            entry["target_in_base"] = (R @ np.array(entry["target_in_base"]) + shift).tolist()
        else:
            entry["target_axis_in_base"] = (R @ np.array(entry["target_axis_in_base"])).tolist()
    return out


def best_known(problem: Mapping[str, Any]) -> float:
    """Returns the lowest cost in the file; infinite if it has none."""
    found = [np.inf]
    peer = problem.get("drake") or {}
    if peer.get("solved"):
        found.append(peer["cost"])
    more = problem.get("drake_extended_60_seeds") or {}
    if more.get("best_cost") is not None:
        found.append(more["best_cost"])
    return float(min(found))


def violation(terms: list[Given], arm: ArmModel, q: Array) -> tuple[float, float]:
    """Measures the violations of constraints, workspace and joint limits independently of the solver.

    Args:
        terms: The constraints.
        arm: The arm.
        q: (n,) joints [rad].

    Returns:
        The largest violation of constraints and workspace [m or rad], and of a joint limit [rad].
    """
    T = arm.kinematics.fk(q)
    R, p = T[:3, :3], T[:3, 3]
    out = [0.0, float(np.max(arm.workspace[0] - p)), float(np.max(p - arm.workspace[1]))]
    for term in terms:
        row = term.fixed
        if isinstance(row, PointRow):
            out.append(float(np.abs(R @ row.x_ee + p - row.target).max()) - row.tolerance)
        elif isinstance(row, AxisRow):
            v = R @ row.x_ee
            angle = float(np.arctan2(np.linalg.norm(np.cross(v, row.target)), v @ row.target))
            out += [row.lower - angle, angle - row.upper]
    return max(out), float(max(np.max(arm.q_lower - q), np.max(q - arm.q_upper), 0.0))
