"""Checks a configured robot against its model and its maker's limits.

Nothing here simulates: the same rules hold before a run and for the configuration of a recorded data set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import ArmCfg, GripperCfg, RobotCfg
from unlatch.robots.models import model_path
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import read_urdf

FRICTION_PRODUCT = (0.3, 1.2)
"""Range of the friction of a contact: Bullet multiplies the coefficients of its two sides."""
OTHER_FRICTION = 0.6
"""Lateral friction of table, plinths and the robot's other links."""

_ARM_LIMITS = (
    ("lower", "rad", 1.0),
    ("upper", "rad", -1.0),
    ("max_velocity", "rad/s", -1.0),
    ("max_acceleration", "rad/s^2", -1.0),
    ("max_effort", "N m", -1.0),
)
"""Limits by joint: name, unit, and +1 if it may only be raised, -1 if it may only be lowered."""
MAX_SPINNING_FRICTION = 0.005
"""Largest spinning friction of pads [m], for robots outside the catalog; that of every robot in it. Ours: a round
contact with even pressure has 2/3 of its radius, so 0.005 stands for a radius of 7.5 mm."""
_ROUNDED = 1e-3
_GRIPPER_LIMITS = (("max_width_m", "m"), ("max_force_n", "N"), ("max_speed_m_s", "m/s"), ("finger_force_limit_n", "N"))


def check_robot(robot: RobotCfg, *, object_friction: float) -> None:
    """Checks a robot before anything is loaded.

    Raises:
        ConfigError: It names a link or joint that its model does not have, or exceeds a limit of its maker.
    """
    for problem in (*model_problems(robot), *limit_problems(robot, object_friction=object_friction)):
        raise problem


def model_problems(robot: RobotCfg) -> Iterator[ConfigError]:
    """Yields an error for every configured link or joint that the robot's URDF does not have."""
    model = read_urdf(model_path(robot), packages=True)
    for where, name in _named_links(robot):
        if name not in model.links:
            yield unknown_name(name, f"a link of robot '{robot.name}'", where=where, known=model.links)
    for index, arm in enumerate(robot.arms):
        where = f"robot.arms[{index}]"
        for key, joints in (("joints", arm.joints), ("gripper.joints", arm.gripper.joints)):
            for place, name in enumerate(joints):
                moving = [joint.name for joint in model.joints.values() if joint.moves]
                if name not in moving:
                    kind = f"a moving joint of robot '{robot.name}'"
                    yield unknown_name(name, kind, where=f"{where}.{key}[{place}]", known=moving)
        if arm.base_link in model.links and arm.ee_link in model.links:
            chain = _moving_chain(model, arm.base_link, arm.ee_link)
            if chain != list(arm.joints):
                yield ConfigError(
                    f"{where}.joints={list(arm.joints)} are not the moving joints from base_link '{arm.base_link}' to "
                    f"ee_link '{arm.ee_link}'. Expected {chain}. Change the joints or one of the links.",
                    key=f"{where}.joints",
                )


def limit_problems(robot: RobotCfg, *, object_friction: float) -> Iterator[ConfigError]:
    """Yields an error for every value that makes the robot stronger, faster or stickier than the real one.

    Limits may only be lowered.
    """
    yield from _model_limit_problems(robot) if robot.urdf is not None else _maker_limit_problems(robot)
    for index, arm in enumerate(robot.arms):
        where = f"robot.arms[{index}].gripper.friction"
        yield from _friction_problems(arm.gripper.friction, object_friction, where=where)


def _maker_limit_problems(robot: RobotCfg) -> Iterator[ConfigError]:
    """Yields an error for every value beyond the robot of the catalog."""
    maker: RobotCfg = ROBOTS.load(robot.name)()
    arms = {joint: (arm, i) for arm in maker.arms for i, joint in enumerate(arm.joints)}
    by_base = {arm.base_link: arm for arm in maker.arms}
    for index, arm in enumerate(robot.arms):
        where = f"robot.arms[{index}]"
        for place, joint in enumerate(arm.joints):
            if joint in arms:
                its_arm, its_place = arms[joint]
                limits = {key: getattr(its_arm, key)[its_place] for key, _, _ in _ARM_LIMITS}
                yield from _joint_limit_problems(arm, place, limits, where=where, slack=0.0, whose="the maker's")
        if arm.base_link in by_base:
            yield from _hand_problems(arm, by_base[arm.base_link], where=where)
            makers = by_base[arm.base_link].gripper
            yield from _gripper_limit_problems(arm.gripper, makers, where=f"{where}.gripper")
            yield from _spinning_problems(arm.gripper, makers.spinning_friction, where=f"{where}.gripper")
        elif arm.base_link:
            kind = f"a base of an arm of '{robot.name}'"
            yield unknown_name(arm.base_link, kind, where=f"{where}.base_link", known=by_base)


def _model_limit_problems(robot: RobotCfg) -> Iterator[ConfigError]:
    """Yields an error for every limit beyond the URDF, for a robot that is in no catalog."""
    joints = read_urdf(model_path(robot)).joints
    for index, arm in enumerate(robot.arms):
        where = f"robot.arms[{index}]"
        for place, name in enumerate(arm.joints):
            joint = joints.get(name)
            if joint is None:
                continue
            stated = {"max_velocity": joint.velocity, "max_effort": joint.effort}
            limits = {key: value for key, value in stated.items() if value > 0.0}  # 0 states nothing
            if joint.is_limited:
                limits |= {"lower": joint.lower, "upper": joint.upper}
            yield from _joint_limit_problems(arm, place, limits, where=where, slack=_ROUNDED, whose="the model's")
        yield from _spinning_problems(arm.gripper, MAX_SPINNING_FRICTION, where=f"{where}.gripper")


def _named_links(robot: RobotCfg) -> Iterator[tuple[str, str]]:
    for index, arm in enumerate(robot.arms):
        where = f"robot.arms[{index}]"
        yield f"{where}.base_link", arm.base_link
        yield f"{where}.ee_link", arm.ee_link
        for key, names in (
            ("forbidden_links", arm.forbidden_links),
            ("gripper.finger_links", arm.gripper.finger_links),
        ):
            for place, name in enumerate(names):
                yield f"{where}.{key}[{place}]", name
    for index, pair in enumerate(robot.self_collision_ignored):
        for place, name in enumerate(pair):
            yield f"robot.self_collision_ignored[{index}][{place}]", name


def _moving_chain(model: UrdfModel, base: str, tip: str) -> list[str]:
    """Returns the moving joints from one link to another; empty if the first does not carry the second."""
    if not model.is_below(tip, base):
        return []
    beyond = [joint for joint in model.joints_above(tip) if joint.child != base and model.is_below(joint.child, base)]
    return [joint.name for joint in reversed(beyond) if joint.moves]


def _joint_limit_problems(
    arm: ArmCfg, place: int, limits: Mapping[str, float], *, where: str, slack: float, whose: str
) -> Iterator[ConfigError]:
    """Yields an error for every limit of one joint that goes beyond the given ones by more than `slack`."""
    for key, unit, sign in _ARM_LIMITS:
        value = getattr(arm, key)[place]
        if key in limits and sign * (value - limits[key]) < -slack:
            of = f" of {arm.joints[place]}"
            yield _limit_error(f"{where}.{key}[{place}]", value, limits[key], unit, of=of, whose=whose)


def _hand_problems(arm: ArmCfg, makers_arm: ArmCfg, *, where: str) -> Iterator[ConfigError]:
    """Yields an error for every link that may touch the part here, but not on the maker's robot."""
    if list(arm.gripper.joints) != list(makers_arm.gripper.joints):
        yield ConfigError(
            f"{where}.gripper.joints={list(arm.gripper.joints)} are not the finger joints of the arm, expected "
            f"{list(makers_arm.gripper.joints)}. Change them.",
            key=f"{where}.gripper.joints",
        )
    for place, link in enumerate(arm.gripper.finger_links):
        if link not in makers_arm.gripper.finger_links:
            key = f"{where}.gripper.finger_links[{place}]"
            yield unknown_name(link, "a finger of the arm", where=key, known=makers_arm.gripper.finger_links)
    missing = [link for link in makers_arm.forbidden_links if link not in arm.forbidden_links]
    if missing:
        yield ConfigError(
            f"{where}.forbidden_links lacks {', '.join(missing)}. These may never touch an object. Expected at least "
            f"{', '.join(makers_arm.forbidden_links)}. Add them.",
            key=f"{where}.forbidden_links",
        )


def _gripper_limit_problems(gripper: GripperCfg, makers_gripper: GripperCfg, *, where: str) -> Iterator[ConfigError]:
    for key, unit in _GRIPPER_LIMITS:
        value, limit = getattr(gripper, key), getattr(makers_gripper, key)
        if value > limit:
            yield _limit_error(f"{where}.{key}", value, limit, unit)


def _spinning_problems(gripper: GripperCfg, limit: float, *, where: str) -> Iterator[ConfigError]:
    value = gripper.spinning_friction
    if value > limit:
        yield _limit_error(f"{where}.spinning_friction", value, limit, "m", whose="Unlatch's")


def _friction_problems(pads: float, object_friction: float, *, where: str) -> Iterator[ConfigError]:
    low, high = FRICTION_PRODUCT
    for what, other in (("objects", object_friction), ("furniture", OTHER_FRICTION)):
        if not low <= pads * other <= high:
            yield ConfigError(
                f"{where}={pads:g} times the {other:g} of {what} is {pads * other:.3g}, a friction of contact beyond "
                f"{low:g} to {high:g}. Expected {low / min(other, OTHER_FRICTION):g} to {high / object_friction:g}. "
                "Change it.",
                key=where,
            )


def _limit_error(
    where: str, value: float, limit: float, unit: str, *, of: str = "", whose: str = "the maker's"
) -> ConfigError:
    return ConfigError(
        f"{where}={value:g}{of} goes beyond {whose} limit of {limit:g} {unit}. Expected a value inside it. Change it.",
        key=where,
    )
