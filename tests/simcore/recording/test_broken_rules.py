"""The rules that an attempt broke, from records of six actions: those of its skills, then those of its goal."""

import numpy as np
import pytest

from tests.simcore.refusals import refused
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import broken_rules
from unlatch.simcore.recording.broken_rules import (
    BrokenRule,
    JudgedSkill,
    goal_value,
    is_threshold_met,
    measure_displacement,
    missed_threshold,
    recompute_goal_frame,
)
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import MOVING_STEP

DOOR = "objects.oven.joint_positions"
TOUCH, BASE = (f"contacts.panda.left.oven.fingers_{word}.force_max_n" for word in ("link", "base"))
RIGHT_TOUCH = TOUCH.replace("left", "right")
ENVIRONMENT = "contacts.panda.environment.force_max_n"
SUSTAINED = "contacts.panda.left.fingers.force_sustained_n"
SPEED = "speeds.panda.max"
PHASE = "skills.left.phase"
Q, DQ = "robots.panda.left.joint_positions", "robots.panda.left.joint_velocities"
OPENS = [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
STILL = [0.0] * 7
NEVER = 7
"""A limit behind the last frame: the attempt was not stopped."""
NOT_RUN = {"frame_start": None, "frame_end": None}
NO_JOINT = {"success_mode": None, "finger_contact_required": False}
LABEL = {"skill": 0, "name": "open"}


def entry(**changes):
    """Returns a skill that runs from frame 1 to frame 5 and turns the door by at least 1 rad."""
    own = {"name": "open", "object": "oven", "part": "door", "joint_index": 0, "frame_start": 1, "frame_end": 5}
    joint = {"success_mode": "abs", "success_threshold": 1.0, "s0": 0.0, "s_closed": 0.0, "s_open": 2.0}
    rule = {
        "finger_contact_required": True,
        "collision_valid_enabled": True,
        "process_valid_enabled": True,
        "contact_force_threshold_n": 1.5,
        "finger_force_limit_n": 140.0,
    }
    return {**own, **joint, **rule, **changes}


def make(*skills, door=OPENS, **arrays):
    """Returns a record of skills; the fingers are on the door in each of the rows 1 to 4, in which it moves."""
    given = {
        "time": np.arange(7) / 30.0,
        DOOR: np.stack([np.array(door), np.zeros(7)], axis=1),
        TOUCH: np.array([0.0, 5.0, 5.0, 5.0, 5.0, 0.0]),
        **{key: np.zeros(6) for key in (BASE, SUSTAINED, SPEED)},
        **{key: np.array(values) for key, values in arrays.items()},
    }
    return EpisodeRecord(number=4, seed=0, success=True, skills=list(skills) or [entry()], arrays=given)


def read_skills(record):
    return [JudgedSkill.read(record, n) for n in range(len(record.skills))]


def broken(record, index=0, *, limit=NEVER):
    skills = read_skills(record)
    return list(broken_rules.broken_skill_rules(skills[index], skills, limit=limit))


def broken_by_goal(record):
    return list(broken_rules.broken_goal_rules(record, read_skills(record)))


def codes(rules):
    return [(rule.code, rule.frame) for rule in rules]


def only(row, value=9.0):
    """Returns six rows of which one has a value."""
    return [value * (n == row) for n in range(6)]


VIEW = "panda.left.oven.fingers_base"


@pytest.mark.parametrize(
    ("arrays", "frame", "code", "numbers"),
    [
        ({BASE: [0, 0, 7.0, 9.0, 0, 0]}, 3, "collision", {"view": VIEW, "force_n": 7.0, "threshold_n": 1.5}),
        (
            {SUSTAINED: [0, 0, 0, 150, 160, 0]},
            4,
            "overload",
            {"hand": "panda.left", "force_n": 150.0, "limit_n": 140.0},
        ),
        ({SPEED: [0.0, 6.0, 7.0, 0.0, 0.0, 0.0]}, 2, "overspeed", {"body": "panda", "speed": 6.0, "limit": 5.0}),
        ({TOUCH: [5.0, 0.0, 0.0, 0.0, 0.0, 5.0]}, 5, "grasp_missed", {"contact_frames": 0, "moving_frames": 4}),
        ({TOUCH: [0, 5, 0, 5, 5, 0]}, 5, "slipped", {"contact_share": 0.75, "wanted": 0.8, "moving_frames": 4}),
    ],
)
def test_a_broken_rule_has_its_frame_and_the_numbers_behind_it(arrays, frame, code, numbers):
    assert broken(make(**arrays)) == [BrokenRule(frame, code, {**LABEL, **numbers})]


LOST = {TOUCH: [0.0] * 6}
LOUD, LAST, EARLIER = only(2, 99.0), only(5), only(4)
CAN = {"objects.can.root_position": [[0.0, 0.0, 0.1]] * 7}
SEVERAL = {SPEED: only(2), "speeds.oven.max": only(3), BASE: only(4), ENVIRONMENT: only(3), SUSTAINED: only(4, 900.0)}
SEVERAL |= {SUSTAINED.replace("left", "right"): only(1, 900.0)}


@pytest.mark.parametrize(
    ("changes", "door", "arrays", "expected"),
    [
        ({}, OPENS, {}, []),  # it keeps every rule
        # the first of several bodies, hands and views is named
        ({}, OPENS, SEVERAL, [("collision", 4), ("overload", 2), ("overspeed", 3)]),
        ({"collision_valid_enabled": False}, OPENS, {BASE: LOUD}, []),  # collisions are not judged
        ({"process_valid_enabled": False}, OPENS, {SPEED: LOUD}, []),  # speeds are not judged
        ({}, OPENS, {BASE: [9.0, *LAST[1:]]}, [("collision", 6)]),  # rows after it count
        (NOT_RUN, OPENS, {BASE: [9.0] * 6}, []),  # it never ran
        ({}, OPENS, {**LOST, SPEED: EARLIER}, [("overspeed", 5)]),  # stopped: its end is not judged
        ({}, OPENS, {**LOST, SPEED: LAST}, [("overspeed", 6), ("grasp_missed", 5)]),  # a rule that broke after it
        ({"broken_off": True}, OPENS, LOST, []),  # broken off: its end is not judged
        ({"broken_off": False}, OPENS, LOST, [("grasp_missed", 5)]),  # not broken off
        ({"finger_contact_required": False}, OPENS, LOST, []),  # the rule asks for no contact
        # rows in which the part moves by the least step do not count
        ({}, [0.0, 0.0, 1e-4, 1e-4, 1e-4, 1.0, 1.0], {TOUCH: EARLIER}, []),
        ({}, [0.0, 0.0, 1.1e-4, 1.1e-4, 1.1e-4, 1.0, 1.0], {TOUCH: EARLIER}, [("slipped", 5)]),  # by more they do
        ({"success_threshold": 0.0}, STILL, {TOUCH: EARLIER}, []),  # a part that does not move needs one touch
        # the motion of the joint counts, whatever else must hold
        ({"conditions": [{"object": "can", "kind": "lifted", "value": 0.0}]}, OPENS, CAN, []),
    ],
)
def test_rules_of_one_skill(changes, door, arrays, expected):
    assert codes(broken(make(entry(**changes), door=door, **arrays))) == expected


LEFT = {"arm": "left", "stage": 0}
SHORT = {"frame_end": 2, "success_threshold": 0.25}
ROW_2, ROW_3 = only(2), only(3)


@pytest.mark.parametrize(
    ("first", "second", "base", "expected"),
    [
        (SHORT, {"frame_start": 3}, ROW_3, [[], [("collision", 4)]]),  # of the next skill
        (SHORT, {"frame_start": 3}, ROW_2, [[("collision", 3)], []]),  # between two skills
        ({}, NOT_RUN, LAST, [[("collision", 6)], []]),  # after the last skill that ran
        (LEFT, {"arm": "right", "stage": 0, "frame_start": 2}, ROW_3, [[("collision", 4)], []]),  # the other arm acts
        # of a later stage, of both arms
        ({**LEFT, **SHORT}, {"arm": "right", "stage": 1, "frame_start": 3}, ROW_3, [[], [("collision", 4)]]),
    ],
)
def test_a_row_belongs_to_one_skill(first, second, base, expected):
    record = make(entry(**first), entry(**second, name="turn"), **{BASE: base, RIGHT_TOUCH: [5.0] * 6})
    assert [codes(broken(record, index)) for index in (0, 1)] == expected
    assert [rule.evidence["skill"] for index in (0, 1) for rule in broken(record, index)] == [expected.index([]) ^ 1]


@pytest.mark.parametrize(
    ("changes", "limit", "is_judged"),
    [
        ({}, 6, True),
        ({}, 5, False),
        ({"broken_off": True}, 6, False),
        (NOT_RUN, 6, False),
    ],
)
def test_an_end_is_judged_where_a_skill_came_to_it_by_itself(changes, limit, is_judged):
    record = make(entry(**changes), **LOST)
    assert JudgedSkill.read(record, 0).end_is_judged(limit) is is_judged
    assert codes(broken(record, limit=limit)) == [("grasp_missed", 5)] * is_judged


LATE_TURN = [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0]


class TestHold:
    """The left arm holds the oven while the right arm turns its second joint."""

    TURNS = (0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0)
    HELD = (0, 0, 8, 8, 8, 0, 0)
    """Rows 1 to 3, whose later states these are."""

    @staticmethod
    def make(phases, touch, knob=TURNS, **changes):
        hold = entry(name="hold", arm="left", stage=0, **NO_JOINT, holds=True)
        turn = entry(name="turn", arm="right", stage=0, part="knob", joint_index=1, **changes)
        record = make(hold, turn, **{PHASE: phases, TOUCH: touch, RIGHT_TOUCH: [5.0] * 6})
        record.arrays[DOOR][:, 1] = knob
        return record

    @pytest.mark.parametrize(
        ("phases", "touch", "knob", "expected"),
        [
            (HELD, [0.0, 5.0, 5.0, 5.0, 0.0, 0.0], TURNS, []),  # held while the other part moves
            ([8, 8, 8, 8, 8, 8, 8], [5.0] * 6, [0.0, *[0.5] * 5, 1.0], []),  # what moves after the hold is free
            ([8, 8, 0, 0, 0, 0, 8], [5.0] * 6, STILL, [(5, "grasp_missed", {"hold_frames": 0})]),  # never held
            # the fingers leave the link
            (HELD, [0.0, 5.0, 0.0, 0.0, 0.0, 0.0], TURNS, [(3, "slipped", {"frames_lost": 2})]),
            # the other part moves while nothing is held
            ([0, 0, 8, 0, 0, 0, 0], [5.0] * 6, LATE_TURN, [(4, "slipped", {"part": "knob", "frames_moved_alone": 2})]),
        ],
    )
    def test_the_part_is_held_while_the_other_one_moves(self, phases, touch, knob, expected):
        label = {"skill": 0, "name": "hold"}
        rules = [BrokenRule(frame, code, {**label, **numbers}) for frame, code, numbers in expected]
        assert broken(self.make(phases, touch, knob)) == rules

    @pytest.mark.parametrize(("changes", "n_broken"), [({}, 1), ({"stage": 1}, 0), (NOT_RUN, 0)])
    def test_only_a_concurrent_skill_that_ran_needs_the_hold(self, changes, n_broken):
        record = self.make([0, 0, 8, 0, 0, 0, 0], [5.0] * 6)
        record.skills[1] |= changes
        assert len(broken(record)) == n_broken

    @pytest.mark.parametrize(("end", "n_broken"), [(4, 0), (5, 1)])
    def test_a_part_may_move_as_the_hand_lets_go_once_the_other_skill_is_over(self, end, n_broken):
        record = self.make(self.HELD, [5.0] * 6, [0.0, 0.0, 0.0, 0.5, 1.0, 1.1, 1.1], frame_end=end)
        assert len(broken(record)) == n_broken

    def test_the_hold_is_judged_where_the_attempt_was_stopped_too(self):
        assert codes(broken(self.make(self.HELD, [0.0] * 6), limit=1)) == [("slipped", 2)]


AT_HOME = float(np.float32(0.05))
"""The largest speed at home [rad/s]: that of a record, which has 32 bits."""
GOES_HOME = {"name": "home", **NO_JOINT, "goes_home": True}


class TestHome:
    """An arm with two joints that is away in the frames 1 to 4, and back at its home in frame 5."""

    @staticmethod
    def make(away, speed, skill=None, **arrays):
        q, dq = np.zeros((7, 2)), np.zeros((7, 2))
        q[1:5], dq[1:5], q[:, 0] = 1.0, 0.9, 0.4
        q[5, 1], dq[5, 0] = away, speed
        q[6], dq[6] = 1.0, 1.0  # what comes after the skill does not matter
        return make(skill or entry(**GOES_HOME), **{Q: q, DQ: dq, **arrays})

    @pytest.mark.parametrize(
        ("away", "speed", "is_home"),
        [
            (0.0, 0.0, True),
            *((sign * 0.03, sign * AT_HOME, True) for sign in (1, -1)),
            *((sign * away, sign * speed, False) for sign in (1, -1) for away, speed in ((0.031, 0.0), (0.0, 0.051))),
        ],
    )
    def test_the_arm_must_be_back_and_stand_still(self, away, speed, is_home):
        evidence = {"skill": 0, "name": "home", "away": abs(away), "speed": abs(speed)}
        assert broken(self.make(away, speed)) == ([] if is_home else [BrokenRule(5, "not_reached", evidence)])

    def test_an_attempt_that_was_stopped_before_and_a_skill_without_the_key_may_end_anywhere(self):
        assert broken(self.make(1.0, 1.0), limit=5) == []
        assert broken(self.make(1.0, 1.0, entry(**NO_JOINT))) == []

    def test_of_several_arms_its_own_is_judged_and_must_be_named(self):
        right = {Q.replace("left", "right"): np.zeros((7, 2)), DQ.replace("left", "right"): np.ones((7, 2))}
        (rule,) = broken(self.make(1.0, 0.0, entry(**GOES_HOME, arm="right"), **right))
        assert (rule.evidence["away"], rule.evidence["speed"]) == (0.0, 1.0)
        with pytest.raises(ValueError, match="too many values"):
            broken(self.make(0.0, 0.0, **right))


class TestThreshold:
    @pytest.mark.parametrize(
        ("changes", "measured"),
        [
            ({"success_mode": "abs"}, 0.75),
            ({"success_mode": "dis_to_init"}, 0.75),
            ({"success_mode": "zero", "s_closed": 0.5, "s_open": -1.5}, 0.25),
            ({"success_mode": "fraction", "s_closed": 0.5, "s_open": -1.5}, 0.375),
            # towards open, wherever zero is
            ({"success_mode": "normal", "s_closed": 0.5, "s_open": -1.5}, -0.75),
            ({"success_mode": "normal", "s_closed": 0.5, "s_open": 2.0}, 0.75),
            ({"success_mode": "normal", "s_closed": 2.0, "s_open": 0.5}, -0.75),
            ({"success_mode": "normal", "s_closed": -2.0, "s_open": -0.5}, 0.75),
        ],
    )
    def test_each_mode_measures_the_displacement_in_its_own_way(self, changes, measured):
        skill = JudgedSkill.read(make(entry(**changes)), 0)
        assert measure_displacement(skill, 4) == (measured, 1.0)

    def test_a_share_of_the_range_counts_from_the_start_and_needs_a_range(self):
        door, limits = [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75], {"s_closed": 0.5, "s_open": -1.5}
        skill = JudgedSkill.read(make(entry(success_mode="fraction", **limits), door=door), 0)
        assert measure_displacement(skill, 4) == (0.25, 1.0)
        skill = JudgedSkill.read(make(entry(success_mode="fraction", s_closed=1.5, s_open=1.5)), 0)
        with pytest.raises(ZeroDivisionError):
            measure_displacement(skill, 4)

    @pytest.mark.parametrize(
        ("mode", "threshold", "is_met"),
        [("abs", 0.75, True), ("abs", 0.76, False), ("zero", 0.75, True), ("zero", 0.74, False)],
    )
    def test_a_threshold_is_met_at_its_edge(self, mode, threshold, is_met):
        skill = JudgedSkill.read(make(entry(success_mode=mode, success_threshold=threshold)), 0)
        assert is_threshold_met(skill, 4) is is_met

    def test_a_missed_threshold_has_the_numbers_behind_it_and_a_met_one_breaks_no_rule(self):
        record = make(entry(success_threshold=2), door=[0.5, 0.0, 0.25, 0.5, 0.5, 0.75, 0.0])
        numbers = {"mode": "abs", "reached": 0.75, "wanted": 2.0, "s0": 0.0, "s_end": 0.75}
        rule = BrokenRule(5, "not_reached", {**LABEL, **numbers})
        assert list(missed_threshold(JudgedSkill.read(record, 0))) == [rule]
        assert list(missed_threshold(JudgedSkill.read(make(), 0))) == []

    def test_an_unknown_mode_is_refused(self):
        skill = JudgedSkill.read(make(entry(), entry(success_mode="sideways")), 1)
        message = (
            "Skill 1 has success_mode 'sideways', expected abs, normal, zero, dis_to_init or fraction. "
            "The record is damaged or of a newer version."
        )
        with refused(RecordingError, message, success_mode="sideways"):
            measure_displacement(skill, 4)


@pytest.mark.parametrize(
    ("own", "later", "is_repeated"),
    [
        ((0, 0), [], False),
        ((0, 0), [(0, 1)], True),
        ((0, 0), [(0, 2)], False),
        ((0, 0), [(1, 1)], False),
        ((0, 0), [(1, 0), (0, 1)], True),
    ],
)
def test_an_attempt_is_repeated_by_a_later_entry_of_the_same_skill(own, later, is_repeated):
    attempts = [{"entry": place, "attempt": attempt} for place, attempt in ((0, 1), own, *later)]
    record = make(*(entry(**changes) for changes in attempts))
    assert JudgedSkill.read(record, 1).is_repeated is is_repeated
    assert JudgedSkill.read(make(entry(), entry(attempt=1)), 0).is_repeated is False


OPEN = {"object": "oven", "part": "door", "joint_index": 1, "kind": "moved", "value": 0.5}
SETTLES = {"frame_start": 4, "frame_end": 6, "max_change": 0.02}
JUDGED = entry(
    joint_index=1,
    success_threshold=0.5,
    frame_start=0,
    frame_end=6,
    finger_contact_required=False,
    collision_valid_enabled=False,
    process_valid_enabled=False,
)
RESTS = [0.0, 0.2, 0.4, 0.6, 0.6, 0.6, 0.6]
SWINGS = [0.0, 0.2, 0.4, 0.6, 0.6, 0.64, 0.67]


def with_goal(door, **changes):
    """Returns a record whose door has these seven positions; the episode settles from frame 4 to frame 6."""
    arrays = {"time": np.arange(7) / 30.0, DOOR: np.stack([np.zeros(7), np.array(door)], axis=1)}
    fields = {"skills": [dict(JUDGED)], "goal": {"conditions": [dict(OPEN)]}, "settle": SETTLES, "arrays": arrays}
    return EpisodeRecord(number=4, seed=0, success=True, **{**fields, **changes})


AT_ONCE = {"frame_start": 3, "frame_end": 5, "max_change": 0.0}


class TestGoal:
    @pytest.mark.parametrize("changes", [{}, {"skills": []}, {"goal": {}}])
    def test_a_goal_that_holds_and_lasts_breaks_no_rule_and_a_goal_or_a_skill_alone_is_judged(self, changes):
        assert broken_by_goal(with_goal(RESTS, **changes)) == []

    def test_a_condition_that_does_not_last_is_unsettled(self):
        label = {"condition": 0, "object": "oven", "part": "door"}
        evidence = {**label, "kind": "moved", "wanted": 0.5, "reached": 0.495, "at_start": 0.505}
        record = with_goal([0.0, 0.2, 0.4, 0.6, 0.505, 0.5, 0.495])
        assert broken_by_goal(record) == [BrokenRule(6, "unsettled", evidence)]

    def test_a_joint_that_moves_is_unsettled_at_the_first_frame_above_the_allowed_change(self):
        evidence = {"object": "oven", "joint_index": 1, "change": pytest.approx(0.07), "allowed": 0.02}
        assert broken_by_goal(with_goal(SWINGS)) == [BrokenRule(5, "unsettled", evidence)]

    @pytest.mark.parametrize(
        ("door", "changes", "frames"),
        [
            ([*RESTS[:6], 0.63], {}, [6]),  # the last frame of settling counts
            ([0.0, 0.3, 0.5, 0.6, 0.6, 0.6, 0.9], {"settle": AT_ONCE}, []),  # motion before and after it does not
            (SWINGS, {"settle": {**SETTLES, "max_changes": {"oven.1": 0.08}}}, []),  # a limit of its own
            (SWINGS, {"settle": {**SETTLES, "max_changes": {"oven.0": 0.08}}}, [5]),  # of another joint
            (SWINGS, {"goal": {}}, [5]),  # the joint of a skill must rest without a condition too
            # that of a skill which is not judged by it may move
            (SWINGS, {"goal": {}, "skills": [{**JUDGED, "success_mode": None}]}, []),
            (SWINGS, {"skills": [JUDGED, JUDGED]}, [5]),  # a joint of two skills is named once
        ],
    )
    def test_joints_rest_while_the_scene_settles(self, door, changes, frames):
        assert [rule.frame for rule in broken_by_goal(with_goal(door, **changes))] == frames


class TestGoalValue:
    @pytest.mark.parametrize(
        ("kind", "value", "frame", "measured", "holds"),
        [
            ("moved", 0.5, 2, 0.25, False),
            ("moved_fraction", 0.26, 3, 0.25, False),
            ("open_fraction", 0.126, 2, 0.125, False),
            ("at_fraction", 0.14, 2, 0.125, True),
            ("at_fraction", 0.11, 2, 0.125, True),
            ("at_fraction", 0.16, 2, 0.125, False),
            ("at_fraction", 0.09, 2, 0.125, False),
            ("within_closed", 0.25, 2, 0.25, True),
            ("within_closed", 0.24, 2, 0.25, False),
        ],
    )
    def test_each_kind_at_its_edge(self, kind, value, frame, measured, holds):
        record = with_goal([1.0, 1.0, 0.75, 0.5, 0.5, 0.5, 0.5])
        condition = {**OPEN, "kind": kind, "value": value, "s_closed": 0.5, "s_open": 2.5}
        assert goal_value(record, condition, frame) == (measured, holds)

    @pytest.mark.parametrize(
        ("kind", "last", "limits", "measured"),
        [
            ("moved_fraction", 0.0, (0.5, -1.5), 0.25),  # a joint that opens towards negative positions
            ("open_fraction", 1.0, (0.5, -1.5), -0.25),  # past closed is not open
            ("open_fraction", 1.0, (0.5, 2.5), 0.25),  # counted from closed, wherever zero is
            ("open_fraction", 0.0, (-0.5, 1.5), 0.25),
        ],
    )
    def test_shares_are_of_the_range_whatever_its_direction(self, kind, last, limits, measured):
        condition = {**OPEN, "kind": kind, "value": 0.25, "s_closed": limits[0], "s_open": limits[1]}
        assert goal_value(with_goal([0.5] * 6 + [last]), condition, 6) == (measured, measured >= 0.25)

    def test_another_kind_is_refused(self):
        message = (
            "A goal condition has kind 'turned', expected moved, moved_fraction, open_fraction, at_fraction or "
            "within_closed. The record is damaged or of a newer version."
        )
        with refused(RecordingError, message, kind="turned"):
            broken_by_goal(with_goal(RESTS, goal={"conditions": [{**OPEN, "kind": "turned"}]}))


class TestGoalOfPolicy:
    """The goal of a policy's episode is reached once the door has been where it must be for two frames."""

    STAYS = (0.0, *[0.5] * 6)
    BOUNCES, LATER = (0.0, 0.5, 0.75, *[0.5] * 4), (0.0, 0.2, *[0.5] * 5)
    FIRST, AGAIN = ({**JUDGED, "entry": 0, "attempt": attempt} for attempt in (0, 1))

    @staticmethod
    def frame(door, goal=None, **changes):
        made = {"conditions": [OPEN], "hold_frames": 2, "chain_length": 1, "max_changes": {"oven.1": 0.25}}
        return recompute_goal_frame(with_goal(door, **{"settle": None, "goal": {**made, **(goal or {})}, **changes}))

    @pytest.mark.parametrize(
        ("door", "frame"),
        [
            ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], None),  # it was there, and has not moved
            ([0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 3),
            ([0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5], 5),
            ([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5], None),
            ([0.0, 0.5, 0.5, 0.25, 0.5, 0.5, 0.5], 4),  # it holds at both ends of the rest
            ([0.0, 0.5, 1.0, 0.5, 1.0, 1.0, 1.0], 6),  # it moves on, further than it may
            ([0.0, 0.5, 0.75, 0.5, 1.0, 1.5, 2.0], 3),  # it moves as far as it may
            ([0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75], None),  # it goes on in small steps
            ([0.0, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0], 3),  # what comes later does not count
        ],
    )
    def test_it_is_the_first_frame_at_the_end_of_a_rest(self, door, frame):
        assert self.frame(door) == frame

    @pytest.mark.parametrize(
        ("door", "skills", "goal", "frame"),
        [
            # the rest begins with the skill that began last
            (STAYS, [{**JUDGED, "frame_start": 3}, {**JUDGED, "name": "hold", "success_mode": None}], {}, 5),
            # a skill must have reached its threshold by its own end
            (BOUNCES, [{**JUDGED, "success_threshold": 0.75, "frame_end": 3}], {}, None),
            (BOUNCES, [{**JUDGED, "success_threshold": 0.75, "frame_end": 2}], {}, 3),
            # the goal may ask more than the skill
            ([0.0, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75], [JUDGED], {"conditions": [{**OPEN, "value": 0.75}]}, 6),
            # of several attempts at a skill the last one counts
            (LATER, [{**FIRST, "frame_end": 1, "broken_off": True}, {**AGAIN, "frame_start": 2}], {}, 4),
            (STAYS, [FIRST, AGAIN], {}, 3),  # attempts at one skill
            (STAYS, [FIRST, AGAIN], {"chain_length": 2}, None),  # are one of the chain
            (STAYS, [JUDGED, JUDGED], {"chain_length": 2}, 3),  # entries without a place are two
            (STAYS, [JUDGED, {**JUDGED, **NOT_RUN}], {"chain_length": 2}, None),  # a skill that never began
        ],
    )
    def test_every_skill_of_the_chain_must_have_led_its_part_there(self, door, skills, goal, frame):
        assert self.frame(door, goal, skills=skills) == frame


LIFTED = {"object": "shelf.can", "kind": "lifted", "value": 0.1}
PICK = {**JUDGED, "name": "pick", "object": "shelf.can", "joint_index": None, "conditions": [LIFTED], **NO_JOINT}
PICK |= {"frame_start": 1, "frame_end": 5}
CAN_RISES = [0.0, 0.0, 0.05, 0.1, 0.15, 0.2, 0.2]
CAN_TOUCH = "contacts.panda.left.shelf.can.fingers_link.force_max_n"


def with_can(heights, *skills, arrays=None, **fields):
    """Returns a record in which a free can has these seven heights."""
    own = {
        "time": np.arange(7) / 30.0,
        "objects.shelf.can.root_position": np.outer(heights, [0.0, 0.0, 1.0]),
        SUSTAINED: np.zeros(6),
        **(arrays or {}),
    }
    return EpisodeRecord(number=4, seed=0, success=True, skills=list(skills), arrays=own, **fields)


CAN_SETTLES = {**SETTLES, "max_change": 0.005, "max_changes": {"shelf.can.root": 0.005}}


class TestFreeObject:
    @pytest.mark.parametrize(
        ("heights", "skills", "expected"),
        [
            (CAN_RISES, [PICK], []),
            ([0, 0, 0.05, 0.08, 0.09, 0.09, 0.3], [PICK], [(5, 0.09)]),
            # lifted counts from the first attempt
            (
                [0, 0, 0.05, 0.07, 0.1, 0.12, 0.12],
                [
                    {**PICK, "entry": 0, "attempt": 1, "frame_start": 3},
                    {**PICK, "entry": 0, "attempt": 0, "frame_end": 3, "broken_off": True},
                ],
                [],
            ),
        ],
    )
    def test_it_must_be_where_the_skill_asks_at_its_end(self, heights, skills, expected):
        label = {"skill": 0, "name": "pick", "kind": "lifted", "object": "shelf.can", "wanted": 0.1}
        rules = [BrokenRule(frame, "not_reached", {**label, "reached": pytest.approx(z)}) for frame, z in expected]
        assert broken(with_can(heights, *skills)) == rules

    def test_contact_is_asked_for_while_it_moves(self):
        skill = {**PICK, "finger_contact_required": True, "robot": "panda", "arm": "left"}
        touched = {CAN_TOUCH: np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0]), CAN_TOUCH.replace("link", "base"): np.zeros(6)}
        (rule,) = broken(with_can(CAN_RISES, skill, arrays=touched))
        assert (rule.code, rule.evidence["moving_frames"], rule.evidence["contact_share"]) == ("slipped", 4, 0.25)
        # a step of exactly the least one is no motion
        heights, touched = [0.0, 0.0, *[MOVING_STEP] * 3, 0.2, 0.2], {CAN_TOUCH: np.array(EARLIER)}
        assert broken(with_can(heights, skill, arrays=touched)) == []

    @pytest.mark.parametrize(
        ("last", "skills", "conditions", "expected"),
        [
            ([0.2, 0.204, 0.204], [], [LIFTED], []),
            ([0.2, 0.208, 0.21], [], [LIFTED], [(5, {"change": 0.01, "allowed": 0.005})]),
            ([0.2, 0.2, 0.21], [PICK], [], [(6, {"change": 0.01, "allowed": 0.005})]),
            ([0.099, 0.099, 0.1], [], [LIFTED], [(4, {"reached": 0.099, "wanted": 0.1})]),
            ([0.101, 0.1, 0.099], [], [LIFTED], [(6, {"reached": 0.099, "at_start": 0.101, "wanted": 0.1})]),
        ],
        ids=["it stays", "it moves", "one that a skill carries moves", "the goal does not hold", "it does not last"],
    )
    def test_it_must_rest_where_the_goal_asks_while_the_scene_settles(self, last, skills, conditions, expected):
        goal = {"conditions": conditions}
        rules = broken_by_goal(with_can([0.0, 0.0, 0.1, 0.2, *last], *skills, goal=goal, settle=CAN_SETTLES))
        assert len(rules) == len(expected)
        for rule, (frame, numbers) in zip(rules, expected, strict=True):
            where = {"joint_index": "root"} if "change" in numbers else {"condition": 0, "part": None, "kind": "lifted"}
            evidence = {"object": "shelf.can", **where, **{key: pytest.approx(n) for key, n in numbers.items()}}
            assert rule == BrokenRule(frame, "not_reached" if frame == 4 else "unsettled", evidence)

    @pytest.mark.parametrize(
        ("last", "frame"), [([0.203, 0.206, 0.206], 6), ([0.203, 0.204, 0.206], 5), ([0.21, 0.22, 0.23], None)]
    )
    def test_a_policy_reaches_the_goal_where_it_has_held_for_long_enough(self, last, frame):
        goal = {"conditions": [LIFTED], "hold_frames": 2, "chain_length": 1, "max_changes": {"shelf.can.root": 0.005}}
        record = with_can([0, 0, 0.1, 0.2, *last], {**PICK, "frame_end": 6}, goal=goal)
        assert recompute_goal_frame(record) == frame
