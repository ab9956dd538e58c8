"""Reads goal problems from outside (`problems.json`) as rows of the solver."""

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

from unlatch.robots.franka_panda import franka_panda, urdf_path
from unlatch.simcore.geometry import Pose
from unlatch.solver.goal.parameter_layout import Nearness
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel, JointGeometry, PlanningScene
from unlatch.solver.terms.row import AxisRow, PointRow, Row

Array = np.ndarray

FEASIBLE = ("solved", "missed_by_9_seeds_but_feasible")
CONTRADICTING = "provably_infeasible_axis_conflict"
VARIABLE = "UNLATCH_KPAM_PROBLEMS"


@dataclass
class Given:
    """A row as it stands in the file, in the place of a term."""

    fixed: Row
    label: str
    TYPE = "given"

    def row(self, tool: Mapping[str, Any], scene: PlanningScene) -> Row:
        """The row."""
        del tool, scene
        return self.fixed


def load(path: str | None) -> dict[str, Any]:
    """The file, given as a path to it or to its folder, or by the environment variable.

    Raises:
        SystemExit: There is none.
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
    """The arm of the set: a Panda with tool keypoints of its own; a new one, with programs of its own, at each call."""
    arm = franka_panda().arms[0]
    box = common["workspace_box"]
    return ArmModel(
        kinematics=Kinematics.from_urdf(urdf_path(), base_link=arm.base_link, tip_link=arm.ee_link),
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
    """The cost of the set, without its constant share of the fingers."""
    T = np.array(common["hand_pose_at_current"])
    return Nearness(
        weights=np.array(common["centering_weights_diag"][:7], dtype=float),
        T_base_ee=Pose(T[:3, :3], T[:3, 3]),
        position_weight=float(common["hand_position_cost"]["weight"]),
        rotation_weight=float(common["hand_orientation_cost"]["weight"]),
    )


def terms_of(problem: Mapping[str, Any], keypoints: Mapping[str, Array]) -> list[Given]:
    """The constraints of one problem, named by their place and kind."""
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
    """Smallest, largest and wanted angle of an axis constraint [rad]; from its inner product where they are missing."""
    wanted = entry.get("target_angle_rad")
    if wanted is None:
        wanted = math.acos(min(1.0, max(-1.0, float(entry["target_inner_product"]))))
    lower = entry.get("angle_lower_rad", max(0.0, wanted - entry.get("tolerance", 0.0)))
    upper = entry.get("angle_upper_rad", min(math.pi, wanted + entry.get("tolerance", 0.0)))
    return float(lower), float(upper), float(wanted)


def seeds_of(problem: Mapping[str, Any], common: Mapping[str, Any], index: int) -> list[list[float]]:
    """The peer's starts: those of the file, else the present joints and eight anchors, drawn as the file's were."""
    if problem.get("seeds"):
        return list(problem["seeds"])
    anchors = common["anchor_seeds"]
    drawn = np.random.default_rng([777, index]).integers(0, len(anchors), 8)
    return [common["current_joints"], *[anchors[int(i)] for i in drawn]]


def scene() -> PlanningScene:
    """An empty scene: the rows carry their targets."""
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
    """The problem with its object moved rigidly: yaw within 0.6 rad, 0.12 m to the sides, -0.05 to 0.10 m in height.

    What the file knows of the answer no longer holds and is left out.
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
    """The lowest cost that the file knows; infinite where it knows none."""
    found = [np.inf]
    peer = problem.get("drake") or {}
    if peer.get("solved"):
        found.append(peer["cost"])
    more = problem.get("drake_extended_60_seeds") or {}
    if more.get("best_cost") is not None:
        found.append(more["best_cost"])
    return float(min(found))


def violation(terms: list[Given], arm: ArmModel, q: Array) -> tuple[float, float]:
    """How far joints leave the constraints and the workspace beyond tolerance, and the joint limits, from scratch.

    Args:
        terms: The constraints.
        arm: The arm.
        q: (n,) joints [rad].

    Returns:
        The largest excess [m or rad, alike], and the largest excess of a joint limit [rad].
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
