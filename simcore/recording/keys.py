"""The table of all keys of a record, with shapes, types and units. `docs/record_format.md` is generated from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

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
_EFFORTS_MEAN = ".joint_efforts_mean"
"""Ending of keys of robots that are not states."""
_NAME = r"[A-Za-z0-9_-]+"


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
    required: bool = True
    """Whether every record has this key for every robot arm and object."""

    @property
    def kind(self) -> str | None:
        """`STATE`, `ACTION` or `INTERVAL`; sets the number of rows."""
        return kind_of(self.pattern)

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


_SINGLE = "float32"
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
    KeySpec(f"{_ARM}.joint_velocities", ("n",), "rad/s", "Arm joint velocities dq at the frame.", dtype=_SINGLE),
    KeySpec(
        f"{_ARM}.joint_efforts",
        ("n",),
        "N m",
        "Efforts of the arm's motors at the frame: in its last physics step.",
        dtype=_SINGLE,
    ),
    KeySpec(f"{_ARM}.ee_position", (3,), "m", "Origin of the ee link, world frame.", dtype=_SINGLE),
    KeySpec(f"{_ARM}.ee_quat_xyzw", (4,), "-", "Orientation of the ee link, world frame.", dtype=_SINGLE),
    KeySpec(f"{_ARM}.tcp_position", (3,), "m", "The point between the fingertips, world frame.", dtype=_SINGLE),
    KeySpec(f"{_ARM}.tcp_quat_xyzw", (4,), "-", "Orientation of the tcp frame, world frame.", dtype=_SINGLE),
    KeySpec(f"{_ARM}.gripper_joint_positions", ("k",), "m or rad", _FINGERS, required=False),
    KeySpec(f"{_ARM}.gripper_joint_velocities", ("k",), "m/s or rad/s", _FINGER_SPEEDS, dtype=_SINGLE, required=False),
    KeySpec(f"{_ARM}.gripper_opening", (1,), "m", "Distance between the finger pads.", dtype=_SINGLE),
    KeySpec(f"{_ARM}.gripper_target", (1,), "m", "Last commanded distance between the finger pads."),
    KeySpec("objects.<object>.root_position", (3,), "m", "Origin of the object's root link, world frame."),
    KeySpec("objects.<object>.root_quat_xyzw", (4,), "-", "Orientation of the object's root link, world frame."),
    KeySpec("objects.<object>.joint_positions", ("m",), "rad or m", "Positions s of the object's movable joints."),
    KeySpec(
        "objects.<object>.joint_velocities",
        ("m",),
        "rad/s or m/s",
        "Velocities of the object's movable joints.",
        dtype=_SINGLE,
    ),
    KeySpec(
        "objects.<object>.root_linear_velocity",
        (3,),
        "m/s",
        "Only for free objects: velocity of the origin of the root link, world frame.",
        dtype=_SINGLE,
        required=False,
    ),
    KeySpec(
        "objects.<object>.root_angular_velocity",
        (3,),
        "rad/s",
        "Only for free objects: angular velocity of the root link, world frame.",
        dtype=_SINGLE,
        required=False,
    ),
    KeySpec(
        "keypoints.<object>.<part>.<keypoint>", (3,), "m", "A keypoint of the annotation, world frame.", dtype=_SINGLE
    ),
    KeySpec(
        "regions.<object>.<region>.position",
        (3,),
        "m",
        "Only for regions that the goal or a skill names: middle of the floor of a region, world frame.",
        required=False,
    ),
    KeySpec(
        "regions.<object>.<region>.quat_xyzw",
        (4,),
        "-",
        "Only for regions that the goal or a skill names: orientation of a region, z up, world frame.",
        required=False,
    ),
    KeySpec("sensors.<sensor>.<value>", None, "-", "A value of a sensor (see sensors.md).", required=False),
    KeySpec("skills.index", (), "-", _SKILL_INDEX, dtype="int64"),
    KeySpec("skills.command_index", (), "-", "Index of the command in the command list of that skill.", dtype="int64"),
    KeySpec("skills.phase", (), "-", f"Phase of the arm: {_PHASES}", dtype="int64"),
    *(
        KeySpec(f"skills.<arm>.{name}", (), "-", f"{_SEVERAL_ARMS}: {meaning}", dtype="int64", required=False)
        for name, meaning in _ARM_SKILL_COUNTERS.items()
    ),
    KeySpec("validity.collision_valid", (), "-", "False from the first forbidden contact on.", dtype="bool"),
    KeySpec("validity.process_valid", (), "-", "False from the first overspeed on.", dtype="bool"),
    KeySpec(
        f"{_ARM_ACTION}.joint_targets",
        ("n",),
        "rad",
        "Action: control point of the motors' targets. A repeated action is reached at the end of the next frame.",
    ),
    KeySpec(
        f"{_ARM_ACTION}.ee_target_position",
        (3,),
        "m",
        "Origin of the ee link at joint_targets, world frame.",
        dtype=_SINGLE,
    ),
    KeySpec(
        f"{_ARM_ACTION}.ee_target_quat_xyzw",
        (4,),
        "-",
        "Orientation of the ee link at joint_targets, world frame.",
        dtype=_SINGLE,
    ),
    KeySpec(f"{_ARM_ACTION}.gripper_target", (1,), "m", "Distance between the finger pads to reach."),
    KeySpec(
        "actions.hold",
        None,
        "-",
        "One value per object joint: 1 while the joint is held, by its own friction only.",
        required=False,
    ),
    KeySpec(
        "actions.push",
        None,
        "N m or N",
        "Only where parts are nudged: one value per object joint, the effort on it from outside.",
        required=False,
    ),
    KeySpec(f"{_ARM_LABEL}.joint_targets", ("n",), "rad", f"{_LABEL} `joint_targets`.", required=False),
    KeySpec(
        f"{_ARM_LABEL}.ee_target_position",
        (3,),
        "m",
        f"{_LABEL} `ee_target_position`, world frame.",
        dtype=_SINGLE,
        required=False,
    ),
    KeySpec(
        f"{_ARM_LABEL}.ee_target_quat_xyzw",
        (4,),
        "-",
        f"{_LABEL} `ee_target_quat_xyzw`, world frame.",
        dtype=_SINGLE,
        required=False,
    ),
    KeySpec(f"{_ARM_LABEL}.gripper_target", (1,), "m", f"{_LABEL} `gripper_target`.", required=False),
    KeySpec(
        f"{_ARM_LABEL}.valid",
        (),
        "-",
        "Whether the labels of this row are the planner's; false where a policy acts and the planner gave no label.",
        dtype="bool",
        required=False,
    ),
    *_force_specs(f"{_ARM_VIEW}.fingers_link", "Fingers on the moving part"),
    *_force_specs(f"{_ARM_VIEW}.fingers_base", "Fingers on the object's body"),
    *_force_specs(f"{_ARM_VIEW}.forbid_collision", "Arm links on any link of the object"),
    *_force_specs("<robot>.environment", "Robot on floor, furniture, other objects and itself"),
    *(
        replace(spec, required=False)
        for view, meaning in _OBJECT_VIEWS.items()
        for spec in _force_specs(f"<object>.{view}", meaning, lasting=True)
    ),
    *(
        KeySpec(f"contacts.<robot>.<arm>.fingers.force_{key}_n", (), "N", meaning)
        for key, meaning in _FINGER_LOADS.items()
    ),
    KeySpec(
        f"{_ARM}{_EFFORTS_MEAN}",
        ("n",),
        "N m",
        "Efforts of the arm's motors: mean over the physics steps.",
        dtype=_SINGLE,
    ),
    KeySpec("speeds.<body>.max", (), "rad/s or m/s", "Largest joint speed of a robot or object in a physics step."),
)
"""Every key of `state.npz`, in the order of the page."""

SKILL_FIELDS: dict[str, str] = {
    "name": "Name of the skill in the catalog.",
    "arm": "Only for robots with several arms: the arm that acts.",
    "stage": "Only with `arm`: the stage of the chain. Skills of one stage run at the same time.",
    "entry": "Only with `arm` or `attempt`: index of the skill in the configured chain.",
    "attempt": "Only with `replan`, nudges or a takeover: 0 for the first attempt at this `entry`, "
    "1 for the next one, and so on.",
    "broken_off": "Only with `arm` or `attempt`: whether the skill was stopped early, because another arm's skill "
    "failed or because it is attempted again.",
    "code": "Only with `attempt`: why this attempt was broken off and another one follows: a failure code; "
    "`part_moved` if the part was not where the plan has it, before contact; `taken_over` if a policy acted.",
    "message": "Only with `code`: the same in words.",
    "object": "Name of the object that the skill acts on; null if the skill moves nothing.",
    "part": "Name of the part in its annotation; null if the skill carries the whole object.",
    "conditions": "Optional; what must hold of free objects at `frame_end`: entries as in `goal.conditions`. "
    "`lifted` counts from `frame_start`.",
    "link": "Optional; link of the object that the fingers may touch, if it is not the link of the part.",
    "holds": "Optional; true if the skill holds the object still for other arms. A finger touches the link in every "
    "row of phase 8 (hold) of this arm. The parts of skills that run at the same time move only in these rows.",
    "goes_home": "Optional; true if the skill moves its arm to its home. At `frame_end`, each joint is within 0.03 rad "
    "or m of where it was at state 0, and its speed is at most 0.05 rad/s or m/s.",
    "language": "Optional; phrasings of the instruction for this skill. The first was drawn for this episode.",
    "joint": "Name of the part's joint.",
    "joint_index": "Column of the joint in `objects.<object>.joint_positions`.",
    "strategy": "Optional; name of the strategy that the plan uses.",
    "refused": "Optional; strategies without a plan: `strategy`, `code` and `message` of each.",
    "success_mode": "`abs`, `normal`, `zero`, `dis_to_init` or `fraction`; null if the skill moves nothing.",
    "success_threshold": "Threshold of `success_mode` [rad, m or share].",
    "s0": "Position of the joint when the skill began, at its first `attempt` [rad or m].",
    "s_end": "Position of the joint at `frame_end` [rad or m].",
    "s_closed": "Position of the joint when closed [rad or m].",
    "s_open": "Position of the joint when open [rad or m].",
    "frame_start": "Number of the state at which the skill began; null if it never began. Its first action has the "
    "same row number.",
    "frame_end": "Number of the state at which the skill ended. Its last action has the row number before.",
    "collision_valid_enabled": "Whether a forbidden contact fails the skill.",
    "process_valid_enabled": "Whether overspeed fails the skill.",
    "contact_force_threshold_n": "Force above which a forbidden contact counts [N].",
    "scene_force_threshold_n": "Optional; how much more than at rest an object may bear from furniture and other "
    "objects for longer than 20 ms [N]. Without it, any force.",
    "finger_force_limit_n": "Largest force that a finger of the arm may bear for longer than 20 ms [N].",
    "first_violation": "`{view, pair, force_n, physics_step, time_s}` of the first forbidden contact, or null.",
    "success": "Whether the skill succeeded, as it reported at its end.",
    "zero_force_contacts": "Optional; number of forbidden contact points without force. The verdict ignores them.",
    "grip_force_n": "Optional; force with which the hand grips [N], chosen for the part that is hardest to move in the "
    "episode, between `least_force_n` and `grip_force_n` of the gripper.",
    "press_force_n": "Optional; force with which closed fingertips press on the face of a part that they drag by "
    "friction [N].",
    "plan": "Optional; the plan: keyframes, residuals, counts, times. If there is no plan: the diagnosis.",
    "finger_contact_required": "Whether the fingers must touch the part while it moves.",
}
"""Keys of each entry of `skills` in `episode.json`."""

GOAL_FIELDS: dict[str, str] = {
    "object": "Name of the object.",
    "part": "Only for a joint: name of the part in its annotation.",
    "joint_index": "Only for a joint: column of the part's joint in `objects.<object>.joint_positions`.",
    "kind": "`moved`: abs(s - s0) >= value; `moved_fraction`: abs(s - s0) / abs(open - closed) >= value; "
    "`open_fraction`: (s - closed) / (open - closed) >= value; "
    "`within_closed`: abs(s - closed) <= value. Of a free object: `inside`: its outline lies in a region, up to "
    "value to the sides and below, and its middle (below a ceiling: its top) below the height of the region; `on`: its "
    "lowest point is within value of the floor of a region, and its middle is over that floor; `upright`: its up axis "
    "is within value of the vertical; `lifted`: it is at least value higher than at the start.",
    "value": "Threshold [rad, m or share].",
    "of": "Only `inside` and `on`: the object that has the region; null: the table, at height 0.",
    "region": "Only `inside` and `on`: name of the region.",
    "size": "Only `inside` and `on`: (3,) size of the region along its axes [m]; null: without bounds.",
    "open_above": "Only `inside` and `on`: whether nothing covers the region.",
    "bounds": "Only `inside` and `on`: (2, 3) lower and upper corner of the free object, root frame [m]. Their "
    "middle is the middle of the object.",
    "outline": "Optional; only `inside` and `on`: (N, 4) centre and radius of balls, root frame [m]; a corner has "
    "radius 0. Their convex hull is the outline of the free object. N is at most 56. Older records lack the key: "
    "there, the outline is the box `bounds`.",
    "up_axis": "Only `upright`: (3,) direction that points up when the object is upright, root frame.",
    "s_closed": "Optional; position of the joint when closed. Default: that of the skill on the same joint.",
    "s_open": "Optional; position of the joint when open. Default: that of the skill on the same joint.",
}
"""Keys of each entry of `goal.conditions` in `episode.json`."""

GOAL_RESULT_FIELDS: dict[str, str] = {
    "reached": "Whether the goal was reached: the joints were where they should be and stayed for `hold_frames`. "
    "Forbidden contacts, forces, speeds and missing contact of the fingers do not matter. `success` is false if one of "
    "them broke a rule; `code` and `evidence` then name the first.",
    "reached_frame": "Number of the state in which the goal had first held for `hold_frames`; null if never.",
    "hold_frames": "Number of frames for which the goal must hold (`task.settle_s`).",
    "chain_length": "Number of skills of the chain. All must have begun.",
    "chain_motions": "Number of those that move a part. Without it, the share of the asked motion is not known.",
    "max_changes": "By `<object>.<joint_index>`: largest change of a joint in that time that counts as standing still "
    "[rad or m].",
}
"""Further keys of `goal` in `episode.json` of a policy's episode that went on after broken rules."""

SETTLE_FIELDS: dict[str, str] = {
    "frame_start": "Number of the state at which settling began, after the last command.",
    "frame_end": "Number of the state at which settling ended: the last of the episode.",
    "max_change": "A joint stands still if its position changes by at most this much during settling [rad or m]. "
    "Applies to joints that skills act on.",
    "max_changes": "Optional; the same for single joints, by `<object>.<joint_index>`, and for the position of free "
    "objects [m], by `<object>.root`. It replaces `max_change` for these.",
}
"""Keys of `settle` in `episode.json`."""


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
