"""Finds arms and hands in a URDF, and measures on the shapes of the fingers where they hold a part."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from unlatch.robots.hand_shape import collider_points
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import unit
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.solids import shape_inertials
from unlatch.simcore.meshes.triangle_mesh import join_meshes
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Joint, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import parse_xml

Array = np.ndarray

LEAST_JOINTS = 5
"""Least number of joints of an arm."""
SAMPLES = 9
"""Number of openings at which a gripper is measured."""
_FINGER_SPACING_M = 0.003
_TIPS_M = 0.008
"""Links within this distance of the furthest fingertip are fingers that hold."""
_PAD_M = 0.02
_MOST_DRIVEN = 2
_FIXED_SHARE = 0.2
"""Place of `tool_head` between a fixed jaw and the open one: a part ends up at the fixed jaw."""
_AT_FINGERS_M = 0.015
"""A hand whose frame is nearer to the middle of its fingers does not tell where they point [m]."""
_SNAP = 0.99
_ALONG = 0.7
"""An axis leads along the hand if it is within 45 degrees of it."""
_EVEN_M = 1e-3
_MEET_M, _MEET_SEARCHES = 1e-4, 2
"""Fingers that come no nearer than this have met [m]; how often their place is looked for in an eighth of the way."""
_LEAST_OPENING_M = 0.01
_HEAD_M, _TAIL_M, _SIDE_M = 0.009, 0.054, 0.04
"""Places of `tool_head` and `tool_tail` behind the fingertips, and of `tool_side` beside `tool_head` [m]."""


@dataclass(frozen=True)
class Chain:
    """An arm in a URDF."""

    base_link: str
    joints: tuple[str, ...]
    ee_link: str
    """Link that carries the fingers."""
    finger_joints: tuple[str, ...]
    """All moving joints beyond that link; those that mimic another one come last."""


@dataclass(frozen=True)
class Hand:
    """A gripper as measured from its colliders, ee frame."""

    joints: tuple[str, ...]
    """The joints that move the fingers; those that mimic another one come last."""
    motors: int
    """How many of them mimic none."""
    closed: tuple[float, ...]
    opened: tuple[float, ...]
    widths_m: tuple[float, ...]
    """Openings at even shares from closed to opened [m]."""
    finger_links: tuple[str, ...]
    keypoints: dict[str, list[float]]

    @property
    def opens_evenly(self) -> bool:
        """Whether the opening grows evenly from 0: the fingers slide."""
        straight = np.linspace(0.0, self.widths_m[-1], len(self.widths_m))
        return bool(np.abs(np.array(self.widths_m) - straight).max() < _EVEN_M)


def read_mimics(urdf: Path) -> dict[str, tuple[str, float, float]]:
    """Returns for each mimic joint the joint that leads it, the multiplier and the offset.

    A joint that mimics a mimic joint is led by the joint at the beginning of this chain.
    """
    return find_mimics(parse_xml(urdf))


def find_mimics(robot: ET.Element) -> dict[str, tuple[str, float, float]]:
    """Returns what `read_mimics` does, of the root element of a URDF."""
    found: dict[str, tuple[str, float, float]] = {}
    for joint in robot.iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and joint.get("name"):
            numbers = (float(mimic.get("multiplier", "1")), float(mimic.get("offset", "0")))
            found[joint.get("name", "")] = (mimic.get("joint", ""), *numbers)
    return {name: _first_leader(name, found) for name in found}


def _first_leader(name: str, mimics: Mapping[str, tuple[str, float, float]]) -> tuple[str, float, float]:
    """Returns the joint at the beginning of a chain of mimic joints, the multiplier and the offset."""
    leader, multiplier, offset = mimics[name]
    passed = {name}
    while leader in mimics and leader not in passed:
        passed.add(leader)
        leader, times, more = mimics[leader]
        multiplier, offset = multiplier * times, offset + multiplier * more
    return leader, multiplier, offset


def find_arm_chains(model: UrdfModel, urdf: Path) -> list[Chain]:
    """Returns every chain of at least five joints that ends where two or more joints branch.

    Without such a chain, those are returned whose last joint moves a jaw towards a jaw that is fixed to the hand.

    Raises:
        AssetError: There is none.
    """
    found, ended = find_chains(model, urdf)
    found = found or [chain for chain in ended if opens(model, chain)]
    if not found:
        longest = max(sum(joint.moves for joint in model.joints_above(link)) for link in model.links)
        raise AssetError(
            f"{urdf} has no arm with a gripper that moves. Expected a chain of at least {LEAST_JOINTS} joints, each "
            "after the other, that ends at a link on which two fingers move, or one finger towards a fixed one; its "
            f"longest chain has {longest} joint{'s' * (longest != 1)}, with those of fingers. For an arm without a "
            "gripper, or with a suction cup: `unlatch new robot FILE gripper=robotiq_2f85`, or gripper=GRIPPER.urdf or "
            ".xml with flange=LINK. Else write the robot by hand (docs/robots.md).",
            path=str(urdf),
        )
    return [_with_lift(model, found[0])] if len(found) == 1 else found


def _with_lift(model: UrdfModel, chain: Chain) -> Chain:
    """Returns the only arm of a robot with the lift or the turning joint that carries it, and perhaps a head beside it.

    Where several joints carry it, only the nearest counts, and only if it is a lift: they are those of a torso.
    """
    below = [joint for joint in model.joints_above(chain.base_link) if joint.moves]
    if not below or chain.joints[0] == below[0].name or (len(below) > 1 and below[0].kind != "prismatic"):
        return chain
    return replace(chain, base_link=below[0].parent, joints=(below[0].name, *chain.joints))


def find_chains(model: UrdfModel, urdf: Path) -> tuple[list[Chain], list[Chain]]:
    """Returns the chains of at least five joints that end where fingers branch, and those with a single one more."""
    found: list[Chain] = []
    ended: list[Chain] = []
    _collect_chains(model, model.root, [], model.root, set(read_mimics(urdf)), found, ended)
    return [_with_near_frame(model, chain) for chain in found], ended


def _with_near_frame(model: UrdfModel, chain: Chain) -> Chain:
    """Returns a chain with the frame of its last arm joint for the hand, if the palm's own is beyond the fingers.

    Programs for drawing may leave the frame of a palm anywhere; its shape is then far from it.
    """
    last = model.joints[chain.joints[-1]].child
    fingers = join_meshes(
        shape_mesh(shape).moved(model.link_pose(name) @ shape.T_link_shape)
        for name, link in model.links.items()
        if _is_moved(model, chain, name)
        for shape in link.collisions or link.visuals
    )
    if fingers.area <= 0.0:
        return chain
    areas = np.linalg.norm(fingers.area_normals, axis=1)
    middle = np.average(fingers.triangles.mean(axis=1), axis=0, weights=areas)
    from_palm, from_last = (middle - model.link_pose(name).p for name in (chain.ee_link, last))
    is_beyond = float(from_palm @ from_last) < 0.0 and float(np.linalg.norm(from_palm)) > _AT_FINGERS_M
    return replace(chain, ee_link=last) if is_beyond else chain


def _collect_chains(
    model: UrdfModel,
    link: str,
    chain: list[str],
    base: str,
    following: set[str],
    found: list[Chain],
    ended: list[Chain],
) -> None:
    """Collects chains that end where fingers branch, and in `ended` those that end with a single joint."""
    moving = _moving_joints_below(model, link)
    driven = [joint for joint in moving if joint.name not in following]
    if len(moving) == 1 and driven:
        first = base if chain else moving[0].parent
        _collect_chains(model, moving[0].child, [*chain, moving[0].name], first, following, found, ended)
    elif len(moving) > 1 and len(chain) >= LEAST_JOINTS:
        fingers = [joint for first in moving for joint in _all_joints_below(model, first)]
        fingers.sort(key=lambda joint: joint.name in following)
        found.append(Chain(base, tuple(chain), moving[0].parent, tuple(joint.name for joint in fingers)))
    elif not moving and len(chain) > LEAST_JOINTS:
        ended.append(Chain(base, tuple(chain[:-1]), model.joints[chain[-1]].parent, (chain[-1],)))
    else:
        for joint in driven:
            _collect_chains(model, joint.child, [joint.name], joint.parent, following, found, ended)


def opens(
    model: UrdfModel, chain: Chain, mimics: Mapping[str, tuple[str, float, float]] = MappingProxyType({})
) -> bool:
    """Returns whether the fingers of a hand part, or its only finger from something that is fixed to the hand."""
    try:
        measure_hand(model, chain, mimics)
    except AssetError:
        return False
    return True


def _moving_joints_below(model: UrdfModel, link: str) -> list[Joint]:
    """Returns the next moving joints below a link, past fixed ones."""
    found = []
    for joint in model.joints.values():
        if joint.parent == link:
            found += [joint] if joint.moves else _moving_joints_below(model, joint.child)
    return found


def _all_joints_below(model: UrdfModel, first: Joint) -> list[Joint]:
    below = [
        joint for following in _moving_joints_below(model, first.child) for joint in _all_joints_below(model, following)
    ]
    return [first, *below]


def measure_hand(model: UrdfModel, chain: Chain, mimics: Mapping[str, tuple[str, float, float]]) -> Hand:
    """Measures how far the fingers of an arm open and where they hold; for `mimics` see `read_mimics`.

    Joints beside the fingers, such as that of a motor, are left out.

    Raises:
        AssetError: The fingers have no shapes, do not open and close, or have motors of their own.
    """
    chain = _without_side_joints(model, chain, mimics)
    driven = [name for name in chain.finger_joints if name not in mimics]
    if len(driven) > _MOST_DRIVEN:
        raise AssetError(
            f"The hand at '{chain.ee_link}' has {len(driven)} joints of its own ({', '.join(driven[:4])}, ...), "
            f"expected at most {_MOST_DRIVEN}: fingers that open by one number. A hand of several fingers is not "
            "supported.",
            link=chain.ee_link,
        )
    shapes = _finger_shapes(model, chain)
    if len(shapes) < 2:
        raise AssetError(
            f"The fingers below '{chain.ee_link}' have shapes on {len(shapes)} links, expected at least 2. Give "
            "both fingers a <collision> or a <visual>.",
            link=chain.ee_link,
        )
    fixed = [name for name in shapes if not _is_moved(model, chain, name)]
    motions = [
        _finger_ends(model, chain, mimics, reverse) for reverse in ((False, True) if len(driven) > 1 else [False])
    ]
    tracks = [_FingerTrack.between(model, chain, shapes, fixed, ends) for ends in motions]
    track = max(tracks, key=lambda each: abs(each.spreads[1] - each.spreads[0]))
    low, high = track.closed_first()
    shares = np.linspace(0.0, 1.0, SAMPLES)

    def measure_openings(high: Array) -> tuple[list[dict[str, Array]], Array]:
        rows = [dict(zip(chain.finger_joints, (low + s * (high - low)).tolist(), strict=True)) for s in shares]
        placed = [_place_points(model, chain, shapes, row) for row in rows]
        return placed, np.maximum.accumulate([max(track.gap_m(clouds), 0.0) for clouds in placed])

    if all(model.joints[name].kind == "prismatic" for name in chain.finger_joints):
        low = _closed_position(model, chain, shapes, track, low, high)
    placed, widths = measure_openings(high)
    if widths[-1] < _LEAST_OPENING_M:
        raise AssetError(
            f"The fingers below '{chain.ee_link}' open by {1e3 * widths[-1]:.1f} mm, expected at least "
            f"{1e3 * _LEAST_OPENING_M:g} mm between {', '.join(track.tips)}. Write the robot by hand (docs/robots.md).",
            link=chain.ee_link,
        )
    widest = int(np.argmax(widths > widths[-1] - _EVEN_M))
    if widest < SAMPLES - 1:  # levers that swing further although the opening no longer grows
        high = low + shares[widest] * (high - low)
        placed, widths = measure_openings(high)
    for _ in range(0 if track.fixed else _MEET_SEARCHES):  # fingers that meet before the end of their range
        met = int(np.flatnonzero(widths <= widths[0] + _MEET_M)[-1])
        if 0 < met < SAMPLES - 1:
            low = low + shares[met] * (high - low)
            placed, widths = measure_openings(high)
    widths = widths + 1e-5 * np.arange(SAMPLES)  # strictly rising, even if fingers meet before their joint limits
    forward, across = track.forward, track.across
    tip = max(float((points @ forward).max()) for name, points in placed[1].items() if name in track.tips)
    side = unit(np.cross(forward, across))
    third = float(np.mean([points.mean(axis=0) @ side for points in placed[0].values()]))
    middle = track.middle
    if track.fixed:  # a fixed jaw holds from its side: a part comes in near it
        middle = track.fixed_face_m(placed[-1]) + track.jaw_side * _FIXED_SHARE * float(widths[-1])
    origin = across * middle + side * (third if abs(third) > 2e-3 else 0.0)
    points = {
        "tool_head": origin + forward * (tip - _HEAD_M),
        "tool_tail": origin + forward * (tip - _TAIL_M),
        "tool_side": origin + forward * (tip - _HEAD_M) + across * _SIDE_M,
        "tool_tip": origin + forward * (tip - 5e-4),
    }
    return Hand(
        chain.finger_joints,
        len(driven),
        tuple(low.round(6).tolist()),
        tuple(high.round(6).tolist()),
        tuple(round(float(w), 5) for w in widths),
        tuple(track.tips),
        {name: [round(float(v), 5) + 0.0 for v in point] for name, point in points.items()},
    )


def _closed_position(
    model: UrdfModel, chain: Chain, shapes: dict[str, Array], track: _FingerTrack, low: Array, high: Array
) -> Array:
    """Returns (n,) the positions at which sliding fingers meet, where they would overlap at the end of their range."""
    gaps = [
        track.gap_m(_place_points(model, chain, shapes, dict(zip(chain.finger_joints, end.tolist(), strict=True))))
        for end in (low, high)
    ]
    share = float(np.clip(-gaps[0] / (gaps[1] - gaps[0]), 0.0, 1.0)) if gaps[1] > gaps[0] else 0.0
    return low + share * (high - low)


def _without_side_joints(model: UrdfModel, chain: Chain, mimics: Mapping[str, tuple[str, float, float]]) -> Chain:
    """Returns a chain without the joints that neither move a fingertip nor are coupled to one that does."""
    shapes = _finger_shapes(model, chain)
    if len(chain.finger_joints) < 2 or len(shapes) < 2:
        return chain
    ends = _finger_ends(model, chain, mimics, reverse=False)
    clouds = [_place_points(model, chain, shapes, dict(zip(chain.finger_joints, end, strict=True))) for end in ends]
    forward = _mean_direction(model, chain, clouds)
    tips: set[str] = set()
    for at_end in clouds:
        reach = {name: float((points @ forward).max()) for name, points in at_end.items()}
        tips |= {name for name, value in reach.items() if value > max(reach.values()) - _TIPS_M}
    kept = {joint.name for name in tips for joint in model.joints_above(name) if joint.name in chain.finger_joints}
    grown = True
    while grown:
        coupled = {name for name, (of, *_) in mimics.items() if name in kept or of in kept}
        coupled |= {mimics[name][0] for name in coupled}
        grown = not (coupled & set(chain.finger_joints)) <= kept
        kept |= coupled & set(chain.finger_joints)
    return replace(chain, finger_joints=tuple(name for name in chain.finger_joints if name in kept))


def _finger_ends(
    model: UrdfModel, chain: Chain, mimics: Mapping[str, tuple[str, float, float]], reverse: bool
) -> tuple[list[float], list[float]]:
    """Returns the positions of the finger joints at both ends of the range of the driven ones.

    With `reverse`, the second driven joint runs from its upper to its lower limit: two fingers with mirrored ranges.
    """
    ends: list[list[float]] = []
    driven = [name for name in chain.finger_joints if name not in mimics]
    for share in (0.0, 1.0):
        positions: dict[str, float] = {}
        for name in chain.finger_joints:
            joint, turned = model.joints[name], reverse and name == driven[-1]
            positions[name] = joint.lower + (1.0 - share if turned else share) * (joint.upper - joint.lower)
        for name in chain.finger_joints:
            if name in mimics and mimics[name][0] in positions:
                of, multiplier, offset = mimics[name]
                positions[name] = multiplier * positions[of] + offset
        ends.append([positions[name] for name in chain.finger_joints])
    return ends[0], ends[1]


@dataclass(frozen=True)
class _FingerTrack:
    """How fingers move between the two ends of their range."""

    ends: tuple[Array, Array]
    """(n,) positions of the finger joints at either end [rad or m]."""
    forward: Array
    """(3,) direction from the hand to the fingertips, ee frame."""
    across: Array
    """(3,) direction in which the fingers part, ee frame."""
    tips: list[str]
    """Links that hold."""
    fixed: list[str]
    """Those of them that do not move."""
    middle: float
    """Mean place of the fingers along `across` [m]."""
    left: dict[str, bool]
    """Whether each of the tips is on the positive side of `across`."""
    spreads: tuple[float, float]
    """Distance of the fingers' middles at either end [m]."""

    @classmethod
    def between(
        cls,
        model: UrdfModel,
        chain: Chain,
        shapes: dict[str, Array],
        fixed: list[str],
        ends: tuple[list[float], list[float]],
    ) -> _FingerTrack:
        """Measures fingers at both ends of their range."""
        clouds = [_place_points(model, chain, shapes, dict(zip(chain.finger_joints, end, strict=True))) for end in ends]
        forward = hand_forward(model, chain, clouds) if fixed else _mean_direction(model, chain, clouds)
        reach = max(float((points @ forward).max()) for points in clouds[0].values())
        tips = [name for name, points in clouds[0].items() if float((points @ forward).max()) > reach - _TIPS_M]
        if fixed:  # a jaw that swings reaches as far as the fixed one somewhere on its way
            far = {name: max(float((at_end[name] @ forward).max()) for at_end in clouds) for name in clouds[0]}
            jaw = max(value for name, value in far.items() if name not in fixed)
            tips = [name for name, value in far.items() if name not in fixed or value > jaw - _PAD_M]
            fixed = [name for name in fixed if name in tips]
            if not fixed:
                raise AssetError(f"Nothing fixed to '{chain.ee_link}' reaches as far as its jaw.", link=chain.ee_link)
        # fingers part along the direction in which their tips move relative to each other
        moved = {name: (clouds[1][name] - clouds[0][name]).mean(axis=0) for name in tips}
        apart = max(moved.values(), key=lambda shift: float(np.linalg.norm(shift)))
        across = apart - forward * float(apart @ forward)
        if float(np.linalg.norm(across)) < 1e-3:
            joints = [model.joints[name] for name in chain.finger_joints]
            endless = [joint.name for joint in joints if turns_round(joint) and joint.follows is None]
            mend = (
                f"The range of joints is missing: {', '.join(endless)}: no <limit> with lower= and upper=, or both are "
                "0. State it."
                if endless
                else "Write the robot by hand (docs/robots.md)."
            )
            raise AssetError(
                f"The fingers below '{chain.ee_link}' do not move apart: {', '.join(tips)}. Expected two that open "
                f"across the hand. {mend}",
                link=chain.ee_link,
            )
        across = _snap_to_axis(unit(across))
        places = [{name: float(points[name].mean(axis=0) @ across) for name in tips} for points in clouds]
        middle = float(np.mean([place for at_end in places for place in at_end.values()]))
        spreads = (max(places[0].values()) - min(places[0].values()), max(places[1].values()) - min(places[1].values()))
        widest = places[int(spreads[1] > spreads[0])]
        centre = 0.5 * (max(widest.values()) + min(widest.values())) if fixed else middle
        left = {name: place > centre for name, place in widest.items()}
        return cls((np.array(ends[0]), np.array(ends[1])), forward, across, tips, fixed, middle, left, spreads)

    @property
    def jaw_side(self) -> float:
        """+1 if the jaw that moves is on the positive side of `across`, else -1."""
        return 1.0 if any(self.left[name] for name in self.tips if name not in self.fixed) else -1.0

    def closed_first(self) -> tuple[Array, Array]:
        """Returns the ends in the order closed, open."""
        return self.ends if self.spreads[0] <= self.spreads[1] else (self.ends[1], self.ends[0])

    def gap_m(self, clouds: dict[str, Array]) -> float:
        """Returns the gap between the fingers on the two sides, near the tips; 0 where they do not face each other."""
        inner: dict[bool, float] = {}
        reach = max(float((clouds[name] @ self.forward).max()) for name in self.tips)
        for name in self.tips:
            points = clouds[name][clouds[name] @ self.forward > reach - _PAD_M]
            if not len(points):
                continue
            offset = points @ self.across - self.middle
            on_left = self.left[name]
            nearest = float(offset.min() if on_left else -offset.max())
            inner[on_left] = min(inner.get(on_left, np.inf), nearest)
        return sum(inner.values()) if len(inner) == 2 else 0.0

    def fixed_face_m(self, clouds: dict[str, Array]) -> float:
        """Returns the place along `across` of the face of the fixed jaw, near its tip [m]."""
        points = np.concatenate([clouds[name] for name in self.fixed])
        near = points[points @ self.forward > float((points @ self.forward).max()) - _PAD_M] @ self.across
        return float(near.max() if self.jaw_side > 0.0 else near.min())


def turns_round(joint: Joint) -> bool:
    """Returns whether a joint has no range, or one of a whole turn, as is assumed where both limits are 0."""
    return not joint.is_limited or (joint.kind == "revolute" and joint.upper - joint.lower > 2.0 * np.pi - 1e-3)


def _mean_direction(model: UrdfModel, chain: Chain, clouds: Sequence[Mapping[str, Array]]) -> Array:
    """Returns (3,) the direction from the ee origin to the middle of the fingers, ee frame.

    Where the frame of the hand lies between the fingers, it is that from the last joint of the arm.
    """
    middle = np.mean([np.concatenate(list(at_end.values())).mean(axis=0) for at_end in clouds], axis=0)
    if float(np.linalg.norm(middle)) < _AT_FINGERS_M:
        wrist = model.link_pose(model.joints[chain.joints[-1]].child).p
        from_wrist = middle - model.link_pose(chain.ee_link).inverse() @ wrist
        middle = from_wrist if float(np.linalg.norm(from_wrist)) > _AT_FINGERS_M else middle
    return _snap_to_axis(unit(middle))


def hand_forward(model: UrdfModel, chain: Chain, clouds: Sequence[Mapping[str, Array]]) -> Array:
    """Returns (3,) the direction from a hand with one moving jaw to the tip of that jaw, ee frame.

    The axis of the last joint leads along the hand, unless it bends the wrist: a single jaw lies beside that line.
    `clouds` are (N, 3) points of each link at some positions of the jaw, ee frame [m].
    """
    last, direction = model.joints[chain.joints[-1]], _mean_direction(model, chain, clouds)
    if last.kind == "prismatic":
        return direction
    axis = model.link_pose(chain.ee_link).R.T @ model.link_pose(last.child).R @ unit(last.axis)
    along = float(axis @ direction)
    return _snap_to_axis(axis * np.sign(along)) if abs(along) > _ALONG else direction


def _finger_shapes(model: UrdfModel, chain: Chain) -> dict[str, Array]:
    """Returns (N, 3) points over each link that holds or may hold, link frame [m].

    These are the links that a finger joint moves and, beside a single jaw, those that are fixed to the hand. Frames
    without a shape are left out.
    """
    links = [name for name in model.links if _is_moved(model, chain, name)]
    clouds = {name: collider_points(model, name, spacing_m=_FINGER_SPACING_M) for name in links}
    if len({_joint_above(model, name) for name, points in clouds.items() if len(points)}) == 1:
        beside = [name for name in rigid_links(model, chain.ee_link) if model.is_below(name, chain.ee_link)]
        beside.remove(chain.ee_link)
        clouds |= {name: collider_points(model, name, spacing_m=_FINGER_SPACING_M) for name in beside}
    return {name: points for name, points in clouds.items() if len(points)}


def _is_moved(model: UrdfModel, chain: Chain, link: str) -> bool:
    """Returns whether a finger joint is the nearest joint that moves a link."""
    return _joint_above(model, link) in chain.finger_joints


def _joint_above(model: UrdfModel, link: str) -> str | None:
    """Returns the nearest joint that moves a link; None if nothing moves it."""
    return next((joint.name for joint in model.joints_above(link) if joint.moves), None)


def _place_points(model: UrdfModel, chain: Chain, shapes: dict[str, Array], at: dict[str, float]) -> dict[str, Array]:
    T_ee_root = model.link_pose(chain.ee_link, at).inverse()
    return {name: T_ee_root @ model.link_pose(name, at) @ points for name, points in shapes.items()}


def _snap_to_axis(direction: Array) -> Array:
    """Returns the direction, or the axis of the frame that it almost equals."""
    axis = int(np.argmax(np.abs(direction)))
    if abs(float(direction[axis])) < _SNAP:
        return direction
    snapped = np.zeros(3)
    snapped[axis] = np.sign(direction[axis])
    return snapped


def arm_names(model: UrdfModel, chains: list[Chain]) -> list[str]:
    """Returns `left` and `right` for the arms of a robot.

    Raises:
        AssetError: It has more than two.
    """
    if len(chains) == 1:
        return ["left"]
    if len(chains) > 2:
        raise AssetError(
            f"The URDF has {len(chains)} arms with grippers ({', '.join(c.ee_link for c in chains)}), expected one or "
            "two."
        )
    # by their shoulders: hands may be crossed where all joints are at 0
    places = [[float(model.link_pose(model.joints[joint].child).p[1]) for joint in chain.joints] for chain in chains]
    gap = next((a - b for a, b in zip(*places, strict=False) if abs(a - b) > _APART_M), 0.0)
    return ["left", "right"] if gap > 0.0 else ["right", "left"]


_APART_M = 0.01
"""Links of two arms that are further apart than this across the robot tell which arm is on the left [m]."""


def forbidden_links(model: UrdfModel, chain: Chain, hand: Hand) -> list[str]:
    """Returns the links with colliders that the arm moves, and its base link; not the finger links."""
    moving = {*chain.joints, *hand.joints}
    return [
        name
        for name, link in model.links.items()
        if link.collisions
        and name not in hand.finger_links
        and (name == chain.base_link or any(joint.name in moving for joint in model.joints_above(name)))
    ]


_PAYLOAD_KG, _HOLDING = 1.0, 2.0
"""A joint whose effort the file does not state gets this many times the effort that holds the arm and this mass."""


def holding_effort(model: UrdfModel, joint: Joint, tip: Array) -> float:
    """Returns the effort that holds all beyond a joint and a payload at (3,) `tip`, root frame [N m or N]."""
    solid = shape_inertials(model)
    held = [(_PAYLOAD_KG, tip)]
    for name, link in model.links.items():
        inertial = solid.get(name, link.inertial)
        if inertial is not None and model.is_below(name, joint.child):
            held.append((inertial.mass_kg, model.link_pose(name) @ inertial.com_link))
    pivot = model.link_pose(joint.child).p
    levers = [1.0 if joint.kind == "prismatic" else float(np.linalg.norm(point - pivot)) for _, point in held]
    return _HOLDING * 9.81 * sum_in_order(mass * lever for (mass, _), lever in zip(held, levers, strict=True))
