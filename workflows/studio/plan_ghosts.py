"""Draws a planned chain: paths, the hand at each keyframe, and arms and objects at the moment of the clock."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.studio.jobs import PLAN, RUN, Array, PlanResult, ShownPlan
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.viewing.picture import SEGMENT_RGB
from unlatch.workflows.viewing.recorded_scene import ColouredMesh, SceneModel, ShownBody, link_bodies
from unlatch.workflows.viewing.scene_nodes import LiveScene, SceneNodes

_GHOST_RGB, _BAD_RGB = (90, 140, 235), (214, 69, 56)


class PlanGhosts:
    """The plans of one scene as ghosts."""

    def __init__(self, server: Any, session: StudioSession, scene: LiveScene) -> None:
        self._session, self._scene = session, scene
        self._hands, self._arms = SceneNodes(server), SceneNodes(server)
        self._drawn: tuple[PlanResult, int | None, bool] | None = None
        self._tinted: dict[tuple[str, tuple[int, int, int]], list[ColouredMesh]] = {}
        """Meshes of the links of the robot `_tinted_robot` in the colour of a ghost: equal ones are not sent again."""
        self._tinted_robot: RobotCfg | None = None

    def draw(self, plan: PlanResult | None, robot: RobotCfg) -> None:
        """Draws the whole chain; while the time slider shows the plan, the hands of the present skill only."""
        show, clock, model = self._session.drawn(), self._session.clock, self._scene.robot
        if plan is None or not show.ghosts or clock.of == RUN or model is None:
            self._hands.clear("plan")
            self._hands.show([])
            self._drawn = None
            self._arms.hide_bodies()
            return
        if self._tinted_robot != robot:
            self._tinted, self._tinted_robot = {}, robot
        stage = plan.moment(clock.frame)[0] if clock.of == PLAN else None
        if self._drawn is None or self._drawn[0] is not plan or self._drawn[1:] != (stage, show.names):
            self._draw_chain(plan, robot, model, stage)
            self._drawn = plan, stage, show.names
        self._pose_arms(plan, robot, model)

    def _draw_chain(self, plan: PlanResult, robot: RobotCfg, model: SceneModel, stage: int | None) -> None:
        """Draws the paths of all skills, and the hands at the keyframes of one stage; None: of all stages."""
        self._hands.clear("plan")
        hands: list[ShownBody] = []
        for index, each in enumerate(plan.plans):
            for number, segment in enumerate(each.segments):
                if len(segment.tip) > 1:
                    rgb = SEGMENT_RGB.get(segment.kind, (0, 0, 0))
                    self._hands.add_path("plan", f"plan/{index}/path/{number}", segment.tip, rgb, thickness=0.006)
            if stage is None or each.stage == stage:
                number_of_skill = index + 1 if len(plan.plans) > 1 else None
                hands += self._hands_of(f"plan/{index}", each, robot, model, number=number_of_skill)
        self._hands.show(hands)

    def _hands_of(
        self, path: str, plan: ShownPlan, robot: RobotCfg, model: SceneModel, *, number: int | None
    ) -> Iterator[ShownBody]:
        """Yields the hand of every keyframe but the present one, and writes the names of the keyframes.

        In a chain, which has a `number` for each skill, only the goal has a name.
        """
        names = self._session.drawn().names  # so many that those of the keyframes would hide them
        arm = next(entry for entry in robot.arms if entry.name == plan.arm)
        meshes = self._tint(model, links_below(robot, arm.ee_link), _GHOST_RGB)
        for index, keyframe in enumerate(plan.keyframes):
            if keyframe.label == "current":
                continue
            place = f"{path}/keyframes/{index}"
            yield from link_bodies(place, meshes, robot_poses(model, robot, {plan.arm: keyframe.q}))
            if not names and (number is None or keyframe.label == "goal"):
                words = keyframe.label if number is None else f"{number} {plan.skill}"
                self._hands.add_label("plan", f"{place}/name", words, position=keyframe.position)

    def _pose_arms(self, plan: PlanResult, robot: RobotCfg, model: SceneModel) -> None:
        """Poses the arms at the moment of the clock, or where the constraints are nearest to being met."""
        joints = self.joints(plan)
        if not joints:
            self._arms.hide_bodies()
            return
        arms = [entry for entry in robot.arms if entry.name in joints]
        links = set().union(*(links_below(robot, arm.base_link) for arm in arms))
        meshes = self._tint(model, links, _GHOST_RGB if plan.found else _BAD_RGB)
        self._arms.show(link_bodies("ghost", meshes, robot_poses(model, robot, joints)))

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

    def _tint(
        self, model: SceneModel, links: Collection[str], rgb: tuple[int, int, int]
    ) -> dict[str, list[ColouredMesh]]:
        """Returns the meshes of the visible ones of some links, translucent in one colour."""
        red, green, blue = (value / 255 for value in rgb)
        found = {}
        for link in model.meshes:
            if link in links:
                if (link, rgb) not in self._tinted:
                    self._tinted[link, rgb] = [
                        ColouredMesh(mesh.vertices, mesh.faces, (red, green, blue, 0.35)) for mesh in model.meshes[link]
                    ]
                found[link] = self._tinted[link, rgb]
        return found


def robot_poses(model: SceneModel, robot: RobotCfg, joints: Mapping[str, Array]) -> dict[str, Pose]:
    """Returns the world pose of every visible link of a robot with joint positions (n,) of some arms [rad].

    Arms without positions stay as they were posed last.
    """
    arms = [arm for arm in robot.arms if arm.name in joints]
    names = [name for arm in arms for name in arm.joints]
    return model.link_poses(names, np.concatenate([joints[arm.name] for arm in arms]))


def hand_pose(model: SceneModel, arm: ArmCfg, q: Array) -> Pose:
    """Returns the world pose of an arm's hand at joint positions (n,) [rad]."""
    model.body.set_joint_positions(arm.joints, q)
    return model.body.link_pose(arm.ee_link)


def row_at(plan: ShownPlan, frame: int) -> Array:
    """Returns the joints (n,) of a plan's arm in a frame of its motion; after its end, those of its end [rad]."""
    rows = np.concatenate([segment.q for segment in plan.segments])
    return rows[min(frame, len(rows) - 1)]


def links_below(robot: RobotCfg, top: str) -> set[str]:
    """Returns the names of a link and of all links below it: of an arm, or of a hand with its gripper."""
    model = read_urdf(model_path(robot), packages=True)
    return {link for link in model.links if model.is_below(link, top)}


State = dict[str, Array]
"""Arrays (1, ...) by the key of the record."""


def planned_state(plan: PlanResult, frame: int, robot: RobotCfg, scene: LiveScene) -> State:
    """Returns the state at a frame of the chain; the robot stays where it is at the start."""
    stage, frame = plan.moment(frame)
    state = {key: np.asarray(value)[None] for key, value in plan.scene.state.items()}
    begun = plan.states[stage] if stage < len(plan.states) else {}
    state.update({key: np.asarray(value)[None] for key, value in begun.items() if not key.startswith("robots.")})
    present = [each for each in plan.plans if each.stage == stage]
    for each in present:
        if each.joint is not None and each.keyframes:
            at = _position_of_part(each, frame)
            _move_contents(state, each, at, scene)
            state = move_parts(state, {(each.object, each.joint): at}, scene)
        _carry(state, each, frame, robot, scene)
    return state


def move_parts(state: Mapping[str, Array], moved: Mapping[tuple[str, str], float], scene: LiveScene) -> State:
    """Returns a state with other positions of joints, by (object, joint), and of their keypoints."""
    result = dict(state)
    for name, model in scene.objects.items():
        joints = [joint.name for joint in model.body.movable_joints]
        key = f"objects.{name}.joint_positions"
        positions = np.array(state[key])
        for column, joint in enumerate(joints):
            positions[0, column] = moved.get((name, joint), positions[0, column])
        result[key] = positions
        model.body.set_joint_positions(joints, positions[0])
        for part in scene.assets[name].articulation.parts.values():
            for label, point in part.keypoints.items():
                frame = model.body.link_pose({"link": part.link, "base": part.base}.get(point.frame, part.base))
                if point.frame not in ("link", "base"):
                    frame = model.body.root_pose()
                if (place := f"keypoints.{name}.{part.name}.{label}") in result:
                    result[place] = np.asarray(frame @ point.xyz)[None]
    return result


def _position_of_part(plan: ShownPlan, frame: int) -> float:
    """Returns the position of the part that a plan leads, at a frame of its motion [rad or m]."""
    at, first = plan.keyframes[0].s, 0
    for segment in plan.segments:
        if frame < first:
            break
        if segment.s is not None:
            at = float(segment.s[min(frame - first, len(segment.s) - 1)])
        first += len(segment.q)
    return at


def _move_contents(state: State, plan: ShownPlan, at: float, scene: LiveScene) -> None:
    """Moves what lies in a part, such as a drawer, along with it."""
    model, asset = scene.objects[plan.object], scene.assets[plan.object]
    link = next(part.link for part in asset.articulation.parts.values() if part.joint == plan.joint)
    joints = [joint.name for joint in model.body.movable_joints]
    model.body.set_root_pose(_root_pose(state, plan.object))
    model.body.set_joint_positions(joints, state[f"objects.{plan.object}.joint_positions"][0])
    T_world_start = model.body.link_pose(link)
    model.body.set_joint_positions([str(plan.joint)], np.array([at]))
    T_world_now = model.body.link_pose(link)
    regions = [region for region in asset.regions.values() if region.link == link]
    for name, other in scene.assets.items():
        if name == plan.object:
            continue
        pose = _root_pose(state, name)
        middle = pose @ other.bounds_obj.mean(axis=0)
        if any(region.holds((T_world_start @ region.T_link_region).inverse() @ middle) for region in regions):
            _set_root_pose(state, name, T_world_now @ T_world_start.inverse() @ pose)


def _carry(state: State, plan: ShownPlan, frame: int, robot: RobotCfg, scene: LiveScene) -> None:
    """Moves what the hand of a plan has at a frame of its motion."""
    carried, model = plan.carried, scene.robot
    if carried is None or model is None or not plan.segments or carried.object not in scene.objects:
        return
    arm = next(entry for entry in robot.arms if entry.name == plan.arm)
    now = min(max(frame, carried.first), carried.last)
    T_world_hand, T_world_first = (hand_pose(model, arm, row_at(plan, each)) for each in (now, carried.first))
    _set_root_pose(state, carried.object, T_world_hand @ T_world_first.inverse() @ _root_pose(state, carried.object))


def _root_pose(state: Mapping[str, Array], name: str) -> Pose:
    return Pose.from_quat_xyzw(state[f"objects.{name}.root_position"][0], state[f"objects.{name}.root_quat_xyzw"][0])


def _set_root_pose(state: State, name: str, pose: Pose) -> None:
    state[f"objects.{name}.root_position"] = pose.p[None]
    state[f"objects.{name}.root_quat_xyzw"] = pose.quat_xyzw[None]
