"""Mechanisms of an object: how its joints move or hold each other, and what pulls at them.

A mechanism names joints of the URDF. Positions are joint positions [rad or m], efforts act on joints [N m or N]. What
counts as closed and as the rest of a joint is told by `closed_position`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import Field, dataclass, fields
from dataclasses import field as dataclass_field
from enum import Enum
from typing import Annotated, Any, ClassVar

from unlatch.objects.annotation_entries import rounded
from unlatch.simcore.errors import AssetError
from unlatch.simcore.ranges import NotNegative, Positive, check_ranges
from unlatch.simcore.urdf.model import UrdfModel

JOINT_FIELDS = ("joint", "follows", "by", "joints")
"""Fields that name joints."""
STRENGTH = 1000.0
"""Default effort up to which a mechanism holds a joint [N m or N]: our own choice, more than an arm can pull."""
PLAY = 0.003
"""Default play of a held joint [rad or m]."""

Joint = Annotated[str, "joint"]


class Measure(Enum):
    """What of a joint a condition is about [rad or m]."""

    position = "position"
    opening = "opening"
    """How far it is open from closed; negative beyond closed."""
    distance = "distance"
    """How far it is from its rest, in either direction."""


@dataclass(frozen=True)
class Condition:
    """A joint moves while another one is in a range, as a planner asks for it."""

    joint: str
    """The joint that is held otherwise."""
    by: str
    """The joint that decides."""
    measure: Measure
    """What of `by` counts."""
    low: float
    """Least value of it at which `joint` is free [rad or m]; minus infinity if there is none."""
    high: float
    """Largest one; infinity if there is none."""
    while_moving: bool
    """Whether the condition must hold as long as `joint` moves; else only until `joint` has left its play."""

    def value(self, position: float, closed: float, sign: float) -> float:
        """Returns what counts of `by` at a position [rad or m]; see `closed_position` for the others."""
        if self.measure is Measure.position:
            return position
        opening = sign * (position - closed)
        return abs(opening) if self.measure is Measure.distance else opening

    def holds(self, position: float, closed: float, sign: float) -> bool:
        """Returns whether the condition holds with `by` at a position [rad or m]; see `closed_position`."""
        return self.low <= self.value(position, closed, sign) <= self.high


@dataclass(frozen=True)
class Mechanism:
    """One mechanism; its class says what it does."""

    kind: ClassVar[str] = ""
    """Name of the class in an annotation."""

    def __post_init__(self) -> None:
        check_ranges(self)
        names = self.joints_named
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise AssetError(
                f"joint '{twice[0]}' is named twice. A mechanism joins different joints. Name another one."
            )

    @property
    def joints_named(self) -> tuple[str, ...]:
        """The joints that it names, in the order of its fields."""
        found: list[str] = []
        for name in JOINT_FIELDS:
            value = getattr(self, name, ())
            found += [value] if isinstance(value, str) else (value or ())
        return tuple(found)

    @property
    def held_joints(self) -> tuple[str, ...]:
        """The joints that it may hold; empty if it holds none."""
        return ()

    def conditions(self) -> tuple[Condition, ...]:
        """Returns the conditions under which the joints that it holds are free; all of them must hold."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`; numbers are rounded to a nanometre, defaults are left out."""
        data: dict[str, Any] = {"kind": self.kind}
        for field in ordered_fields(type(self)):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            if isinstance(value, tuple):
                value = [rounded(item) if isinstance(item, float) else item for item in value]
            data[field.name] = rounded(value) if isinstance(value, float) else value
        return data


def ordered_fields(kind: type[Mechanism]) -> list[Field[Any]]:
    """Returns the fields of a kind of mechanism: its own ones first."""
    return sorted(fields(kind), key=lambda field: field.kw_only is True)


@dataclass(frozen=True)
class Mimic(Mechanism):
    """Gear, rack, telescopic rail, or two doors that open together: `q_joint = ratio * q_follows + offset`."""

    kind: ClassVar[str] = "mimic"
    joint: Joint
    """The joint that follows."""
    follows: Joint
    """The joint that it follows; both move each other."""
    ratio: float = 1.0
    """How far `joint` moves while `follows` moves by one."""
    offset: float = 0.0
    """Position of `joint` where `follows` is at 0 [rad or m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ratio == 0.0:
            raise AssetError(
                "ratio is 0, so the joint would follow nothing. Give another one, or remove the mechanism."
            )


@dataclass(frozen=True, kw_only=True)
class Holding(Mechanism):
    """A mechanism that holds one joint near closed, until another joint has moved from its rest."""

    threshold: ClassVar[str] = ""
    """Field that says how far the other joint must have moved; empty: no other joint decides."""
    is_asked_while_moving: ClassVar[bool] = False
    """Whether the other joint must stay there as long as the held one moves."""
    play: NotNegative = PLAY
    """How far a held joint can move [rad or m]."""
    strength: Positive = STRENGTH
    """Largest effort with which it holds a joint [N m or N]."""

    @property
    def held_joints(self) -> tuple[str, ...]:
        """See `Mechanism.held_joints`."""
        return self.joints_named[:1]

    def conditions(self) -> tuple[Condition, ...]:
        """See `Mechanism.conditions`."""
        if not self.threshold:
            return ()
        joint, by = self.joints_named
        least = float(getattr(self, self.threshold))
        return (Condition(joint, by, Measure.distance, least, math.inf, while_moving=self.is_asked_while_moving),)


@dataclass(frozen=True)
class Latch(Holding):
    """A bolt holds the closed joint until another joint has turned far enough, as the lever of a door."""

    kind: ClassVar[str] = "latch"
    threshold: ClassVar[str] = "free_at"
    joint: Joint
    """The joint that is held near its closed position."""
    by: Joint
    """The joint that withdraws the bolt."""
    free_at: Positive
    """How far `by` must have moved from its rest, in either direction [rad or m]."""
    snaps: bool = True
    """Whether the bolt gives way to a part that closes, and snaps in. Else a part that is open stays out until `by`
    withdraws the bolt again, as with the bolts of a safe."""


@dataclass(frozen=True)
class PushLatch(Holding):
    """A part without a handle: pressed in beyond closed and let go, it pops out; pressed in again, it stays."""

    kind: ClassVar[str] = "push_latch"
    joint: Joint
    """The joint that is held near its closed position."""
    press: Positive
    """How far beyond closed it must be pressed [rad or m]; the limit of the joint must leave this way."""
    pops_to: Positive
    """Opening to which it pops out [rad or m]."""
    effort: Positive
    """Effort of the spring that is pressed, at the closed part; it falls to 0 at `pops_to` [N m or N]."""
    play: NotNegative = dataclass_field(default=0.001, kw_only=True)


@dataclass(frozen=True)
class Release(Holding):
    """A button or knob lets a spring open a part; the part snaps in again when it closes."""

    kind: ClassVar[str] = "release"
    threshold: ClassVar[str] = "at"
    joint: Joint
    """The joint that is held near its closed position."""
    by: Joint
    """The joint of the button or knob."""
    at: Positive
    """How far `by` must have moved from its rest, in either direction [rad or m]."""
    pops_to: Positive
    """Opening to which the spring pushes the part [rad or m]."""
    effort: Positive
    """Effort of the spring at the closed part; it falls to 0 at `pops_to` [N m or N]."""


@dataclass(frozen=True)
class Interlock(Holding):
    """One of several joints opens at a time; or a joint moves only while another one is in a range.

    The first form names `joints`, as the drawers of a filing cabinet. The second names `joint`, `by` and `range`, as
    the lever of a safe that turns only while the dial is at its place.
    """

    kind: ClassVar[str] = "interlock"
    joints: tuple[Joint, ...] = ()
    """Joints of which one is open at a time: further than the play."""
    joint: Joint | None = None
    """The joint that is held where it is."""
    by: Joint | None = None
    """The joint that decides."""
    range: tuple[float, ...] = ()
    """Least and largest position of `by` at which `joint` moves [rad or m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        several = len(self.joints) > 1
        single = self.joint is not None and self.by is not None and len(self.range) == 2
        if several == single or (self.joints and not several) or (several and (self.joint or self.by or self.range)):
            raise AssetError(
                "an interlock needs either `joints` with at least two, of which one is open at a time, or `joint`, "
                "`by` and `range: [low, high]`. Give one of the two."
            )
        if single and not self.range[0] < self.range[1]:
            raise AssetError(f"range is {list(self.range)}, expected the least position first. Exchange them.")

    @property
    def held_joints(self) -> tuple[str, ...]:
        """See `Mechanism.held_joints`."""
        return self.joints or ((self.joint,) if self.joint else ())

    def conditions(self) -> tuple[Condition, ...]:
        """See `Mechanism.conditions`."""
        if self.joint and self.by:
            low, high = self.range
            return (Condition(self.joint, self.by, Measure.position, low, high, while_moving=True),)
        return tuple(
            Condition(joint, other, Measure.opening, -math.inf, self.play, while_moving=True)
            for joint in self.joints
            for other in self.joints
            if other != joint
        )


@dataclass(frozen=True)
class PressAndTurn(Holding):
    """A childproof cap: it turns open only while it is pressed; it always turns closed."""

    kind: ClassVar[str] = "press_and_turn"
    threshold: ClassVar[str] = "at"
    is_asked_while_moving: ClassVar[bool] = True
    joint: Joint
    """The joint that turns."""
    by: Joint
    """The joint that is pressed."""
    at: Positive
    """How far `by` must be pressed from its rest [rad or m]."""


@dataclass(frozen=True)
class Detent(Mechanism):
    """A joint that clicks into positions: a spring ball draws it to the nearest one."""

    kind: ClassVar[str] = "detent"
    joint: Joint
    positions: tuple[float, ...]
    """Positions of the clicks [rad or m]."""
    effort: Positive
    """Effort that must be exceeded to leave a position, without friction [N m or N]."""
    reach: Positive
    """Distance from a position within which it is drawn there [rad or m]."""
    damping: NotNegative = 0.0
    """Effort by speed, everywhere [N m s/rad or N s/m]: it brakes what snaps over."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.positions or list(self.positions) != sorted(set(self.positions)):
            raise AssetError(
                f"positions are {list(self.positions)}, expected at least one, in rising order. Correct them."
            )
        steps = [after - before for before, after in zip(self.positions, self.positions[1:], strict=False)]
        if steps and self.reach > 0.5 * min(steps):
            raise AssetError(
                f"reach is {self.reach:g}, but two positions are {min(steps):g} apart: it would be drawn to both. "
                f"Give at most {0.5 * min(steps):g}."
            )


@dataclass(frozen=True)
class Spring(Mechanism):
    """A spring pulls a joint to its rest: of a lever, a button, a trigger or a pedal."""

    kind: ClassVar[str] = "spring"
    joint: Joint
    rest: float
    """Position without effort [rad or m]; beyond a limit of the joint, the spring is always tense."""
    stiffness: Positive
    """Effort by distance [N m/rad or N/m]."""
    damping: NotNegative = 0.0
    """Effort by speed [N m s/rad or N s/m]."""


@dataclass(frozen=True)
class Closer(Mechanism):
    """A door closer: it draws the part closed from everywhere, and brakes it."""

    kind: ClassVar[str] = "closer"
    joint: Joint
    effort: Positive
    """Effort towards closed [N m or N]."""
    speed: Positive
    """Speed above which it brakes a closing part [rad/s or m/s]."""


@dataclass(frozen=True)
class SoftClose(Mechanism):
    """A damped slide or hinge: near closed, it draws the part in, slowly."""

    kind: ClassVar[str] = "soft_close"
    joint: Joint
    effort: Positive
    """Effort towards closed [N m or N]."""
    reach: Positive
    """Opening below which it acts [rad or m]."""
    speed: Positive
    """Speed above which it brakes a closing part [rad/s or m/s]."""


KINDS: dict[str, type[Mechanism]] = {
    found.kind: found
    for found in (Mimic, Latch, PushLatch, Release, Interlock, PressAndTurn, Detent, Spring, Closer, SoftClose)
}
"""The kinds of mechanisms by name."""


def closed_position(joint: str, *, parts: Mapping[str, tuple[float, float]], model: UrdfModel) -> tuple[float, float]:
    """Returns the closed position of a joint, which is also its rest, and +1 if it opens upwards, else -1.

    That of a part is stated; of another joint, it is the position of its range that is nearest to 0, and it opens
    towards the farther limit.

    Args:
        joint: The joint.
        parts: Closed and open position of annotated joints, by joint [rad or m].
        model: The URDF.
    """
    if joint in parts:
        closed, opened = parts[joint]
        return closed, 1.0 if opened >= closed else -1.0
    found = model.joints[joint]
    if found.kind == "continuous":
        return 0.0, 1.0
    closed = min(max(0.0, found.lower), found.upper)
    return closed, 1.0 if found.upper - closed >= closed - found.lower else -1.0


def room_at(joint: str, *, parts: Mapping[str, tuple[float, float]], model: UrdfModel) -> tuple[float, float]:
    """Returns how far a joint moves from closed beyond closed, and open [rad or m]; see `closed_position`."""
    found = model.joints[joint]
    if found.kind == "continuous":
        return math.inf, math.inf
    closed, sign = closed_position(joint, parts=parts, model=model)
    below, above = closed - found.lower, found.upper - closed
    return (below, above) if sign > 0 else (above, below)


def swings_both_ways(joint: str, *, parts: Mapping[str, tuple[float, float]], model: UrdfModel) -> bool:
    """Returns whether a joint opens to both sides of closed, as that of a saloon door, and not only a little beyond."""
    beyond, open_ = room_at(joint, parts=parts, model=model)
    return beyond >= _OTHER_SIDE_SHARE * open_


SLACK = 1e-6
"""Rounding of positions [rad or m]."""
_OTHER_SIDE_SHARE = 0.5
"""Least range beyond closed, as a share of that on the open side, from which on a joint opens to both sides."""
GEAR_SLACK = 2e-3
"""How far gears may lead a joint beyond its limits [rad or m]: files round them."""


def spring_at(joint: str, mechanisms: Mapping[str, Mechanism]) -> Spring | None:
    """Returns the spring that pulls at a joint, which is the sum of all that do; None: none does."""
    found = [each for each in mechanisms.values() if isinstance(each, Spring) and each.joint == joint]
    if len(found) < 2:
        return found[0] if found else None
    stiffness = sum(each.stiffness for each in found)
    rest = sum(each.stiffness * each.rest for each in found) / stiffness
    return Spring(joint, rest, stiffness, sum(each.damping for each in found))


def rest_position(
    joint: str,
    mechanisms: Mapping[str, Mechanism],
    *,
    parts: Mapping[str, tuple[float, float]],
    model: UrdfModel,
) -> tuple[float, float]:
    """Returns the rest of a joint, and +1 or -1 where it is moved from there upwards or downwards.

    It is where a spring pulls the joint, within its limits: a button rests where it stands out, whatever counts as
    closed. Without a spring, it is the closed position. `parts` is as in `closed_position`.
    """
    closed, sign = closed_position(joint, parts=parts, model=model)
    found = model.joints[joint]
    spring = spring_at(joint, mechanisms)
    if spring is None or found.kind == "continuous":
        return closed, sign
    rest = min(max(spring.rest, found.lower), found.upper)
    if abs(rest - closed) <= SLACK:
        return closed, sign
    return rest, 1.0 if found.upper - rest >= rest - found.lower else -1.0


def follow(
    mechanisms: Mapping[str, Mechanism], positions: Mapping[str, float], *, led: Collection[str] = ()
) -> dict[str, float]:
    """Returns joint positions with those of joints that follow others by a `mimic` [rad or m].

    A joint that follows one without a position keeps its own. Joints that are `led` move those that they follow.
    """
    found = dict(positions)
    left = [mechanism for mechanism in mechanisms.values() if isinstance(mechanism, Mimic)]
    for joint in led:
        while (mimic := next((each for each in left if each.joint == joint), None)) is not None:
            found[mimic.follows] = (found[joint] - mimic.offset) / mimic.ratio
            joint = mimic.follows
    while left:  # a chain may be stated in any order
        ready = [each for each in left if each.follows not in {other.joint for other in left}]
        for each in ready:
            if each.follows in found:
                found[each.joint] = each.ratio * found[each.follows] + each.offset
        left = [each for each in left if each not in ready] if ready else []
    return found


def rest_positions(
    mechanisms: Mapping[str, Mechanism], *, parts: Mapping[str, tuple[float, float]], model: UrdfModel
) -> dict[str, float]:
    """Returns the rest of every annotated joint and of every joint of a mechanism, see `rest_position` [rad or m].

    Where a part opens another one as it closes, as a pedal its lid, the other one rests closed.
    """
    joints = dict.fromkeys((*parts, *(joint for each in mechanisms.values() for joint in each.joints_named)))
    found = {joint: rest_position(joint, mechanisms, parts=parts, model=model)[0] for joint in joints}
    opened = []
    for each in mechanisms.values():
        if isinstance(each, Mimic) and each.joint in parts and each.follows in parts:
            (closed, open_), (first, last) = parts[each.joint], parts[each.follows]
            if each.ratio * (open_ - closed) * (last - first) < 0.0:
                opened.append(each.joint)
    return follow(mechanisms, found, led=opened)


def settling_reach(joint: str, mechanisms: Mapping[str, Mechanism]) -> float:
    """Returns the opening within which mechanisms move a joint that nobody holds [rad or m]; 0 if none does."""
    fields_of = {Latch: "play", PushLatch: "pops_to", Release: "pops_to", SoftClose: "reach"}
    own = (each for each in mechanisms.values() if type(each) in fields_of and joint == each.joints_named[0])
    return max((float(getattr(each, fields_of[type(each)])) for each in own), default=0.0)
