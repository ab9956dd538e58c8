"""A robot's description from its URDF alone: what can be derived, and what has to be looked up."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from unlatch.robots.description import ArmCfg, GripperCfg, RobotCfg
from unlatch.robots.from_urdf.hands import Chain, Hand, arm_chains, measured_hand, mimics
from unlatch.robots.from_urdf.reach import homes, reach
from unlatch.robots.model import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.surface import shape_triangles
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.contacts import touching_pairs
from unlatch.simcore.sim.rates import WorldCfg
from unlatch.simcore.sim.world import World
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.solver.kinematics import Kinematics
from unlatch.workflows.episode.scene import base_pose

Array = np.ndarray

HEADS_M = tuple((x, z) for z in (0.49, 0.55, 0.43, 0.62) for x in (0.31, 0.27, 0.35, 0.4))
"""Where the hand is at home, looking down, x and z, the first first: before the nearest object, as the Panda's [m]."""
GRIP_N = 30.0
"""Grip force where the URDF does not allow a smaller one: that of the smallest grippers in the catalog [N]."""
_ACCELERATION_RAD_S2 = 5.0
_FASTEST_RAD_S = 3.0
_STRONGEST_NM = 500.0
_FINGER_M_S = 0.05
_ARMATURE_KG_M2 = 1e-3
_BASES_M = tuple(round(0.1 * i, 1) for i in range(-4, 4))
_HEIGHTS_M = (0.0, 0.1, 0.2, 0.3)
_FRONT_M = 0.2
"""What stands still ends here above the table: objects come as near as 0.3 m, and doors swing out before them [m]."""
_ABOVE_M = 2e-3
"""Wheels stand so far above the table, where the robot is held [m]."""
_DRAWS = 60
_OFTEN = 0.8
_ONE_PLACE_M = 5e-3
_HOMES_TRIED = 40


def robot_from_urdf(urdf: Path, *, name: str, stated: str) -> RobotCfg:
    """Derives a robot's description.

    Joints, limits, gripper and keypoints are measured from the model; the base is put where the arms reach most of the
    region of derived tasks; home is far from singularities, with the hand looking down, and touches nothing.

    Args:
        urdf: The file.
        name: Name of the robot.
        stated: How the description names the file.

    Raises:
        AssetError: The file cannot be used, or has no arm with a gripper of two fingers.
    """
    model = read_urdf(urdf)
    follows = mimics(urdf)
    chains = arm_chains(model, urdf)
    hands = [measured_hand(model, chain, follows) for chain in chains]
    names = _sides(model, chains)
    arms = [_arm(model, *item) for item in zip(chains, hands, names, strict=True)]
    order = sorted(range(len(arms)), key=lambda i: names[i])
    cfg = RobotCfg(name=name, arms=[arms[i] for i in order], urdf=stated)
    cfg = _placed(cfg)
    cfg = replace(cfg, self_collision_ignored=_overlapping(cfg, model))
    return _at_home(cfg)


def _sides(model: UrdfModel, chains: list[Chain]) -> list[str]:
    if len(chains) == 1:
        return ["left"]
    if len(chains) > 2:
        raise AssetError(
            f"The URDF has {len(chains)} arms with grippers ({', '.join(c.ee_link for c in chains)}), expected one or "
            "two."
        )
    across = [float(model.link_pose(chain.ee_link).p[1]) for chain in chains]
    return ["left", "right"] if across[0] > across[1] else ["right", "left"]


def _arm(model: UrdfModel, chain: Chain, hand: Hand, name: str) -> ArmCfg:
    joints = [model.joints[joint] for joint in chain.joints]
    # what turns more than once is kept to one turn about 0: further ones reach nothing new
    free = [joint.kind == "continuous" or joint.upper - joint.lower > 4.0 * math.pi - 1e-3 for joint in joints]
    # a little inside, so that rounding never goes beyond the model
    lower = [round((-math.pi if f else j.lower) + 1e-4, 4) for j, f in zip(joints, free, strict=True)]
    upper = [round((math.pi if f else j.upper) - 1e-4, 4) for j, f in zip(joints, free, strict=True)]
    drive = model.joints[chain.finger_joints[0]]
    way = abs(hand.opened[0] - hand.closed[0])
    stroke = hand.widths_m[-1] - hand.widths_m[0]
    # by virtual work, what the motor of the first joint gives at the pads
    allowed = drive.effort * way / stroke if drive.effort > 0.0 and stroke > 0.0 else GRIP_N
    force = float(round(min(GRIP_N, max(allowed, 1.0)), 1))
    slides = model.joints[chain.finger_joints[0]].kind == "prismatic"
    gripper = GripperCfg(
        joints=list(chain.finger_joints),
        closed=list(hand.closed),
        opened=list(hand.opened),
        widths_m=[] if hand.opens_evenly else list(hand.widths_m),
        max_width_m=hand.widths_m[-1],
        max_force_n=force,
        grip_force_n=force,
        max_speed_m_s=_FINGER_M_S,
        armature_kg_m2=0.0 if slides else _ARMATURE_KG_M2,
        finger_links=list(hand.finger_links),
        friction=1.2,
    )
    return ArmCfg(
        name=name,
        base_link=chain.base_link,
        ee_link=chain.ee_link,
        joints=list(chain.joints),
        home=[float(np.clip(0.0, low, high)) for low, high in zip(lower, upper, strict=True)],
        home_std=0.02,
        lower=lower,
        upper=upper,
        max_velocity=[round(min(j.velocity, _FASTEST_RAD_S) if j.velocity > 0.0 else 1.0, 4) for j in joints],
        max_acceleration=[_ACCELERATION_RAD_S2] * len(joints),
        max_effort=[round(min(j.effort, _STRONGEST_NM) if j.effort > 0.0 else 1.0, 3) for j in joints],
        keypoints=hand.keypoints,
        forbidden_links=_arm_links(model, chain, hand),
        workspace=[[-0.6, -1.3, -0.9], [1.3, 1.3, 1.3]],
        gripper=gripper,
    )


def _arm_links(model: UrdfModel, chain: Chain, hand: Hand) -> list[str]:
    """Links with colliders that the arm moves or that carry it, but for those that hold."""
    moving = {*chain.joints, *chain.finger_joints}
    found = []
    for name, link in model.links.items():
        if not link.collisions or name in hand.finger_links:
            continue
        joint = model.parent_joint(name)
        while joint is not None and joint.name not in moving:
            joint = model.parent_joint(joint.parent)
        if joint is not None or name == chain.base_link:
            found.append(name)
    return found


def kinematics_of(cfg: RobotCfg, arm: ArmCfg) -> Kinematics:
    """The chain of an arm."""
    return Kinematics.from_urdf(model_path(cfg), base_link=arm.base_link, tip_link=arm.ee_link)


def reach_shares(cfg: RobotCfg, *, count: int = 3) -> list[float]:
    """Of every arm, the share of hand poses over the region of derived tasks that it reaches."""
    model = read_urdf(model_path(cfg))
    return [
        reach(kinematics_of(cfg, arm), arm, base_pose(cfg) @ model.link_pose(arm.base_link), count=count).share
        for arm in cfg.arms
    ]


def _placed(cfg: RobotCfg) -> RobotCfg:
    """The robot with its base where its arms together reach most; of equal places the lowest and nearest."""
    places = [(height, x) for height in _HEIGHTS_M for x in sorted(_BASES_M, key=abs)]
    # torsos and masts whose arms hang high stand lower than the table
    model = read_urdf(model_path(cfg))
    shoulder = max(float(model.link_pose(arm.base_link).p[2]) for arm in cfg.arms)
    still, loose = _still_clouds(cfg, model)
    lowest = float(loose[:, 2].min(initial=0.0))
    if shoulder > 0.6:
        heights = (*(round(height - shoulder + 0.4, 2) for height in _HEIGHTS_M), round(_ABOVE_M - lowest, 3))
        places = [(height, x) for height in heights for x in sorted(_BASES_M, key=abs)]
    free = [
        (height, x)
        for height, x in places
        if lowest + height >= 0.0 and not np.any(still[still[:, 2] > -height, 0] + x > _FRONT_M)
    ]
    places = free or places
    values = {}
    for height, x in places:
        moved = replace(cfg, base_x_m=x, base_height_m=height)
        values[height, x] = round(float(np.mean(reach_shares(moved, count=2))), 2)
    height, x = max(places, key=lambda place: (values[place], -places.index(place)))
    return replace(cfg, base_x_m=x, base_height_m=height)


def _still_clouds(cfg: RobotCfg, model: UrdfModel) -> tuple[Array, Array]:
    """(V, 3) vertices of what no arm moves, base, torso and head, and (U, 3) of what of that is not fixed to the root.

    The root may be sunk in the table that it is mounted on; wheels and a torso that could move may not [m].
    """
    moving = {joint for arm in cfg.arms for joint in (*arm.joints, *arm.gripper.joints)}
    clouds, loose = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for name, link in model.links.items():
        above = []
        joint = model.parent_joint(name)
        while joint is not None:
            above.append(joint)
            joint = model.parent_joint(joint.parent)
        if any(joint.name in moving for joint in above):
            continue
        T = model.link_pose(name)
        own = [T @ (shape.T_link_shape @ shape_triangles(shape)[0]) for shape in link.collisions]
        clouds += own
        loose += own if any(joint.moves for joint in above) else []
    return np.concatenate(clouds), np.concatenate(loose)


def _overlapping(cfg: RobotCfg, model: UrdfModel) -> list[list[str]]:
    """Pairs inside a hand, next to a joint, or that touch nearly always: their shapes overlap where they are joined."""
    pairs = set()
    for arm in cfg.arms:
        inside = [name for name in model.links if _hangs_on(model, name, arm.ee_link) and model.links[name].collisions]
        pairs |= {frozenset(pair) for pair in combinations(sorted(inside), 2)}
    rng = np.random.default_rng(0)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        count: Counter[frozenset[str]] = Counter()
        for _ in range(_DRAWS):
            _draw(robot, rng)
            count.update(touching_pairs(world, robot.body))
        near = _neighbours(robot.body, model)
    pairs |= {pair for pair, times in count.items() if times >= _OFTEN * _DRAWS or pair in near}
    return sorted(sorted(pair) for pair in pairs)


def _draw(robot: Robot, rng: np.random.Generator) -> None:
    for arm in robot.arms.values():
        arm.reset(rng.uniform(arm.cfg.lower, arm.cfg.upper), gripper_m=arm.cfg.gripper.max_width_m)


def _neighbours(body: Body, model: UrdfModel) -> set[frozenset[str]]:
    """Pairs of links with one joint between them, past fixed ones, or two whose axes meet, as in an elbow that bends
    and twists in one place.
    """
    group_of = {name: index for index, group in enumerate(body.rigid_groups) for name in group}
    moving = [joint for joint in model.joints.values() if joint.moves]
    joined = {(group_of[j.parent], group_of[j.child]) for j in moving}
    joined |= {
        (group_of[first.parent], group_of[second.child])
        for first in moving
        for second in moving
        if group_of[second.parent] == group_of[first.child]
        and float(np.linalg.norm(model.link_pose(second.child).p - model.link_pose(first.child).p)) < _ONE_PLACE_M
    }
    return {
        frozenset((a, b))
        for a, b in combinations(sorted(group_of), 2)
        if (group_of[a], group_of[b]) in joined or (group_of[b], group_of[a]) in joined
    }


def _hangs_on(model: UrdfModel, link: str, top: str) -> bool:
    joint = model.parent_joint(link)
    while link != top and joint is not None:
        link, joint = joint.parent, model.parent_joint(joint.parent)
    return link == top


def _at_home(cfg: RobotCfg) -> RobotCfg:
    """The robot with a home of every arm that touches nothing."""
    arms = list(cfg.arms)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        for index, arm in enumerate(arms):
            home = _home(cfg, arm, robot, world)
            robot.arm(arm.name).reset(home, gripper_m=arm.gripper.max_width_m)
            arms[index] = replace(arm, home=[round(float(v), 3) + 0.0 for v in home])
    return replace(cfg, arms=arms)


def _home(cfg: RobotCfg, arm: ArmCfg, robot: Robot, world: World) -> Array:
    """(n,) the best joint positions that touch nothing, with the hand at the first of several places [rad or m]."""
    T_world_base = base_pose(cfg) @ read_urdf(model_path(cfg)).link_pose(arm.base_link)
    across = 0.0 if len(cfg.arms) == 1 else 0.25 * (1.0 if arm.name == "left" else -1.0)
    own = {*arm.forbidden_links, *arm.gripper.finger_links}
    tried = 0
    for x, z in HEADS_M:
        for q in homes(kinematics_of(cfg, arm), arm, T_world_base, p_world_head=np.array([x, across, z]))[
            :_HOMES_TRIED
        ]:
            robot.arm(arm.name).reset(q, gripper_m=arm.gripper.max_width_m)
            tried += 1
            if not any(pair & own for pair in touching_pairs(world, robot.body)):
                return q
    raise AssetError(
        f"Arm '{arm.name}' ({arm.base_link} to {arm.ee_link}) has no home: of {tried} joint positions with the hand "
        f"looking down between x = {HEADS_M[0][0]} and {HEADS_M[-1][0]} m, none is free of the robot's own links. "
        "Write the robot by hand (docs/robots.md).",
        arm=arm.name,
    )
