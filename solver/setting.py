"""Planner settings: the mapping `planner_setting` under a skill, as dataclasses that check themselves, the motions that
it lists, and the system whose conventions it follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, PluginError, UnknownEntryError, close_matches, unknown_key, unknown_name
from unlatch.simcore.geometry import unit
from unlatch.simcore.registry import Catalog
from unlatch.simcore.rng import sum_in_order
from unlatch.solver.scene import Array, SlipMode
from unlatch.solver.term import Term, read_number, read_term
from unlatch.solver.term_kinds import COSTS, TERMS


class Origin(Enum):
    """The system that a planner setting comes from; its conventions decide what the setting means."""

    unlatch = "unlatch"
    interndata = "interndata"
    gensim2 = "gensim2"

    @property
    def title(self) -> str:
        """The name of the system."""
        return _TITLES[self.value]

    @property
    def is_peer(self) -> bool:
        """Whether it is another system."""
        return self is not Origin.unlatch


_TITLES = {"unlatch": "Unlatch", "interndata": "InternDataEngine", "gensim2": "GenSim2"}

CONTACT_NAME = "fingers_contact_with_link0"
"""The name that means a point constraint in the form of the peers."""
TARGET_AXIS = ("target_axis",)
TARGET_CROSS = ("cross_target_axis1_from_keypoint_name", "cross_target_axis1_to_keypoint_name")
TARGET_PAIR = ("target_axis_from_keypoint_name", "target_axis_to_keypoint_name")
"""Fields of an angle constraint that state its target: an axis, a cross product, or two keypoints."""

MEANINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "fingers_orthogonal_to_link0": ((*TARGET_AXIS, *TARGET_CROSS), TARGET_PAIR, "cross product"),
    "hand_parallel_to_axis_computed_by_keypoints": (
        TARGET_PAIR,
        (*TARGET_AXIS, "target_axis_frame", *TARGET_CROSS),
        "the two target keypoints",
    ),
    "hand_parallel_to_link0_edge": (TARGET_AXIS, (*TARGET_CROSS, *TARGET_PAIR), "target_axis alone"),
    "hand_parallel_to_link0_edge_door": (
        TARGET_CROSS,
        (*TARGET_AXIS, "target_axis_frame", *TARGET_PAIR),
        "the object keypoint axis alone",
    ),
    "hand_parallel_to_link0_move_axis": (TARGET_AXIS, (*TARGET_CROSS, *TARGET_PAIR), "target_axis alone"),
}
"""Names with a meaning in the form of the peers: fields needed, fields without effect, meaning."""

IGNORED = ("actuation_time", "mobile_move", "post_actuation_times", "pre_actuation_times")
"""Keys of the peers that have no effect."""

HANDS: dict[str, tuple[str, str]] = {
    "fr3": ("z", "y"),
    "franka": ("z", "y"),
    "lift2": ("x", "-y"),
    "panda": ("z", "y"),
    "split_aloha": ("z", "y"),
}
"""Hands of the other systems: the axes of their hand frame along which they approach and open."""


def hand_rotation(hand: str | None, tool: Mapping[str, Array]) -> Array:
    """Returns (3, 3) the rotation from the frame of a hand in `HANDS` to the ee frame of a robot.

    None stands for the robot's own hand and gives the identity. `tool` has its keypoints, (3,) each, ee frame [m].
    """
    if hand is None or not {"tool_head", "tool_tail", "tool_side"} <= set(tool):
        return np.eye(3)
    approach, side = (
        (np.eye(3)["xyz".index(letter[-1])] * (-1.0 if letter.startswith("-") else 1.0)) for letter in HANDS[hand]
    )
    forward = unit(tool["tool_head"] - tool["tool_tail"])
    sideways = tool["tool_side"] - tool["tool_head"]
    sideways = unit(sideways - forward * float(forward @ sideways))
    theirs = np.column_stack([approach, side, np.cross(approach, side)])
    ours = np.column_stack([forward, sideways, np.cross(forward, sideways)])
    return ours @ theirs.T


def detect_origin(raw: Mapping[str, Any]) -> Origin:
    """Returns which system wrote a block: the one it names in `origin`, or else the one whose marks it has.

    Without marks of another system it is ours: every unknown key is an error.
    The marks are things that only the other systems write: constraint names in `MEANINGS` (InternDataEngine), the label
    `category_name`, the keys of `IGNORED`, and the labels of a whole GenSim2 task without a threshold.
    """
    named = raw.get("origin")
    if isinstance(named, Origin):
        return named
    if isinstance(named, str) and named in Origin.__members__:
        return Origin[named]
    entries = raw.get("constraint_list")
    names = {str(e.get("name")) for e in entries if isinstance(e, Mapping)} if isinstance(entries, list) else set()
    if names & {CONTACT_NAME, *MEANINGS}:
        return Origin.interndata
    if raw.get("category_name") is not None or any(key in raw for key in IGNORED):
        return Origin.gensim2
    is_whole_task = {"task_name", "tool_keypoint_name_list", "object_keypoint_name_list"} <= set(raw)
    return Origin.gensim2 if is_whole_task and "success_threshold" not in raw else Origin.unlatch


MOTION_WORDS: dict[str, tuple[int, float]] = {
    "move-backward": (0, -0.1),
    "move-down": (2, -0.06),
    "move-forward": (0, 0.1),
    "move-left": (1, 0.08),
    "move-right": (1, -0.08),
    "move-up": (2, 0.06),
}
"""Words of the lists of motions: axis of the arm's base frame and distance [m]."""

MOTION_MODES = ("translate_x", "translate_y", "translate_z", "translate_out", "rotate")
"""Modes of a motion: along an axis of the ee frame [m], out of the front of the region that something is put into or
taken from [m], or about the object's joint [rad]."""
REGION_FRONT = "region_front"
"""Axis of a scene that points out of the front of its region."""


@dataclass(frozen=True)
class MotionReading:
    """How the listed motions of a setting move the hand."""

    R_ee_hand: np.ndarray = field(default_factory=lambda: np.eye(3))
    """(3, 3) rotation of the frame in which `translate_x`, `_y` and `_z` are stated, in the ee frame."""
    turn_sign: float = 1.0
    """-1 where `rotate` turns against the joint position."""


def read_list(value: Any, where: str) -> list[Any]:
    """Returns a value as a plain list.

    Raises:
        ConfigError: It is a text, a mapping or a single value.
    """
    if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
        raise ConfigError(f"{where} is a {type(value).__name__}, expected a list.", key=where)
    return list(value)


def read_motion(entry: Any, where: str, *, words: bool) -> list[Any]:
    """Reads [mode, value] or, where words are allowed, a word such as `move-up`; it becomes [word, its distance in m].

    Raises:
        ConfigError: It is neither.
    """
    if words and isinstance(entry, str) and entry in MOTION_WORDS:
        return [entry, MOTION_WORDS[entry][1]]
    known = [*MOTION_MODES, *(MOTION_WORDS if words else ())]
    pair = [entry] if isinstance(entry, str) else read_list(entry, where)
    if len(pair) != 2 or pair[0] not in known:
        near = close_matches(pair[0], known) if pair and isinstance(pair[0], str) else ""
        raise ConfigError(
            f"{where}={entry!r} is not a motion.{near} Expected [mode, value] with a mode of {', '.join(MOTION_MODES)}"
            + (f", or a word of {', '.join(MOTION_WORDS)}." if words else "."),
            key=where,
        )
    bound = 6.3 if pair[0] == "rotate" else 2.0
    return [pair[0], read_number(pair[1], where, lower=-bound, upper=bound)]


MAX_THRESHOLD = 10.0
"""Largest `success_threshold` [rad or m]."""
_TERM_LISTS = ("constraint_list", "cost_list")
MISSING: Any = "???"
"""OmegaConf's mark of a required value, written out so that OmegaConf is not imported here."""
PART_KEYPOINTS = (
    "articulated_object_head",
    "articulated_object_tail",
    "base_contact_point",
    "link_contact_point",
)
"""Keypoints that every annotated part has."""


class SuccessMode(Enum):
    """How the joint is compared with `success_threshold`: `abs` and `dis_to_init` moved at least so far, `normal` moved
    so far towards open, `zero` at most so far from closed, `fraction` moved by this share of the range.
    """

    abs = "abs"
    normal = "normal"
    zero = "zero"
    dis_to_init = "dis_to_init"
    fraction = "fraction"


@dataclass
class RangeXyzCfg:
    """A range of each of three components."""

    x_min: float = 0.0
    """Lowest x."""
    x_max: float = 0.0
    """Highest x."""
    y_min: float = 0.0
    """Lowest y."""
    y_max: float = 0.0
    """Highest y."""
    z_min: float = 0.0
    """Lowest z."""
    z_max: float = 0.0
    """Highest z."""

    def __post_init__(self) -> None:
        for axis in "xyz":
            low, high = getattr(self, f"{axis}_min"), getattr(self, f"{axis}_max")
            if low > high:
                raise ConfigError(f".{axis}_min={low} is above {axis}_max={high}. Exchange them.")

    @property
    def lower(self) -> list[float]:
        """The three lowest values."""
        return [self.x_min, self.y_min, self.z_min]

    @property
    def upper(self) -> list[float]:
        """The three highest values."""
        return [self.x_max, self.y_max, self.z_max]


@dataclass
class KeyposeRandomRangeCfg:
    """Uniform noise on the goal pose, ee frame, drawn from the planner stream."""

    orientation: RangeXyzCfg = field(default_factory=RangeXyzCfg)
    """Roll, pitch, yaw in DEGREES, as in InternDataEngine."""
    position: RangeXyzCfg = field(default_factory=RangeXyzCfg)
    """Offsets in m."""

    @property
    def is_zero(self) -> bool:
        """Whether nothing is drawn."""
        both = (self.orientation, self.position)
        return not any(any(r.lower) or any(r.upper) for r in both)


@dataclass
class FollowJointCfg:
    """Post motion: follow the part along its own joint."""

    to: Any = None
    """Joint position [rad or m], or a text like `80%` (share of the way from closed to open); None = the skill's."""
    step: float | None = None
    """Largest joint step between two planned waypoints [rad or m]; None = as many waypoints as the planner's budget."""
    reach: float | None = None
    """Joint position that the part must reach [rad or m]: the path is extended until then. None: as success needs."""

    def target(self, *, s_closed: float, s_open: float) -> float | None:
        """Returns the joint position at the end, or None if the skill decides [rad or m]."""
        if self.to is None:
            return None
        if isinstance(self.to, str):
            return s_closed + float(self.to.rstrip("% ")) / 100.0 * (s_open - s_closed)
        return float(self.to)


@dataclass
class PlannerSettingCfg:
    """What the planner solves for one skill; the field names are those of GenSim2 and InternDataEngine."""

    origin: Origin = Origin.unlatch
    """The system whose conventions the setting follows: signs of axes, frames, rotations, and where motions end."""
    hand: str | None = None
    """Hand of another system that the motions are written for (`HANDS`); None = that of the robot."""
    task_name: str | None = None
    """Label only."""
    category_name: str | None = None
    """Label only."""
    tool_keypoint_name_list: list[str] = field(default_factory=list)
    """Tool keypoints that must exist."""
    object_keypoint_name_list: list[str] = field(default_factory=list)
    """Object keypoints that must exist."""
    contact_pose_index: int | None = None
    """Index of the keyframe at which the fingers touch the part, in [current] + pre + [goal] + post. None: the goal. It
    may be a listed post motion: the hand then moves on to it with open fingers.
    """
    success_threshold: float = MISSING
    """Displacement of the object's joint that counts as success [rad or m], see `success_mode`."""
    success_mode: SuccessMode | None = None
    """How the displacement is compared; None = the skill's default."""
    update_art_joint: bool = False
    """Whether the object's joint keeps its present position."""
    constraint_list: list[Term] = field(default_factory=list)
    """Constraints; in a YAML file mappings chosen by `type`."""
    cost_list: list[Term] = field(default_factory=list)
    """Costs; in a YAML file mappings chosen by `type`."""
    pre_actuation_motions: list[Any] = field(default_factory=list)
    """[[mode, value] or word, ...] from the goal backwards."""
    post_actuation_motions: Any = None
    """[[mode, value] or word, ...] cumulative from the goal, or {follow_joint: {to, step}}; None = follow_joint.

    Kept as a list of motions or as a `FollowJointCfg`."""
    approach_width_m: float | None = None
    """Opening of the fingers on the approach and the retreat [m]; None = wide open. Closed fingers stay closed."""
    keypoint_shifts: dict[str, Any] = field(default_factory=dict)
    """[x, y, z] by object keypoint, in its frame: moves the keypoint to another place on a bar or a face [m]."""
    held_part: str | None = None
    """Part of the object that the hand holds, such as the lever of a latched door: keypoints and axes are its own, and
    the hand leads both. None: the part that the skill moves."""
    slips: list[str] = field(default_factory=list)
    """Slip modes of the hand on the part (`SlipMode`), tried in order; none = those of the skill."""
    press_direction: list[float] | None = None
    """[x, y, z] into a face, frame of the part's link: closed fingertips press on the face along it and drag the part
    by friction. None: they do not press."""
    keypose_random_range: KeyposeRandomRangeCfg = field(default_factory=KeyposeRandomRangeCfg)
    """Noise on the goal pose."""
    modify_actuation_motion: list[Any] | None = None
    """[mode, value]: extra offset on the goal."""
    additional_labels: dict[str, Any] = field(default_factory=dict)
    """[mode, value] by asset name, in place of `modify_actuation_motion`."""
    derived: bool = False
    """Whether the task omits the setting, which is then derived from the part when the skill begins."""

    def __post_init__(self) -> None:
        if self.constraint_list == MISSING or self.success_threshold == MISSING:
            return  # an unfilled schema; OmegaConf refuses missing values
        self.check("planner_setting")

    def check(self, where: str) -> None:
        """Reads terms and motions that are still plain values, and checks every value; `where` is the full key.

        Raises:
            ConfigError: A value is of the wrong type or out of range.
        """
        self.success_threshold = read_number(
            self.success_threshold, f"{where}.success_threshold", lower=0.0, upper=MAX_THRESHOLD
        )
        self.constraint_list = _read_terms(self.constraint_list, TERMS, f"{where}.constraint_list")
        self.cost_list = _read_terms(self.cost_list, COSTS, f"{where}.cost_list")
        self.pre_actuation_motions = [
            read_motion(entry, f"{where}.pre_actuation_motions[{i}]", words=True)
            for i, entry in enumerate(read_list(self.pre_actuation_motions, f"{where}.pre_actuation_motions"))
        ]
        self.post_actuation_motions = _read_post(self.post_actuation_motions, f"{where}.post_actuation_motions")
        self.keypoint_shifts = {
            str(name): _read_shift(value, f"{where}.keypoint_shifts.{name}")
            for name, value in self.keypoint_shifts.items()
        }
        if self.approach_width_m is not None:
            self.approach_width_m = read_number(
                self.approach_width_m, f"{where}.approach_width_m", lower=0.0, upper=1.0
            )
        self.slips = [
            _read_slip(name, f"{where}.slips[{i}]") for i, name in enumerate(read_list(self.slips, f"{where}.slips"))
        ]
        if self.press_direction is not None:
            self._check_press(f"{where}.press_direction")
        if self.modify_actuation_motion is not None:
            key = f"{where}.modify_actuation_motion"
            self.modify_actuation_motion = read_motion(self.modify_actuation_motion, key, words=False)
        self.additional_labels = {
            str(name): read_motion(value, f"{where}.additional_labels.{name}", words=False)
            for name, value in self.additional_labels.items()
        }
        self._check_contact(f"{where}.contact_pose_index")

    @property
    def drags(self) -> bool:
        """Whether closed fingertips drag the part by friction."""
        return self.press_direction is not None

    def _check_press(self, where: str) -> None:
        numbers = _read_shift(self.press_direction, where)
        if not any(numbers):
            raise ConfigError(f"{where}={numbers} has no direction, expected a vector that is not zero.", key=where)
        self.press_direction = numbers
        if self.approach_width_m != 0.0 or self.follow_joint is None:
            raise ConfigError(
                f"{where} is for closed fingers that lead a part along its joint. Expected approach_width_m: 0 beside "
                "it, and follow_joint or nothing in post_actuation_motions. Change them, or leave press_direction out.",
                key=where,
            )

    def _check_contact(self, where: str) -> None:
        index, first = self.contact_pose_index, self.goal_index
        posts = 1 if self.follow_joint is not None else len(self.listed_post_motions)
        last = first + len(self.listed_post_motions)
        if index is None or first <= index <= last:
            return
        if index < first:
            reason = "the pre motions only lead up to the goal"
        elif self.follow_joint is not None:
            reason = (
                "follow_joint moves the part, which the fingers must hold by then; list post_actuation_motions instead"
            )
        else:
            reason = "there are no more"
        expected = f"{first} to {last}" if last > first else str(first)
        raise ConfigError(
            f"{where}={index} is out of range, expected {expected}: the keyframes are [current] + {first - 1} pre + "
            f"[goal] + {posts} post, and {reason}. Leave it out to mean the goal.",
            key=where,
        )

    @property
    def follow_joint(self) -> FollowJointCfg | None:
        """How the part is followed along its joint; None if post motions are listed."""
        post = self.post_actuation_motions
        if post is None:
            return FollowJointCfg()
        return post if isinstance(post, FollowJointCfg) else None

    @property
    def listed_post_motions(self) -> list[list[Any]]:
        """The post motions that are listed; none where the part is followed along its joint."""
        post = self.post_actuation_motions
        return post if isinstance(post, list) else []

    @property
    def goal_index(self) -> int:
        """Index of the goal in [current] + pre + [goal] + post."""
        return 1 + len(self.pre_actuation_motions)

    @property
    def contact_index(self) -> int:
        """Index of the keyframe at which the fingers meet the part."""
        return self.goal_index if self.contact_pose_index is None else self.contact_pose_index

    def to_plain(self) -> dict[str, Any]:
        """Returns the whole setting as plain values, for a record."""
        values = dict(vars(self))
        for key in _TERM_LISTS:
            values[key] = [term.to_plain() for term in values[key]]
        if isinstance(self.post_actuation_motions, FollowJointCfg):
            values["post_actuation_motions"] = {"follow_joint": asdict(self.post_actuation_motions)}
        return values

    def to_yaml(self) -> dict[str, Any]:
        """Returns the setting as in a task file: only the values that differ from the defaults."""
        unset = {**vars(PlannerSettingCfg()), "post_actuation_motions": FollowJointCfg()}
        values = {key: value for key, value in vars(self).items() if value != unset[key]}
        for key in set(values) & set(_TERM_LISTS):
            values[key] = [term.to_yaml() for term in values[key]]
        follow = values.get("post_actuation_motions")
        if isinstance(follow, FollowJointCfg):
            stated = {key: value for key, value in vars(follow).items() if value is not None}
            values["post_actuation_motions"] = {"follow_joint": stated}
        return values

    def goal_offset(self, asset: str | None = None) -> list[Any] | None:
        """Returns the [mode, value] that is added to the goal of an asset, or None."""
        if asset is not None and asset in self.additional_labels:
            return list(self.additional_labels[asset])
        return self.modify_actuation_motion


def check_keys(values: Mapping[Any, Any], cls: type[Any], where: str) -> None:
    """Checks that every key of a mapping at the full key `where` is a field of a dataclass.

    Raises:
        ConfigError: A key is not.
    """
    known = [f.name for f in fields(cls)]
    for key in values:
        if key not in known:
            raise unknown_key(f"{where}.{key}", str(key), known)


def _read_slip(name: Any, where: str) -> str:
    known = [mode.value for mode in SlipMode]
    if name not in known:
        raise unknown_name(str(name), "a slip mode", where=where, known=known)
    return str(name)


def omitted_setting() -> PlannerSettingCfg:
    """Returns the setting of an entry that omits it."""
    return PlannerSettingCfg(derived=True)


def _read_terms(entries: Any, catalog: Catalog, where: str) -> list[Term]:
    return [_read_entry(entry, catalog, f"{where}[{i}]") for i, entry in enumerate(read_list(entries, where))]


def _read_entry(entry: Any, catalog: Catalog, where: str) -> Term:
    if isinstance(entry, Term):
        return entry
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where} is a {type(entry).__name__}, expected a mapping with a `type`.", key=where)
    kind = entry.get("type")
    if kind is None:
        raise ConfigError(f"{where}.type is missing. Types: {', '.join(catalog.names())}. Add it.", key=f"{where}.type")
    try:
        cls = catalog.load(str(kind))
    except UnknownEntryError as exc:
        raise unknown_name(
            str(kind), f"a {catalog.kind}", where=f"{where}.type", known=catalog.names(), listed_by="unlatch list terms"
        ) from exc
    if not (isinstance(cls, type) and issubclass(cls, Term)) or str(kind) != cls.TYPE:
        raise PluginError(
            f"The {catalog.kind} '{kind}' comes from {catalog.entries()[str(kind)].target} of "
            f"{catalog.entries()[str(kind)].origin}, but is not a Term with TYPE '{kind}'. Correct that class or its "
            "entry point."
        )
    return read_term(cls, {k: v for k, v in entry.items() if k != "type"}, where=where)


def _read_shift(value: Any, where: str) -> list[float]:
    numbers = read_list(value, where)
    if len(numbers) != 3:
        raise ConfigError(f"{where}={numbers} has {len(numbers)} values, expected 3: x, y, z [m].", key=where)
    return [read_number(number, where, lower=-2.0, upper=2.0) for number in numbers]


def _read_post(value: Any, where: str) -> list[list[Any]] | FollowJointCfg:
    if value is None:
        return FollowJointCfg()
    if isinstance(value, FollowJointCfg):
        return _check_follow(value, where)
    if isinstance(value, Mapping):
        if set(value) != {"follow_joint"}:
            raise ConfigError(
                f"{where} has the keys {sorted(str(k) for k in value)}, expected follow_joint alone, "
                "or a list of motions.",
                key=where,
            )
        inner = value["follow_joint"]
        inner = {} if inner is None else inner
        if not isinstance(inner, Mapping):
            raise ConfigError(f"{where}.follow_joint={inner!r} is not a mapping, expected {{to, step}}.", key=where)
        check_keys(inner, FollowJointCfg, f"{where}.follow_joint")
        follow = FollowJointCfg(**{str(k): v for k, v in inner.items()})
        return _check_follow(follow, f"{where}.follow_joint")
    return [read_motion(entry, f"{where}[{i}]", words=True) for i, entry in enumerate(read_list(value, where))]


def _check_follow(follow: FollowJointCfg, where: str) -> FollowJointCfg:
    if isinstance(follow.to, str):
        number = follow.to.strip().rstrip("%").strip()
        try:
            percent = float(number)
        except ValueError:
            percent = float("nan")
        if not follow.to.strip().endswith("%") or not -20.0 <= percent <= 120.0:
            raise ConfigError(
                f"{where}.to='{follow.to}' is neither a joint position nor a fraction like 80%. Give one of them.",
                key=f"{where}.to",
            )
    elif follow.to is not None:
        read_number(follow.to, f"{where}.to", lower=-20.0, upper=20.0)
    if follow.step is not None:
        read_number(follow.step, f"{where}.step", lower=1e-3, upper=1.0)
    if follow.reach is not None:
        read_number(follow.reach, f"{where}.reach", lower=-20.0, upper=20.0)
    return follow


def sum_turns(motions: Sequence[Sequence[Any]]) -> float:
    """Returns the sum of the turns of listed motions [rad]."""
    return float(sum_in_order(float(value) for mode, value in motions if mode == "rotate"))
