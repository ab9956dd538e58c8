"""The table of all keys of a record, with shapes, types and units. `docs/record_format.md` is generated from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from unlatch.simcore.recording.episode_structure import PLANNER, RECORD, SIMULATION

Array = np.ndarray

STATE = "state"
"""T+1 rows: values at the moment of a frame."""
ACTION = "action"
"""T rows: commands from one frame to the next."""
INTERVAL = "interval"
"""T rows: values measured over the physics steps from one frame to the next."""

_KINDS = {
    **dict.fromkeys(("robots", "objects", "keypoints", "regions", "sensors", "skills", "validity", "time"), STATE),
    "actions": ACTION,
    "labels": ACTION,
    "contacts": INTERVAL,
    "speeds": INTERVAL,
}
"""Kind of a key by its first word."""
_SOURCES = {
    **dict.fromkeys(("actions", "labels"), PLANNER),
    **dict.fromkeys(("keypoints", "skills", "time", "validity"), RECORD),
}
"""What determines the values of a key, by its first word."""
_EFFORTS_MEAN = ".joint_efforts_mean"
"""Ending of keys of robots that are not states."""
_NAME = r"[A-Za-z0-9_-]+"

FINGER_JOINTS = "arms with finger joints"
FREE_OBJECTS = "objects that nothing fastens"
JUDGED_OBJECTS = "objects whose contacts are judged"
MECHANISMS = "mechanisms that hold joints"
GATES = "objects whose mechanisms hold joints"
REGIONS = "regions"
SENSORS = "sensors"
SEVERAL_ARMS = "several arms"
HOLDS = "holds"
PUSHES = "pushes"
LABELS = "labels"

Names = Mapping[str, str | int]
"""One name for each placeholder of a pattern, and the sizes of rows by their letters: `{"robot": "panda", "n": 7}`."""
ArrayNames = Mapping[str, Sequence[Names]]
"""The names of an episode by group. The group of a pattern is its `only`, or else its placeholders, such as
`robot arm`. The group of a pattern without placeholders, "", has one entry without names."""


@dataclass(frozen=True)
class KeySpec:
    """One kind of array in `state.npz`."""

    pattern: str
    """The key. Each of `<robot>`, `<arm>`, `<object>`, `<part>`, ... stands for a name."""
    shape: tuple[int | str, ...] | None
    """Shape of one row. A letter is a size that depends on the robot or object. None: any shape."""
    unit: str
    """Unit, or `-`."""
    meaning: str
    """Meaning of the values, and their frame."""
    dtype: str = "float64"
    """`float64`, `float32`, `int64` or `bool`: the type in the file.

    Arrays that drive a world, that a world is set to, or by which an episode is judged have 64 bits. Other floats have
    32 bits."""
    only: str = ""
    """For which of the names in its pattern a record has the key: a group of `ArrayNames`; empty: for all."""

    @property
    def kind(self) -> str | None:
        """`STATE`, `ACTION` or `INTERVAL`; sets the number of rows."""
        return kind_of(self.pattern)

    @property
    def source(self) -> str:
        """What determines its values: `RECORD`, `PLANNER` or `SIMULATION`, see `structure`."""
        return _SOURCES.get(self.pattern.partition(".")[0], SIMULATION)

    @cached_property
    def group(self) -> str:
        """The group of `ArrayNames` whose names stand in the pattern."""
        return self.only or " ".join(re.findall(r"<(\w+)>", self.pattern))

    def keys(self, names: ArrayNames) -> Iterator[tuple[str, Names]]:
        """Yields each key of this pattern in an episode, with the names in it."""
        for found in names.get(self.group, ()):
            yield re.sub(r"<(\w+)>", r"{\1}", self.pattern).format(**found), found

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Regular expression for the keys of this pattern."""
        named = re.sub(r"<(\w+)>", rf"(?P<\1>{_NAME})", re.escape(self.pattern))
        return re.compile(named + r"\Z")


def kind_of(key: str) -> str | None:
    """Returns `STATE`, `ACTION` or `INTERVAL` from the words of a key; None for an unknown first word."""
    first = key.partition(".")[0]
    return INTERVAL if first == "robots" and key.endswith(_EFFORTS_MEAN) else _KINDS.get(first)


def _force_specs(view: str, meaning: str, *, lasting: bool = False) -> tuple[KeySpec, ...]:
    """Returns the keys of a contact view; `lasting`: with that of the sustained force."""
    meanings = {
        "max": "largest force of a pair of links in a physics step.",
        "mean": "mean over the physics steps of the largest force of a pair of links.",
        "sustained": "largest force that was borne or exceeded for longer than 20 ms without a break, up to a physics "
        "step between the two states. The time may begin earlier.",
    }
    return tuple(
        KeySpec(f"contacts.{view}.force_{key}_n", (), "N", f"{meaning}: {text}")
        for key, text in meanings.items()
        if lasting or key != "sustained"
    )


_SINGLE, _COUNT, _FLAG = "float32", "int64", "bool"
_FINGERS = "Positions of the gripper's joints, in the order of `robot.arms[].gripper.joints`."
_FINGER_SPEEDS = "Velocities of the gripper's joints."
_SKILL_INDEX = "Index of the current skill in `skills` of episode.json; -1 before the first."
_PHASES = "0 idle, 1 transit, 2 approach, 3 grasp, 4 follow, 5 release, 6 retreat, 7 settle, 8 hold."
_SEVERAL_ARMS = "Only for robots with several arms"
_ARM_SKILL_COUNTERS = {
    "index": "index of the arm's skill in episode.json, -1 if it has none. `skills.index` is then the skill that "
    "began last, of any arm.",
    "command_index": "index into the command list of that skill, -1 when it is done.",
    "phase": "phase of the arm, numbered as in `skills.phase`.",
}
_ARM = "robots.<robot>.<arm>"
_ARM_ACTION = "actions.<robot>.<arm>"
_ARM_LABEL = "labels.<robot>.<arm>"
_LABEL = "Only where executed actions may differ from the plan: the planner's own"
_ARM_VIEW = "<robot>.<arm>.<object>"
_OBJECT_VIEWS = {
    "furniture": "Where a skill has `scene_force_threshold_n`, object on floor, table and plinths",
    "other_objects": "Where a skill has `scene_force_threshold_n`, object on other objects (of an articulated object, "
    "without free ones: they have it in their own view)",
}
_FINGER_LOADS = {
    "max": "Force that a finger of the arm bears, the sum of all its contact forces or the largest sum from one link: "
    "largest in a physics step, on the finger that bears most in it.",
    "mean": "The same: mean over the physics steps.",
    "sustained": "Largest force that a finger bore or exceeded for longer than 20 ms without a break, up to a physics "
    "step between the two states. The time may begin earlier.",
}

KEYS: tuple[KeySpec, ...] = (
    KeySpec("time", (), "s", "Simulated time since the episode began."),
    KeySpec(f"{_ARM}.joint_positions", ("n",), "rad", "Arm joint positions q, from base to ee."),
    KeySpec(f"{_ARM}.joint_velocities", ("n",), "rad/s", "Arm joint velocities dq at the frame.", _SINGLE),
    KeySpec(
        f"{_ARM}.joint_efforts",
        ("n",),
        "N m",
        "Efforts of the arm's motors at the frame: in its last physics step.",
        _SINGLE,
    ),
    KeySpec(f"{_ARM}.ee_position", (3,), "m", "Origin of the ee link, world frame.", _SINGLE),
    KeySpec(f"{_ARM}.ee_quat_xyzw", (4,), "-", "Orientation of the ee link, world frame.", _SINGLE),
    KeySpec(f"{_ARM}.tcp_position", (3,), "m", "The point between the fingertips, world frame.", _SINGLE),
    KeySpec(f"{_ARM}.tcp_quat_xyzw", (4,), "-", "Orientation of the tcp frame, world frame.", _SINGLE),
    KeySpec(f"{_ARM}.gripper_joint_positions", ("k",), "m or rad", _FINGERS, only=FINGER_JOINTS),
    KeySpec(f"{_ARM}.gripper_joint_velocities", ("k",), "m/s or rad/s", _FINGER_SPEEDS, _SINGLE, FINGER_JOINTS),
    KeySpec(f"{_ARM}.gripper_opening", (1,), "m", "Distance between the finger pads.", _SINGLE),
    KeySpec(f"{_ARM}.gripper_target", (1,), "m", "Last commanded distance between the finger pads."),
    KeySpec("objects.<object>.root_position", (3,), "m", "Origin of the object's root link, world frame."),
    KeySpec("objects.<object>.root_quat_xyzw", (4,), "-", "Orientation of the object's root link, world frame."),
    KeySpec("objects.<object>.joint_positions", ("m",), "rad or m", "Positions s of the object's movable joints."),
    KeySpec(
        "objects.<object>.joint_velocities",
        ("m",),
        "rad/s or m/s",
        "Velocities of the object's movable joints.",
        _SINGLE,
    ),
    KeySpec(
        "objects.<object>.root_linear_velocity",
        (3,),
        "m/s",
        "Only for objects that nothing fastens: velocity of the origin of the root link, world frame.",
        _SINGLE,
        FREE_OBJECTS,
    ),
    KeySpec(
        "objects.<object>.root_angular_velocity",
        (3,),
        "rad/s",
        "Only for objects that nothing fastens: angular velocity of the root link, world frame.",
        _SINGLE,
        FREE_OBJECTS,
    ),
    KeySpec(
        "objects.<object>.mechanisms.<mechanism>",
        ("h",),
        "-",
        "Only for mechanisms that hold joints: whether it holds each of them, in the order in which it names them.",
        _FLAG,
        MECHANISMS,
    ),
    KeySpec(
        "objects.<object>.gates",
        ("g", 4),
        "-",
        "Only for objects whose mechanisms hold joints, one row for each condition of a mechanism and one for a push "
        "latch: whether the joint is within its play, whether it is held, whether a push latch can be pressed again, "
        "and the opening at which the joint is held [rad or m].",
        only=GATES,
    ),
    KeySpec("keypoints.<object>.<part>.<keypoint>", (3,), "m", "A keypoint of the annotation, world frame.", _SINGLE),
    KeySpec(
        "regions.<object>.<region>.position",
        (3,),
        "m",
        "Only for regions that the goal or a skill names: middle of the floor of a region, world frame.",
        only=REGIONS,
    ),
    KeySpec(
        "regions.<object>.<region>.quat_xyzw",
        (4,),
        "-",
        "Only for regions that the goal or a skill names: orientation of a region, z up, world frame.",
        only=REGIONS,
    ),
    KeySpec("sensors.<sensor>.<value>", None, "-", "A value of a sensor (see images.md).", only=SENSORS),
    KeySpec("skills.index", (), "-", _SKILL_INDEX, _COUNT),
    KeySpec("skills.command_index", (), "-", "Index of the command in the command list of that skill.", _COUNT),
    KeySpec("skills.phase", (), "-", f"Phase of the arm: {_PHASES}", _COUNT),
    *(
        KeySpec(f"skills.<arm>.{name}", (), "-", f"{_SEVERAL_ARMS}: {meaning}", _COUNT, SEVERAL_ARMS)
        for name, meaning in _ARM_SKILL_COUNTERS.items()
    ),
    KeySpec("validity.collision_valid", (), "-", "False from the first forbidden contact on.", _FLAG),
    KeySpec("validity.process_valid", (), "-", "False from the first overspeed on.", _FLAG),
    KeySpec(
        f"{_ARM_ACTION}.joint_targets",
        ("n",),
        "rad",
        "Action: control point of the motors' targets. A repeated action is reached at the end of the next frame.",
    ),
    KeySpec(
        f"{_ARM_ACTION}.ee_target_position", (3,), "m", "Origin of the ee link at joint_targets, world frame.", _SINGLE
    ),
    KeySpec(
        f"{_ARM_ACTION}.ee_target_quat_xyzw",
        (4,),
        "-",
        "Orientation of the ee link at joint_targets, world frame.",
        _SINGLE,
    ),
    KeySpec(f"{_ARM_ACTION}.gripper_target", (1,), "m", "Distance between the finger pads to reach."),
    KeySpec(
        "actions.hold",
        ("j",),
        "-",
        "One value per object joint: 1 while the joint is held, by its own friction only.",
        only=HOLDS,
    ),
    KeySpec(
        "actions.push",
        ("j",),
        "N m or N",
        "Only where parts are nudged: one value per object joint, the effort on it from outside.",
        only=PUSHES,
    ),
    KeySpec(f"{_ARM_LABEL}.joint_targets", ("n",), "rad", f"{_LABEL} `joint_targets`.", only=LABELS),
    KeySpec(
        f"{_ARM_LABEL}.ee_target_position", (3,), "m", f"{_LABEL} `ee_target_position`, world frame.", _SINGLE, LABELS
    ),
    KeySpec(
        f"{_ARM_LABEL}.ee_target_quat_xyzw", (4,), "-", f"{_LABEL} `ee_target_quat_xyzw`, world frame.", _SINGLE, LABELS
    ),
    KeySpec(f"{_ARM_LABEL}.gripper_target", (1,), "m", f"{_LABEL} `gripper_target`.", only=LABELS),
    KeySpec(
        f"{_ARM_LABEL}.valid",
        (),
        "-",
        "Whether the labels of this row are the planner's; false where a policy acts and the planner gave no label.",
        _FLAG,
        LABELS,
    ),
    *_force_specs(f"{_ARM_VIEW}.fingers_link", "Fingers on the moving part"),
    *_force_specs(f"{_ARM_VIEW}.fingers_base", "Fingers on the object's body"),
    *_force_specs(f"{_ARM_VIEW}.forbid_collision", "Arm links on any link of the object"),
    *_force_specs("<robot>.environment", "Robot on floor, furniture, other objects and itself"),
    *(
        replace(spec, only=JUDGED_OBJECTS)
        for view, meaning in _OBJECT_VIEWS.items()
        for spec in _force_specs(f"<object>.{view}", meaning, lasting=True)
    ),
    *(
        KeySpec(f"contacts.<robot>.<arm>.fingers.force_{key}_n", (), "N", meaning)
        for key, meaning in _FINGER_LOADS.items()
    ),
    KeySpec(
        f"{_ARM}{_EFFORTS_MEAN}", ("n",), "N m", "Efforts of the arm's motors: mean over the physics steps.", _SINGLE
    ),
    KeySpec("speeds.<body>.max", (), "rad/s or m/s", "Largest joint speed of a robot or object in a physics step."),
)
"""Every key of `state.npz`, in the order of the page."""


def is_name(text: str) -> bool:
    """Returns whether the name of a robot, arm, object, ... is valid as `<robot>`, `<arm>`, ... in a key."""
    return re.fullmatch(_NAME, text) is not None


def convert_to_stored_types(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Returns arrays by key, with those in single precision that a file keeps in single precision."""
    found = {}
    for key, array in arrays.items():
        known = match_key(key)
        rounds = known is not None and known[0].dtype == _SINGLE
        found[key] = array.astype(_SINGLE) if rounds else array
    return found


@lru_cache(maxsize=4096)
def match_key(key: str) -> tuple[KeySpec, dict[str, str]] | None:
    """Returns the table entry of a key and the names in the key; None for an unknown key."""
    for spec in KEYS:
        if found := spec.regex.match(key):
            return spec, found.groupdict()
    return None
