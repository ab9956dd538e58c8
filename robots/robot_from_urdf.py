"""Derives a robot's description from its URDF: joints, gripper, base and homes. Values that no URDF states must be
looked up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np

from unlatch.robots.description import ArmCfg, GripperCfg, RobotCfg, base_pose
from unlatch.robots.hands import (
    Chain,
    Hand,
    arm_names,
    find_arm_chains,
    forbidden_links,
    holding_effort,
    measure_hand,
    read_mimics,
)
from unlatch.robots.models import model_path
from unlatch.robots.reach import ArmKinematics, ReachModel, find_homes, sliding_joints
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import unit
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.collision import SELF_CLEARANCE_M
from unlatch.simcore.sim.contacts import touching_pairs
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import parse_xml, read_urdf

Array = np.ndarray

_HOME_HEADS_M = (
    *((x, z) for z in (0.49, 0.55, 0.43, 0.62) for x in (0.31, 0.27, 0.35, 0.4)),
    *((x, z) for z in (0.36, 0.3, 0.24) for x in (0.31, 0.22, 0.4)),
)
"""Places of the hand at home, x and z, best first: before the nearest object, as for the Panda [m]."""
_HOME_FRONT_M = 0.42
"""Largest x of the fingers of a small arm at home, before its scale [m]."""
_HOME_DIRECTIONS = ((0.0, 0.0, -1.0), (0.5, 0.0, -0.87), (0.87, 0.0, -0.5), (1.0, 0.0, 0.0))
"""Directions in which the hand looks at home, best first: down, or forwards for a wrist that cannot look down."""
GRIP_N, WEAKEST_N = 30.0, 20.0
"""Grip force, and the smaller one where the URDF allows less: that of the weakest gripper in the catalog. Efforts of
fingers in URDFs are often placeholders [N]."""
_ACCELERATION_RAD_S2, _ACCELERATION_M_S2 = 5.0, 1.0
_FASTEST_RAD_S, _FASTEST_M_S = 3.0, 0.5
_UNSTATED_RAD_S, _UNSTATED_M_S = 1.5, 0.2
"""Speed of a joint whose limit the file does not state, or states as 0."""
_PANDA_REACH_M, _FULL_SIZE = 0.95, 0.7
"""Largest distance of a Panda's fingertips from its shoulder [m]. An arm of at least this share of it acts on objects
of full size."""
_REACH_SAMPLES = 4000
_WORKSPACE_M = ((-0.6, -1.3, -0.9), (1.3, 1.3, 1.3))
"""Box of the ee origin about the base of an arm, x to the front of the robot, z up [m]."""
_LEAST_FRONT = 0.05
"""Least mean place of the hand, as a share of the reach, that tells the front of a robot."""
_STRONGEST_NM, _STRONGEST_N = 500.0, 5000.0
_FINGER_M_S = 0.05
_ARMATURE_KG_M2 = 1e-3
_ARMATURE_SHARE, _MOST_ARMATURE_KG_M2 = 0.005, 0.2
"""Inertia of a motor's rotor behind its gear, as a share of its effort [kg m^2 / (N m)]: makers' and identified values
are 0.001 to 0.02 of it. Without it, a light wrist bounces off at every touch."""
_BASE_X_M = tuple(round(0.1 * i, 1) for i in range(-4, 4))
_BASE_HEIGHTS_M = (0.0, 0.1, 0.2, 0.3)
_FRONT_M = 0.2
"""Largest x of the base above the table: objects come as near as 0.3 m, and their doors swing out [m]."""
_WHEEL_CLEARANCE_M = 6e-3
"""Distance of wheels from the table; the robot is held there, and planning needs 4 mm [m]."""
_UPRIGHT = 0.99
"""A lift slides up if the cosine of the angle between its axis and the vertical is larger."""
_LEAST_RANGE_M = 1e-3
"""Range that a lift without room above the table keeps below its upper limit [m]."""
_POSTURES = 60
_OFTEN_SHARE = 0.8
_SAME_PLACE_M = 5e-3
_JOINED_WITHIN_M = 0.01
"""Links with one joint, or two at the same place, between them that come nearer in some posture may touch in others."""
_HOMES_TRIED = 40
_HOME_CLEARANCE_M = 2 * SELF_CLEARANCE_M
"""Distance of a hand and its arm at home: the start of an episode is spread about it, and planning needs the half."""


def robot_from_urdf(
    urdf: Path, *, name: str, stated: str, reach: ReachModel, may_touch: Collection[frozenset[str]] = ()
) -> RobotCfg:
    """Derives a robot's description.

    Joints, limits, gripper and keypoints are measured from the model. The base stands where the arms reach most of the
    region. At home the arm is far from singularities, the hand looks down, and the robot does not touch itself.

    Args:
        urdf: The file.
        name: Name of the robot.
        stated: The path of the file as the description states it.
        reach: Measures how much of a region the arms reach.
        may_touch: Pairs of links whose collisions do not count, beside those that are found; see `read_srdf`.

    Raises:
        AssetError: The file cannot be used, or has no arm with a gripper of two fingers.
    """
    model = read_urdf(urdf, meshes_anywhere=True)
    mimics = read_mimics(urdf)
    chains = find_arm_chains(model, urdf)
    hands = [measure_hand(model, chain, mimics) for chain in chains]
    names = arm_names(model, chains)
    arms = [_describe_arm(model, *item) for item in zip(chains, hands, names, strict=True)]
    order = sorted(range(len(arms)), key=lambda i: names[i])
    cfg = RobotCfg(name=name, arms=[arms[i] for i in order], urdf=stated)
    cfg = replace(cfg, scale=_task_scale(cfg, reach), base_yaw_deg=_yaw_deg(cfg, reach, model))
    cfg = replace(cfg, arms=[replace(arm, workspace=_workspace(cfg, arm, model)) for arm in cfg.arms])
    reach = reach.scaled(cfg.scale)
    cfg = _place_base(cfg, reach)
    cfg = replace(cfg, self_collision_ignored=_overlapping_links(cfg, model, may_touch))
    return _choose_homes(cfg, reach)


def _task_scale(cfg: RobotCfg, reach: ReachModel) -> float:
    """Returns the size of the robot's tasks, from how far its shortest arm reaches."""
    shares = [_reach_m(reach.kinematics(cfg, arm), arm) / _PANDA_REACH_M for arm in cfg.arms]
    return 1.0 if min(shares) >= _FULL_SIZE else round(min(shares), 2)


def _yaw_deg(cfg: RobotCfg, reach: ReachModel, model: UrdfModel) -> float:
    """Returns the quarter turn with which the side on which the arms act most looks along +x [deg].

    Where all sides are alike, it is the side to which a single arm bends with its first turning joint at the middle of
    its range: the limits of that joint are behind.
    """
    views = [(reach.kinematics(cfg, arm), arm, model.link_pose(arm.base_link).R) for arm in cfg.arms]
    front = np.mean([_heads_from_above(*view).mean(axis=0) for view in views], axis=0)
    if np.linalg.norm(front) < _LEAST_FRONT:
        if len(cfg.arms) > 1:
            return 0.0
        heads = _heads_from_above(*views[0], first_held=True)
        along = np.linalg.eigh(heads.T @ heads)[1][:, 1]  # the vertical plane in which the arm bends
        front = along * (along @ heads.mean(axis=0))
        if np.linalg.norm(front) < _LEAST_FRONT:  # it bends to both sides alike
            front = along if tuple(along.round(3)) > (0.0, 0.0) else -along
    x, y = front
    return -90.0 * round(math.atan2(y, x) / (0.5 * math.pi)) + 0.0


def _heads_from_above(kinematics: ArmKinematics, arm: ArmCfg, R: Array, *, first_held: bool = False) -> Array:
    """Returns (N, 2) places of `tool_head`, see `_draw_heads`, along x and y of the root, as a share of the reach.

    R is the (3, 3) rotation of the arm's base in the root's frame.
    """
    heads = _draw_heads(kinematics, arm, first_held=first_held)
    plan: Array = (heads @ R.T)[:, :2]
    return plan / np.linalg.norm(heads, axis=1).max()


def _workspace(cfg: RobotCfg, arm: ArmCfg, model: UrdfModel) -> list[list[float]]:
    """Returns the box about `_WORKSPACE_M` in the base frame of an arm, which need not look along its x axis [m]."""
    R = base_pose(cfg).R @ model.link_pose(arm.base_link).R
    corners = np.array(list(product(*zip(*_WORKSPACE_M, strict=True)))) @ R
    return [[round(float(v), 3) + 0.0 for v in corner] for corner in (corners.min(axis=0), corners.max(axis=0))]


def _reach_m(kinematics: ArmKinematics, arm: ArmCfg) -> float:
    """Returns the largest distance of `tool_head` from the shoulder [m]."""
    return float(np.linalg.norm(_draw_heads(kinematics, arm), axis=1).max())


def _draw_heads(kinematics: ArmKinematics, arm: ArmCfg, *, first_held: bool = False) -> Array:
    """Returns (N, 3) places of `tool_head` at drawn postures, from the shoulder, see `shoulder_index` [m].

    Their axes are those of the arm's base frame. With `first_held`, the first turning joint stays at its middle.
    """
    rng = np.random.default_rng(0)
    q = rng.uniform(arm.lower, arm.upper, (_REACH_SAMPLES, len(arm.joints)))
    if first_held:
        turning = np.flatnonzero(~sliding_joints(kinematics))[:1]
        q[:, turning] = 0.5 * (np.array(arm.lower) + arm.upper)[turning]
    R, p, axes, origins = kinematics.sweep(q)
    heads: Array = (
        R @ np.array(arm.keypoints["tool_head"]) + p - origins[shoulder_index(sliding_joints(kinematics), axes[:, 0])]
    )
    return heads


def shoulder_index(slides: Array, axes: Array) -> int:
    """Returns the joint from which an arm reaches out: its second turning joint.

    It is the first turning joint if both turn about parallel axes, as in a SCARA, and a slide that comes before it, as
    of a gantry or a telescope, but for a lift or a rail below the whole arm.

    Args:
        slides: (n,) whether each joint slides.
        axes: (n, 3) axis of each joint at one posture.
    """
    turning = np.flatnonzero(~slides)[:2]
    reaching = [int(i) for i in np.flatnonzero(slides) if i > 0]
    second = int(turning[-1]) if len(turning) else len(slides)
    if reaching and reaching[0] < second:
        return reaching[0]
    parallel = len(turning) == 2 and abs(float(axes[turning[0]] @ axes[turning[1]])) > _UPRIGHT
    return int(turning[0]) if parallel else min(second, len(slides) - 1)


def _describe_arm(model: UrdfModel, chain: Chain, hand: Hand, name: str) -> ArmCfg:
    joints = [model.joints[joint] for joint in chain.joints]
    # a joint that can turn more than once keeps one turn about 0: further turns reach nothing new
    free = [not joint.is_limited or joint.upper - joint.lower > 4.0 * math.pi - 1e-3 for joint in joints]
    # a little inside, so that rounding never exceeds the model
    lower = [round((-math.pi if f else j.lower) + 1e-4, 4) for j, f in zip(joints, free, strict=True)]
    upper = [round((math.pi if f else j.upper) - 1e-4, 4) for j, f in zip(joints, free, strict=True)]
    slide = [joint.kind == "prismatic" for joint in joints]
    fastest = [_FASTEST_M_S if s else _FASTEST_RAD_S for s in slide]
    strongest = [_STRONGEST_N if s else _STRONGEST_NM for s in slide]
    stroke = hand.widths_m[-1] - hand.widths_m[0]
    allowed = stated_grip_n(model, hand.joints[0], abs(hand.opened[0] - hand.closed[0]) / stroke, motors=hand.motors)
    force = float(round(min(GRIP_N, max(allowed, WEAKEST_N)), 1))
    slides = model.joints[hand.joints[0]].kind == "prismatic"
    tip = model.link_pose(chain.ee_link) @ np.array(hand.keypoints["tool_head"])
    efforts = [
        round(min(j.effort if j.effort > 0.0 else holding_effort(model, j, tip), most), 3)
        for j, most in zip(joints, strongest, strict=True)
    ]
    gripper = GripperCfg(
        joints=list(hand.joints),
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
            round(min(j.velocity, most) if j.velocity > 0.0 else (_UNSTATED_M_S if s else _UNSTATED_RAD_S), 4)
            for j, most, s in zip(joints, fastest, slide, strict=True)
        ],
        max_acceleration=[_ACCELERATION_M_S2 if s else _ACCELERATION_RAD_S2 for s in slide],
        max_effort=efforts,
        armature=[
            0.0 if s else round(min(_ARMATURE_SHARE * effort, _MOST_ARMATURE_KG_M2), 4)
            for effort, s in zip(efforts, slide, strict=True)
        ],
        keypoints=hand.keypoints,
        forbidden_links=forbidden_links(model, chain, hand),
        workspace=[list(corner) for corner in _WORKSPACE_M],
        gripper=gripper,
    )


def stated_grip_n(model: UrdfModel, joint: str, travel_per_m: float, *, motors: int) -> float:
    """Returns the force at the pads, by virtual work, that a file allows the motors of a hand, as strong as one joint.

    Args:
        model: The robot.
        joint: The joint.
        travel_per_m: Its travel for each metre of opening [rad/m or m/m].
        motors: How many there are.

    Returns:
        `GRIP_N` if the file states no effort [N].
    """
    effort = model.joints[joint].effort
    return motors * effort * travel_per_m if effort > 0.0 else GRIP_N


def _place_base(cfg: RobotCfg, reach: ReachModel) -> RobotCfg:
    """Returns the robot with its base where its arms reach most; of equal places it takes the lowest and nearest."""
    heights_m, xs_m = ([round(cfg.scale * v, 3) for v in values] for values in (_BASE_HEIGHTS_M, _BASE_X_M))
    places = [(height, x) for height in heights_m for x in sorted(xs_m, key=abs)]
    # a torso or mast with high arms stands lower than the surface of the table
    model = read_urdf(model_path(cfg))
    shoulder = max(_shoulder_height_m(model, arm) for arm in cfg.arms)
    still, loose = _standing_points(cfg, model)
    lowest = _lowest_m(loose.values())
    if shoulder > 0.6:
        heights = [round(height - shoulder + 0.4, 2) for height in heights_m]
        heights += [round(_WHEEL_CLEARANCE_M - lowest, 3)] if len(loose) else []
        places = [(height, x) for height in heights for x in sorted(xs_m, key=abs)]
    free = [
        (height, x)
        for height, x in places
        if lowest + height >= 0.0 and not np.any(still[still[:, 2] > -height, 0] + x > cfg.scale * _FRONT_M)
    ]
    places = free or places
    bases = [base_pose(replace(cfg, base_x_m=x, base_height_m=height)) for height, x in places]
    shares = reach.shares_at(cfg, bases, count=2)
    values = {place: round(float(np.mean(share)), 2) for place, share in zip(places, shares, strict=True)}
    height, x = max(places, key=lambda place: (values[place], -places.index(place)))
    arms = [_with_lift_above(model, arm, loose, height - _WHEEL_CLEARANCE_M) for arm in cfg.arms]
    return replace(cfg, arms=arms, base_x_m=x, base_height_m=height)


def _lowest_m(clouds: Iterable[Array]) -> float:
    """Returns the smallest z of clouds of (N, 3) points; infinite if there are none [m]."""
    return min((float(points[:, 2].min(initial=np.inf)) for points in clouds), default=np.inf)


def _with_lift_above(model: UrdfModel, arm: ArmCfg, loose: Mapping[str, Array], height_m: float) -> ArmCfg:
    """Returns an arm whose lift does not lead what it carries into the table.

    Args:
        model: The robot.
        arm: The arm.
        loose: (N, 3) vertices of the links that are not to touch the table, by link, as `_standing_points` returns.
        height_m: Height of the root above the table, less the clearance [m]. Without room even at its upper limit, the
            lift stays there.
    """
    lower = list(arm.lower)
    for joint, middle in _lifts_at_middle(model, arm).items():
        up = model.link_pose(model.joints[joint].child).R @ unit(model.joints[joint].axis)
        if up[2] > _UPRIGHT:
            index, child = arm.joints.index(joint), model.joints[joint].child
            room_m = height_m + _lowest_m(points for name, points in loose.items() if model.is_below(name, child))
            least = max(lower[index], round(middle - room_m, 4))
            lower[index] = min(least, max(lower[index], round(arm.upper[index] - _LEAST_RANGE_M, 4)))
    return replace(arm, lower=lower, home=np.maximum(arm.home, lower).tolist())


def _shoulder_height_m(model: UrdfModel, arm: ArmCfg) -> float:
    """Returns the height of the first turning joint of an arm above the root, with a lift below it at its middle."""
    middle = _lifts_at_middle(model, arm)
    first = next((joint for joint in arm.joints if joint not in middle), arm.joints[0])
    return float(model.link_pose(model.joints[first].child, middle).p[2])


def _lifts_at_middle(model: UrdfModel, arm: ArmCfg) -> dict[str, float]:
    """Returns the middle position of each sliding joint of an arm [m]."""
    limits = zip(arm.joints, arm.lower, arm.upper, strict=True)
    return {joint: 0.5 * (low + high) for joint, low, high in limits if model.joints[joint].kind == "prismatic"}


def _standing_points(cfg: RobotCfg, model: UrdfModel) -> tuple[Array, dict[str, Array]]:
    """Returns (V, 3) vertices of links that no arm turns, and those of each link among them that some joint moves [m].

    What a lift carries is where it is at the middle of its range. The root may be below the surface of the table that
    it is mounted on; wheels and a movable torso may not.
    """
    lifts = {joint: at for arm in cfg.arms for joint, at in _lifts_at_middle(model, arm).items()}
    moving = {joint for arm in cfg.arms for joint in (*arm.joints, *arm.gripper.joints)} - lifts.keys()
    clouds, loose = [np.zeros((0, 3))], {}
    for name, link in model.links.items():
        above = model.joints_above(name)
        if any(joint.name in moving for joint in above):
            continue
        T = model.link_pose(name, lifts)
        own = [T @ (shape.T_link_shape @ shape_mesh(shape).vertices) for shape in link.collisions]
        clouds += own
        if own and any(joint.moves for joint in above):
            loose[name] = np.concatenate(own)
    return np.concatenate(clouds), loose


def read_srdf(urdf: Path) -> set[frozenset[str]]:
    """Returns the pairs of links whose collisions the SRDF beside a URDF disables; none without such a file.

    An SRDF, of MoveIt and others, has the name of the URDF. It says what the maker knows and convex hulls do not show.

    Raises:
        AssetError: The file is damaged.
    """
    file = urdf.with_suffix(".srdf")
    if not file.is_file():
        return set()
    elements = parse_xml(file).iter("disable_collisions")
    return {frozenset((each.get("link1", ""), each.get("link2", ""))) for each in elements}


def _overlapping_links(cfg: RobotCfg, model: UrdfModel, may_touch: Collection[frozenset[str]]) -> list[list[str]]:
    """Returns pairs of links inside a hand, near each other beside a joint, or that touch in nearly every posture.

    Of `may_touch`, those pairs that the model has and that have colliders.
    """
    solid = {name for name, link in model.links.items() if link.collisions}
    pairs = {pair for pair in may_touch if len(pair) == 2 and pair <= solid}
    for arm in cfg.arms:
        inside = [name for name in model.links if model.is_below(name, arm.ee_link) and model.links[name].collisions]
        pairs |= {frozenset(pair) for pair in combinations(sorted(inside), 2)}
    rng = np.random.default_rng(0)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        count: Counter[frozenset[str]] = Counter()
        close: set[frozenset[str]] = set()
        for _ in range(_POSTURES):
            _draw_posture(robot, rng)
            count.update(touching_pairs(world, robot.body))
            close |= touching_pairs(world, robot.body, within_m=_JOINED_WITHIN_M)
        near = _joined_links(robot.body, model)
    pairs |= close & near
    pairs |= {pair for pair, times in count.items() if times >= _OFTEN_SHARE * _POSTURES}
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
    narrow: Array | None = None
    kinematics = reach.kinematics(cfg, arm)
    for direction, (x, z) in product(_HOME_DIRECTIONS, _HOME_HEADS_M):
        head = cfg.scale * np.array([x, across, z])
        homes = find_homes(kinematics, arm, T_world_base, p_world_head=head, direction=direction)
        for q in homes[:_HOMES_TRIED]:
            robot.arm(arm.name).reset(q, gripper_m=arm.gripper.max_width_m)
            tried += 1
            ahead = max(float(robot.body.link_aabb(link)[1, 0]) for link in arm.gripper.finger_links)
            if cfg.scale < 1.0 and ahead > cfg.scale * _HOME_FRONT_M:
                continue  # a jaw that swings out may reach far
            if not any(pair & own for pair in touching_pairs(world, robot.body, within_m=_HOME_CLEARANCE_M)):
                return q
            if narrow is None and not any(pair & own for pair in touching_pairs(world, robot.body)):
                narrow = q
    if narrow is not None:
        return narrow
    raise AssetError(
        f"Arm '{arm.name}' ({arm.base_link} to {arm.ee_link}) has no home: "
        + (
            f"of {tried} joint positions with the hand before the objects, none is free of the robot's own links. "
            if tried
            else f"it reaches none of the places before the objects, x = {cfg.scale * 0.22:.2f} to "
            f"{cfg.scale * 0.4:.2f} m and z = {cfg.scale * 0.24:.2f} to {cfg.scale * 0.62:.2f} m, with its hand level, "
            "down or between. Compare the joint limits with the data sheet. "
        )
        + "Write the robot by hand (docs/robots.md).",
        arm=arm.name,
    )
