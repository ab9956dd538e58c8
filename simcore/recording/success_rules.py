"""The rule of success, stated once: limits that hold for every skill, the rule of a skill as data, the
failure codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

INITIAL_S = 0.16
"""Time of standing still before the first skill begins, in which nothing is judged [s]."""
MAX_JOINT_SPEED = 5.0
"""Joint speed above which an attempt is invalid [rad/s or m/s]."""
MOVING_STEP = 1e-4
"""A joint moves where its position changes by more than this over one record frame [rad or m]."""
AT_SHARE = 0.03
"""How far a part may be from where the goal `at_fraction` has it, as a share of its range."""
MIN_CONTACT_SHARE = 0.8
"""Least share of the moving frames in which the fingers must touch the part."""
MAX_SETTLE_CHANGE_RAD = 0.02
"""Largest change of a hinge while the scene settles that counts as standing still [rad]."""
MAX_SETTLE_CHANGE_M = 0.005
"""Largest change of a slider while the scene settles that counts as standing still [m]."""
MAX_SETTLE_SHARE = 0.1
"""The same for parts that move little, as a share of their range."""
MAX_OBJECT_MOVED_M = 0.02
"""How far the root of an articulated object that nothing fastens may move while a skill acts on its part [m]."""
MAX_OBJECT_TURNED_RAD = 0.1
"""How far it may turn [rad]."""
FORBIDDEN_VIEWS = ("fingers_base", "forbid_collision", "environment")
"""Contact views in which a force above the skill's threshold is a collision."""
OBJECT_VIEWS = ("furniture", "other_objects")
"""Contact views of an object, without the robot."""
BYSTANDER_VIEW = "other_objects"
"""The one of them in which bystanders bear no force above `contact_force_threshold_n`."""
MAX_AWAY_FROM_HOME = 0.03
"""Largest distance of a joint of an arm from its home that counts as being there [rad or m]."""
MAX_SPEED_AT_HOME = float(np.float32(0.05))
"""Largest speed of a joint of an arm that counts as standing still at home [rad/s or m/s]; records
have speeds with 32 bits."""
HOLD_PHASE = 8
"""Value of `skills.phase` while a skill holds something for other arms."""

OPTIONAL_RULES = ("holds", "goes_home", "scene_force_threshold_n")
"""Fields of a `SuccessRule` that an entry has only where they are set: neither false nor None."""


@dataclass(frozen=True)
class SuccessRule:
    """The rule by which one skill succeeds, as data.

    The class of a skill declares its rule (`Skill.declare_rule`), and its entry in the record carries it: a record can
    be judged where the skill is not installed. The fields are keys of that entry.
    """

    success_mode: str | None
    """How the displacement of the joint is judged: `abs`, `normal`, `zero`, `dis_to_init` or `fraction`; None = it is
    not judged."""
    success_threshold: float | None
    """Threshold of the joint under that mode [rad, m or share]."""
    finger_contact_required: bool
    """Whether the fingers must touch the part while it moves."""
    collision_valid_enabled: bool
    """Whether a forbidden contact fails the skill."""
    process_valid_enabled: bool
    """Whether overspeed fails the skill."""
    contact_force_threshold_n: float
    """Force above which a forbidden contact counts [N]."""
    finger_force_limit_n: float
    """Largest force that a finger of the arm may bear for longer than 20 ms [N]."""
    scene_force_threshold_n: float | None = None
    """How much more than at rest an object may bear from furniture and other objects for longer than 20 ms [N]; None:
    any force, and bystanders may be touched. Records of versions before this rule have none."""
    holds: bool = False
    """Whether the skill holds something while other arms act."""
    goes_home: bool = False
    """Whether the joints of the arm must be where they were at the start of the episode, and stand still there."""

    def to_entry(self) -> dict[str, Any]:
        """Returns the rule as keys of an entry of the record's `skills`; `OPTIONAL_RULES` only where they are set."""
        is_unset = {key: value is None or value is False for key, value in asdict(self).items()}
        return {key: value for key, value in asdict(self).items() if not (key in OPTIONAL_RULES and is_unset[key])}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> SuccessRule:
        """Reads the rule of an entry of the record's `skills`."""
        names = [each.name for each in fields(cls) if each.name in entry or each.name not in OPTIONAL_RULES]
        return cls(**{name: entry[name] for name in names})


FAILURE_CODES: dict[str, str] = {
    "invalid_layout": "After settling, things overlap or stand in a forbidden place.",
    "plan_infeasible": "No joint configuration satisfies the constraints at contact.",
    "path_infeasible": "The hand cannot keep its grasp along the whole path of the part.",
    "motion_blocked": "No collision-free path leads to the contact, or something blocked the arm while it moved.",
    "collision": "A forbidden contact exceeded its force threshold.",
    "overload": "A finger bore more than its gripper allows for longer than 20 ms.",
    "grasp_missed": "The fingers never touched the moving part.",
    "slipped": "The fingers touched the part and lost it.",
    "moved_object": "The object itself slid or tipped, which nothing fastens.",
    "not_reached": "The joint did not move as far as required.",
    "unsettled": "The goal was reached, but it did not last while the scene settled.",
    "overspeed": "A joint of the robot or of an object was faster than allowed.",
    "timeout": "The episode took longer than its limit.",
    "diverged": "The simulation produced values that are not finite or not physical.",
    "error": "A bug: the traceback is in the evidence.",
}
"""Every failure code and its meaning, in the order that decides between two conditions violated at the same moment."""

CODE_ORDER: dict[str, int] = {code: index for index, code in enumerate(FAILURE_CODES)}
"""Rank of a code among those violated at the same moment; lower wins."""
PART_MOVED = "part_moved"
"""Why a skill is planned anew whose part was moved before contact. It is no failure, and `replan` does not limit it."""
TAKEN_OVER = "taken_over"
"""Why a skill that a policy carried out is planned: the planner takes over. It is no failure either."""
NO_FAILURES = (PART_MOVED, TAKEN_OVER)
"""Codes of attempts that were broken off for another reason than a failure."""
