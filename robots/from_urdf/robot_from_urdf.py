"""Derives a robot's description from its URDF. Values that no URDF states must be looked up."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.from_urdf.hands import Chain, Hand, find_arm_chains, measure_hand, read_mimics
from unlatch.robots.from_urdf.reach import ReachModel, find_homes
from unlatch.robots.gripper import GripperCfg
from unlatch.robots.model import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.contacts import touching_pairs
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

Array = np.ndarray

_HOME_HEADS_M = tuple((x, z) for z in (0.49, 0.55, 0.43, 0.62) for x in (0.31, 0.27, 0.35, 0.4))
"""Places of the hand at home, x and z, best first: before the nearest object, as for the Panda [m]."""
GRIP_N = 30.0
"""Grip force, that of the smallest grippers in the catalog; smaller if the URDF allows less [N]."""
_ACCELERATION_RAD_S2, _ACCELERATION_M_S2 = 5.0, 1.0
_FASTEST_RAD_S, _FASTEST_M_S = 3.0, 0.5
_STRONGEST_NM, _STRONGEST_N = 500.0, 5000.0
_FINGER_M_S = 0.05
_ARMATURE_KG_M2 = 1e-3
_BASE_X_M = tuple(round(0.1 * i, 1) for i in range(-4, 4))
_BASE_HEIGHTS_M = (0.0, 0.1, 0.2, 0.3)
_FRONT_M = 0.2
"""Largest x of the base above the table: objects come as near as 0.3 m, and their doors swing out [m]."""
_WHEEL_CLEARANCE_M = 2e-3
"""Distance of wheels from the table; the robot is held there [m]."""
_POSTURES = 60
_OFTEN_SHARE = 0.8
_SAME_PLACE_M = 5e-3
_HOMES_TRIED = 40


def robot_from_urdf(urdf: Path, *, name: str, stated: str, reach: ReachModel) -> RobotCfg:
    """Derives a robot's description.

    Joints, limits, gripper and keypoints are measured from the model. The base stands where the arms reach most of the
    region. At home the arm is far from singularities, the hand looks down, and the robot does not touch itself.

    Args:
        urdf: The file.
        name: Name of the robot.
        stated: The path of the file as the description states it.
        reach: Measures how much of a region the arms reach.

    Raises:
        AssetError: The file cannot be used, or has no arm with a gripper of two fingers.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    mimics = read_mimics(urdf)
    chains = find_arm_chains(model, urdf)
    hands = [measure_hand(model, chain, mimics) for chain in chains]
    names = _arm_names(model, chains)
    arms = [_describe_arm(model, *item) for item in zip(chains, hands, names, strict=True)]
    order = sorted(range(len(arms)), key=lambda i: names[i])
    cfg = RobotCfg(name=name, arms=[arms[i] for i in order], urdf=stated)
    cfg = _place_base(cfg, reach)
    cfg = replace(cfg, self_collision_ignored=_overlapping_links(cfg, model))
    return _choose_homes(cfg, reach)


def _arm_names(model: UrdfModel, chains: list[Chain]) -> list[str]:
    if len(chains) == 1:
        return ["left"]
    if len(chains) > 2:
        raise AssetError(
            f"The URDF has {len(chains)} arms with grippers ({', '.join(c.ee_link for c in chains)}), expected one or "
            "two."
        )
    across = [float(model.link_pose(chain.ee_link).p[1]) for chain in chains]
    return ["left", "right"] if across[0] > across[1] else ["right", "left"]


def _describe_arm(model: UrdfModel, chain: Chain, hand: Hand, name: str) -> ArmCfg:
    joints = [model.joints[joint] for joint in chain.joints]
    # a joint that can turn more than once keeps one turn about 0: further turns reach nothing new
    free = [joint.kind == "continuous" or joint.upper - joint.lower > 4.0 * math.pi - 1e-3 for joint in joints]
    # a little inside, so that rounding never exceeds the model
    lower = [round((-math.pi if f else j.lower) + 1e-4, 4) for j, f in zip(joints, free, strict=True)]
    upper = [round((math.pi if f else j.upper) - 1e-4, 4) for j, f in zip(joints, free, strict=True)]
    slide = [joint.kind == "prismatic" for joint in joints]
    fastest = [_FASTEST_M_S if s else _FASTEST_RAD_S for s in slide]
    strongest = [_STRONGEST_N if s else _STRONGEST_NM for s in slide]
    drive = model.joints[chain.finger_joints[0]]
    travel = abs(hand.opened[0] - hand.closed[0])
    stroke = hand.widths_m[-1] - hand.widths_m[0]
    # by virtual work, the force at the pads that the motor of the first joint can give
    allowed = drive.effort * travel / stroke if drive.effort > 0.0 and stroke > 0.0 else GRIP_N
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
        max_velocity=[
            round(min(j.velocity, most) if j.velocity > 0.0 else 1.0, 4)
            for j, most in zip(joints, fastest, strict=True)
        ],
        max_acceleration=[_ACCELERATION_M_S2 if s else _ACCELERATION_RAD_S2 for s in slide],
        max_effort=[
            round(min(j.effort, most) if j.effort > 0.0 else 1.0, 3) for j, most in zip(joints, strongest, strict=True)
        ],
        keypoints=hand.keypoints,
        forbidden_links=_forbidden_links(model, chain, hand),
        workspace=[[-0.6, -1.3, -0.9], [1.3, 1.3, 1.3]],
        gripper=gripper,
    )


def _forbidden_links(model: UrdfModel, chain: Chain, hand: Hand) -> list[str]:
    """Returns the links with colliders that the arm moves, and its base link; not the finger links."""
    moving = {*chain.joints, *chain.finger_joints}
    return [
        name
        for name, link in model.links.items()
        if link.collisions
        and name not in hand.finger_links
        and (name == chain.base_link or any(joint.name in moving for joint in model.joints_above(name)))
    ]


def _place_base(cfg: RobotCfg, reach: ReachModel) -> RobotCfg:
    """Returns the robot with its base where its arms reach most; of equal places it takes the lowest and nearest."""
    places = [(height, x) for height in _BASE_HEIGHTS_M for x in sorted(_BASE_X_M, key=abs)]
    # a torso or mast with high arms stands lower than the surface of the table
    model = read_urdf(model_path(cfg))
    shoulder = max(_shoulder_height_m(model, arm) for arm in cfg.arms)
    still, loose = _standing_points(cfg, model)
    lowest = float(loose[:, 2].min(initial=np.inf))
    if shoulder > 0.6:
        heights = [round(height - shoulder + 0.4, 2) for height in _BASE_HEIGHTS_M]
        heights += [round(_WHEEL_CLEARANCE_M - lowest, 3)] if len(loose) else []
        places = [(height, x) for height in heights for x in sorted(_BASE_X_M, key=abs)]
    free = [
        (height, x)
        for height, x in places
        if lowest + height >= 0.0 and not np.any(still[still[:, 2] > -height, 0] + x > _FRONT_M)
    ]
    places = free or places
    bases = [base_pose(replace(cfg, base_x_m=x, base_height_m=height)) for height, x in places]
    shares = reach.shares_at(cfg, bases, count=2)
    values = {place: round(float(np.mean(share)), 2) for place, share in zip(places, shares, strict=True)}
    height, x = max(places, key=lambda place: (values[place], -places.index(place)))
    return replace(cfg, base_x_m=x, base_height_m=height)


def _shoulder_height_m(model: UrdfModel, arm: ArmCfg) -> float:
    """Returns the height of the first turning joint of an arm above the root, with a lift below it at its middle."""
    middle = {
        joint: 0.5 * (low + high)
        for joint, low, high in zip(arm.joints, arm.lower, arm.upper, strict=True)
        if model.joints[joint].kind == "prismatic"
    }
    first = next((joint for joint in arm.joints if joint not in middle), arm.joints[0])
    return float(model.link_pose(model.joints[first].parent, middle).p[2])


def _standing_points(cfg: RobotCfg, model: UrdfModel) -> tuple[Array, Array]:
    """Returns (V, 3) vertices of links that no arm moves, and (U, 3) those among them that another joint moves [m].

    The root may be below the surface of the table that it is mounted on; wheels and a movable torso may not.
    """
    moving = {joint for arm in cfg.arms for joint in (*arm.joints, *arm.gripper.joints)}
    clouds, loose = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for name, link in model.links.items():
        above = model.joints_above(name)
        if any(joint.name in moving for joint in above):
            continue
        T = model.link_pose(name)
        own = [T @ (shape.T_link_shape @ shape_mesh(shape).vertices) for shape in link.collisions]
        clouds += own
        loose += own if any(joint.moves for joint in above) else []
    return np.concatenate(clouds), np.concatenate(loose)


def _overlapping_links(cfg: RobotCfg, model: UrdfModel) -> list[list[str]]:
    """Returns pairs of links inside a hand, next to a joint, or that touch in nearly every posture."""
    pairs = set()
    for arm in cfg.arms:
        inside = [name for name in model.links if model.is_below(name, arm.ee_link) and model.links[name].collisions]
        pairs |= {frozenset(pair) for pair in combinations(sorted(inside), 2)}
    rng = np.random.default_rng(0)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        count: Counter[frozenset[str]] = Counter()
        for _ in range(_POSTURES):
            _draw_posture(robot, rng)
            count.update(touching_pairs(world, robot.body))
        near = _joined_links(robot.body, model)
    pairs |= {pair for pair, times in count.items() if times >= _OFTEN_SHARE * _POSTURES or pair in near}
    return sorted(sorted(pair) for pair in pairs)


def _draw_posture(robot: Robot, rng: np.random.Generator) -> None:
    for arm in robot.arms.values():
        arm.reset(rng.uniform(arm.cfg.lower, arm.cfg.upper), gripper_m=arm.cfg.gripper.max_width_m)


def _joined_links(body: Body, model: UrdfModel) -> set[frozenset[str]]:
    """Returns pairs of links with one moving joint between them, or with two joints at the same place.

    An elbow that bends and twists has two joints at the same place.
    """
    group_of = {name: index for index, group in enumerate(body.rigid_groups) for name in group}
    moving = [joint for joint in model.joints.values() if joint.moves]
    joined = {(group_of[j.parent], group_of[j.child]) for j in moving}
    joined |= {
        (group_of[first.parent], group_of[second.child])
        for first in moving
        for second in moving
        if group_of[second.parent] == group_of[first.child]
        and float(np.linalg.norm(model.link_pose(second.child).p - model.link_pose(first.child).p)) < _SAME_PLACE_M
    }
    return {
        frozenset((a, b))
        for a, b in combinations(sorted(group_of), 2)
        if (group_of[a], group_of[b]) in joined or (group_of[b], group_of[a]) in joined
    }


def _choose_homes(cfg: RobotCfg, reach: ReachModel) -> RobotCfg:
    """Returns the robot with a home of every arm in which it does not touch itself."""
    arms = list(cfg.arms)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        for index, arm in enumerate(arms):
            home = _find_home(cfg, arm, robot, world, reach)
            robot.arm(arm.name).reset(home, gripper_m=arm.gripper.max_width_m)
            arms[index] = replace(arm, home=[round(float(v), 3) + 0.0 for v in home])
    return replace(cfg, arms=arms)


def _find_home(cfg: RobotCfg, arm: ArmCfg, robot: Robot, world: World, reach: ReachModel) -> Array:
    """Returns (n,) the best joint positions without contact, with the hand at one of several places [rad or m]."""
    T_world_base = base_pose(cfg) @ read_urdf(model_path(cfg)).link_pose(arm.base_link)
    across = 0.0 if len(cfg.arms) == 1 else 0.25 * (1.0 if arm.name == "left" else -1.0)
    own = {*arm.forbidden_links, *arm.gripper.finger_links}
    tried = 0
    for x, z in _HOME_HEADS_M:
        homes = find_homes(reach.kinematics(cfg, arm), arm, T_world_base, p_world_head=np.array([x, across, z]))
        for q in homes[:_HOMES_TRIED]:
            robot.arm(arm.name).reset(q, gripper_m=arm.gripper.max_width_m)
            tried += 1
            if not any(pair & own for pair in touching_pairs(world, robot.body)):
                return q
    raise AssetError(
        f"Arm '{arm.name}' ({arm.base_link} to {arm.ee_link}) has no home: of {tried} joint positions with the hand "
        f"looking down between x = {_HOME_HEADS_M[0][0]} and {_HOME_HEADS_M[-1][0]} m, none is free of the robot's own "
        "links. Write the robot by hand (docs/robots.md).",
        arm=arm.name,
    )
