"""Draws a planned chain: paths, the hand at each keyframe, and the arms at the moment of the clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.model import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.studio.drawing.groups import HandleGroups
from unlatch.workflows.studio.jobs import Array, PlanResult, ShownPlan
from unlatch.workflows.studio.session import PLAN, RUN, StudioSession
from unlatch.workflows.viewing.live.scene import LiveScene
from unlatch.workflows.viewing.viewers.link_meshes import ColouredMesh
from unlatch.workflows.viewing.viewers.scene_models import SceneModel
from unlatch.workflows.viewing.viewers.viser_scene import add_body

_GHOST_RGB, _BAD_RGB = (90, 140, 235), (214, 69, 56)
SEGMENT_RGB = {
    "transit": (130, 130, 130),
    "approach": (40, 90, 220),
    "contact": (230, 120, 20),
    "follow": (20, 150, 60),
    "retreat": (150, 60, 170),
}
"""Colours of the parts of a planned motion."""


class PlanGhosts:
    """The plans of one scene as ghosts."""

    def __init__(self, server: Any, session: StudioSession, scene: LiveScene) -> None:
        self._view, self._session, self._scene = server.scene, session, scene
        self._groups = HandleGroups()
        self._ghost: dict[str, Any] = {}
        self._ghost_of: tuple[RobotCfg, tuple[int, int, int]] | None = None
        self._drawn: tuple[PlanResult, int | None, bool] | None = None

    def draw(self, plan: PlanResult | None, robot: RobotCfg) -> None:
        """Draws the whole chain; while the time slider shows the plan, the hands of the present skill only."""
        show, clock = self._session.drawn(), self._session.clock
        if plan is None or not show.ghosts or clock.of == RUN:
            self._groups.clear("plan")
            self._drawn = None
            self._hide_ghost()
            return
        stage = plan.moment(clock.frame)[0] if clock.of == PLAN else None
        if self._drawn is None or self._drawn[0] is not plan or self._drawn[1:] != (stage, show.names):
            self._groups.clear("plan")
            for index, each in enumerate(plan.plans):
                self._add_paths(f"plan/{index}", each)
                if stage is None or each.stage == stage:
                    self._add_hands(f"plan/{index}", each, robot, number=index + 1 if len(plan.plans) > 1 else None)
            self._drawn = plan, stage, show.names
        self._pose_ghost(plan, robot)

    def _add_paths(self, path: str, plan: ShownPlan) -> None:
        for index, segment in enumerate(plan.segments):
            if len(segment.tip) < 2:
                continue
            pairs = np.stack([segment.tip[:-1], segment.tip[1:]], axis=1)
            rgb = SEGMENT_RGB.get(segment.kind, (0, 0, 0))
            line = self._view.add_line_segments(f"/{path}/path/{index}", pairs, rgb, thickness=0.006)
            self._groups.keep("plan", line)

    def _add_hands(self, path: str, plan: ShownPlan, robot: RobotCfg, *, number: int | None) -> None:
        """Draws the hand of every keyframe but the present one.

        In a chain, which has a `number` for each skill, only the goal has a name.
        """
        model = self._scene.robot
        if model is None:
            return
        names = self._session.drawn().names  # so many that those of the keyframes would hide them
        arm = next(entry for entry in robot.arms if entry.name == plan.arm)
        links = hand_links(robot, arm)
        meshes = {
            link: [_tinted(mesh, _GHOST_RGB) for mesh in model.meshes[link]] for link in links if link in model.meshes
        }
        for index, keyframe in enumerate(plan.keyframes):
            if keyframe.label == "current":
                continue
            place = f"{path}/keyframes/{index}"
            for link, pose in robot_poses(model, robot, {plan.arm: keyframe.q}).items():
                if link in meshes:
                    body = add_body(self._view, f"{place}/{link}", meshes[link], position=pose.p, wxyz=pose.quat_wxyz)
                    self._groups.keep("plan", body)
            if not names and (number is None or keyframe.label == "goal"):
                words = keyframe.label if number is None else f"{number} {plan.skill}"
                label = self._view.add_label(
                    f"/{place}/name", words, position=keyframe.position, font_screen_scale=0.75
                )
                self._groups.keep("plan", label)

    def _pose_ghost(self, plan: PlanResult, robot: RobotCfg) -> None:
        """Poses the arms at the moment of the clock, or where the constraints are nearest to being met."""
        joints, model = self.joints(plan), self._scene.robot
        if not joints or model is None:
            self._hide_ghost()
            return
        self._make_ghost(model, robot, _GHOST_RGB if plan.found else _BAD_RGB)
        arms = [entry for entry in robot.arms if entry.name in joints]
        shown = set().union(*(arm_links(robot, arm) for arm in arms))
        for link, pose in robot_poses(model, robot, joints).items():
            frame = self._ghost[link]
            frame.visible = link in shown
            frame.position, frame.wxyz = pose.p, pose.quat_wxyz

    def joints(self, plan: PlanResult) -> dict[str, Array]:
        """Returns the joints (n,) of every arm that acts at the moment of the clock, by its name [rad]."""
        clock = self._session.clock
        stage, frame = plan.moment(clock.frame) if clock.of == PLAN else (len(plan.stage_frames()) - 1, 0)
        joints: dict[str, Array] = {}
        for each in plan.plans:
            if each.stage != stage:
                continue
            if clock.of == PLAN and each.segments:
                joints[each.arm] = row_at(each, frame)
            elif each.compromise is not None:
                joints[each.arm] = each.compromise
        return joints

    def _make_ghost(self, model: SceneModel, robot: RobotCfg, rgb: tuple[int, int, int]) -> None:
        if self._ghost and self._ghost_of == (robot, rgb):
            return
        for frame in self._ghost.values():
            frame.remove()
        self._ghost_of = robot, rgb
        self._ghost = {
            link: add_body(
                self._view,
                f"ghost/{link}",
                [_tinted(mesh, rgb) for mesh in meshes],
                position=np.zeros(3),
                wxyz=np.array([1.0, 0.0, 0.0, 0.0]),
            )
            for link, meshes in model.meshes.items()
        }

    def _hide_ghost(self) -> None:
        for frame in self._ghost.values():
            frame.visible = False


def robot_poses(model: SceneModel, robot: RobotCfg, joints: Mapping[str, Array]) -> dict[str, Pose]:
    """Returns the world pose of every visible link of a robot with other joint positions (n,) of some arms [rad]."""
    names: list[str] = []
    positions: list[float] = []
    for arm in robot.arms:
        if arm.name in joints:
            names += arm.joints
            positions += [float(value) for value in joints[arm.name]]
    before = model.body.joint_positions(names)
    poses = model.link_poses(names, np.array(positions))
    model.body.set_joint_positions(names, before)
    return poses


def hand_pose(model: SceneModel, arm: ArmCfg, q: Array) -> Pose:
    """Returns the world pose of an arm's hand at joint positions (n,) [rad]."""
    before = model.body.joint_positions(arm.joints)
    model.body.set_joint_positions(arm.joints, q)
    pose = model.body.link_pose(arm.ee_link)
    model.body.set_joint_positions(arm.joints, before)
    return pose


def row_at(plan: ShownPlan, frame: int) -> Array:
    """Returns the joints (n,) of a plan's arm in a frame of its motion; after its end, those of its end [rad]."""
    rows = np.concatenate([segment.q for segment in plan.segments])
    row: Array = rows[min(frame, len(rows) - 1)]
    return row


def hand_links(robot: RobotCfg, arm: ArmCfg) -> set[str]:
    """Returns the names of the links of an arm's hand: the link that carries the gripper and all below it."""
    return _links_below(robot, arm.ee_link)


def arm_links(robot: RobotCfg, arm: ArmCfg) -> set[str]:
    """Returns the names of the links of an arm and its hand."""
    return _links_below(robot, arm.base_link)


def _links_below(robot: RobotCfg, top: str) -> set[str]:
    model = read_urdf(model_path(robot), packages=True)
    return {link for link in model.links if model.is_below(link, top)}


def _tinted(mesh: ColouredMesh, rgb: tuple[int, int, int]) -> ColouredMesh:
    red, green, blue = rgb
    return ColouredMesh(mesh.vertices, mesh.faces, (red / 255, green / 255, blue / 255, 0.35))
