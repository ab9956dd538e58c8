"""Solves the goal problems in Drake with SNOPT, with the formulation and starts of GenSim2. Needs the extra `bench`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from kpam_problems import angles_of, seeds_of

from unlatch.simcore.extras import install_command

Array = np.ndarray

_LINK = (
    '<link name="{name}"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
_JOINT = (
    '<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>'
    '<origin xyz="{xyz}" rpy="{rpy}"/>{rest}</joint>'
)


class DrakePeer:
    """Solves each problem from nine starts and takes the solution nearest to the present joints."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        """Builds the plant. The times do not include this.

        Args:
            common: The `common` part of the problems.

        Raises:
            SystemExit: Drake is not installed.
        """
        try:
            import pydrake.all as drake
        except ImportError as exc:
            raise SystemExit(f"The peer needs Drake: {install_command('bench')}, or run with drake=false.") from exc
        self.drake = drake
        self.common = common
        plant = drake.MultibodyPlant(0.0)
        drake.Parser(plant).AddModelsFromString(_arm_urdf(common), "urdf")
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("panda_link0"))
        plant.Finalize()
        self.plant = plant
        self.hand = plant.GetFrameByName("panda_hand")
        self.keypoints = {name: np.array(p) for name, p in common["keypoints_in_hand"].items()}
        self.current = np.array(common["current_joints"])
        self.pose = np.array(common["hand_pose_at_current"])

    def solve(self, problem: Mapping[str, Any], index: int = 0) -> tuple[Array | None, float]:
        """Returns the chosen solution and its cost.

        Args:
            problem: One problem.
            index: Its number. It seeds the starts if the problem states none.

        Returns:
            (7,) joints of the arm [rad] or None, and the optimal cost of that solution.
        """
        best: tuple[float, Array, float] | None = None
        for seed in seeds_of(problem, self.common, index):
            result, q = self._solve_from(problem, np.array(seed))
            if not result.is_success():
                continue
            found = result.GetSolution(q)
            away = float(np.linalg.norm(found - self.current))
            if best is None or away < best[0]:
                best = (away, found, float(result.get_optimal_cost()))
        return (None, float("inf")) if best is None else (best[1][:7], best[2])

    def _solve_from(self, problem: Mapping[str, Any], seed: Array) -> Any:
        drake, plant, world, hand = self.drake, self.plant, self.plant.world_frame(), self.hand
        ik = drake.InverseKinematics(plant, True)
        program = ik.get_mutable_prog()
        q = ik.q()
        weights = np.diag(self.common["centering_weights_diag"])
        program.AddQuadraticErrorCost(weights, np.array(self.common["centering_joint"]), q)
        ik.AddPositionCost(world, self.pose[:3, 3], hand, np.zeros(3), np.eye(3))
        ik.AddOrientationCost(world, drake.RotationMatrix(self.pose[:3, :3]), hand, drake.RotationMatrix(), 1.0)
        box = self.common["workspace_box"]
        ik.AddPositionConstraint(hand, np.zeros(3), world, np.array(box["lower"], float), np.array(box["upper"], float))
        for entry in problem["constraints"]:
            if entry["kind"] == "point":
                target, tolerance = np.array(entry["target_in_base"]), entry["tolerance"]
                point = self.keypoints[entry["keypoint"]]
                ik.AddPositionConstraint(hand, point, world, target - tolerance, target + tolerance)
            else:
                axis = self.keypoints[entry["to_keypoint"]] - self.keypoints[entry["from_keypoint"]]
                target = np.array(entry["target_axis_in_base"])
                ik.AddAngleBetweenVectorsConstraint(hand, axis, world, target, *angles_of(entry)[:2])
        program.SetInitialGuess(q, seed)
        return drake.SnoptSolver().Solve(program, seed, drake.SolverOptions()), q


def _arm_urdf(common: Mapping[str, Any]) -> str:
    """Returns the URDF of the arm and its two fingers. The finger joints are variables of the formulation."""
    links, parent = [_LINK.format(name="panda_link0")], "panda_link0"
    joints = []
    for i, entry in enumerate(common["robot"]["kinematic_chain_to_hand"]):
        child = "panda_hand" if entry["name"] == "panda_hand_joint" else f"panda_link{i + 1}"
        links.append(_LINK.format(name=child))
        rest = ""
        if entry["axis"] is not None:
            low, high = entry["limit"]
            rest = _axis_and_limits(entry["axis"], low, high)
        joints.append(
            _JOINT.format(
                name=entry["name"],
                type=entry["type"],
                parent=parent,
                child=child,
                xyz=_join_values(entry["xyz"]),
                rpy=_join_values(entry["rpy"]),
                rest=rest,
            )
        )
        parent = child
    for i, axis in enumerate(([0, 1, 0], [0, -1, 0]), start=1):
        links.append(_LINK.format(name=f"finger{i}"))
        joints.append(
            _JOINT.format(
                name=f"panda_finger_joint{i}",
                type="prismatic",
                parent="panda_hand",
                child=f"finger{i}",
                xyz="0 0 0.0584",
                rpy="0 0 0",
                rest=_axis_and_limits(axis, 0.0, 0.04),
            )
        )
    return f'<robot name="arm">{"".join(links)}{"".join(joints)}</robot>'


def _axis_and_limits(axis: list[float], low: float, high: float) -> str:
    return f'<axis xyz="{_join_values(axis)}"/><limit lower="{low}" upper="{high}" effort="100" velocity="10"/>'


def _join_values(values: list[float]) -> str:
    return " ".join(repr(float(v)) for v in values)
