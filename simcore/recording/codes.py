"""Why an attempt failed: the codes of every record and report."""

from __future__ import annotations

FAILURE_CODES: dict[str, str] = {
    "invalid_layout": "After settling, things overlap or stand in a forbidden place.",
    "plan_infeasible": "No joint configuration satisfies the constraints at contact.",
    "path_infeasible": "The hand cannot keep its grasp along the whole path of the part.",
    "motion_blocked": "No collision-free path leads to the contact, or something blocked the arm while it moved.",
    "collision": "A forbidden contact exceeded its force threshold.",
    "overload": "A finger bore more than its gripper allows for longer than 20 ms.",
    "grasp_missed": "The fingers never touched the moving part.",
    "slipped": "The fingers touched the part and lost it.",
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
