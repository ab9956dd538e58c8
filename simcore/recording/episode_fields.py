"""The tables of all keys of `episode.json`, with their types and with what determines their values.

`docs/record_format.md` is generated from them, and `unlatch check` refuses a record with another key or another type.
"""

from __future__ import annotations

from unlatch.simcore.recording.episode_structure import (
    CLOCK,
    PLANNER,
    RECORD,
    SIMULATION,
    Field,
    Table,
    optional,
    planned,
)

RULE_FIELDS: Table = {
    "view": Field(str, "Name of the view that the rule writes."),
    "attribute": Field(str, "Name of the attribute."),
    "gate": Field(str, "`on_env_reset` or `on_interval`."),
    "interval": Field((int, None), "Control steps from one firing to the next; null: at the reset alone."),
    "operation": Field(str, "`direct`, `additive` or `scaling`."),
    "distribution": Field({str: object}, "From what the values are drawn."),
    "num_buckets": Field((int, None), "Number of values to which drawn values are rounded; null: they are not."),
}
"""Keys of each entry of `applied.rules` in `episode.json`."""

_LAYER_FIELDS: Table = {
    "rules": Field([RULE_FIELDS], "Rules as configured.", SIMULATION),
    "firings": Field(
        [[object]],
        "Lists of the step (0: the reset, then one per control step), the index of the rule in `rules`, and the "
        "values that it wrote.",
        SIMULATION,
    ),
}

APPLIED_FIELDS: Table = {
    "views": optional([{str: object}], "Views of bodies as configured."),
    **{key: optional(field.kind, field.meaning, SIMULATION) for key, field in _LAYER_FIELDS.items()},
    "sensors": optional(_LAYER_FIELDS, "`rules` and `firings` that draw from the stream `sensors`.", SIMULATION),
    "visuals": optional(
        {
            **_LAYER_FIELDS,
            "distractors": optional([{str: object}], "Objects beside the scene in images.", SIMULATION),
            "contents": optional([{str: object}], "Objects in drawers and behind doors in images.", SIMULATION),
        },
        "`rules` and `firings` that draw from the stream `visuals`, `distractors` and `contents`: objects in images.",
        SIMULATION,
    ),
}
"""Keys of `applied` in `episode.json`."""

INSTANCE_FIELDS: Table = {
    "category": Field(str, "Category of the object."),
    "instance": Field(str, "Its instance."),
    "source": Field(str, "Where it is from: `procedural`, `file`, ..."),
    "parameters": Field({str: object}, "Parameters of a generated object."),
    "split": optional(str, "Optional; the split of the instances from which it was drawn."),
    "rests_on": optional(str, "Optional; the side that is down, of an object that does not stand."),
}
"""Keys of each object in `layout.instances` in `episode.json`."""

PLACE_FIELDS: Table = {
    "position": Field([float], "(3,) origin of the root link, world frame [m]."),
    "quat_xyzw": Field([float], "(4,) its orientation."),
    "rotation": Field([[float]], "(3, 3) the same as a matrix, exactly."),
    "joint_positions": Field({str: float}, "Positions of the movable joints by name [rad or m]."),
    "plinth_size_m": Field(([float], None), "(3,) size of the plinth below the object [m]; null: there is none."),
    "plinth_position": Field(([float], None), "(3,) middle of the plinth, world frame [m]."),
    "plinth_quat_xyzw": Field(([float], None), "(4,) its orientation."),
    "plinth_rotation": Field(([[float]], None), "(3, 3) the same as a matrix, exactly."),
    "drawn": Field({str: float}, "The numbers that were drawn, by name."),
    "problem": optional(str, "Optional; why the layout is invalid."),
}
"""Keys of each object in `layout.objects` in `episode.json`."""

_REFUSED_LAYOUT_FIELDS: Table = {
    "candidate": planned(int, "Number of the layout."),
    "skill": planned(int, "Index of the skill in the chain; -1: the layout itself."),
    "name": planned(str, "Name of that skill."),
    "code": planned(str, "Failure code."),
    "message": planned(str, "The same in words."),
}

PREPLAN_FIELDS: Table = {
    "tried": planned(int, "Number of layouts that were tried."),
    "chosen": planned((int, None), "Number of the chosen layout; null: none was."),
    "margin_rad": planned((float, None), "Its distance to the joint limits [rad]."),
    "strategies": planned({str: str}, "Strategy of each skill in it, by the index of the skill in the chain."),
    "arms": optional({str: str}, "Only for robots with several arms: the arm of each skill.", PLANNER),
    "counts": Field({str: int}, "Number of refused layouts by `<index> <skill>: <code>`.", RECORD),
    "failures": planned(
        [_REFUSED_LAYOUT_FIELDS],
        "One entry per refused layout: `candidate`, `skill` (-1: the layout itself), `name`, `code`, `message`.",
    ),
    "other_sides": optional(
        [
            {
                "rests_on": planned({str: str}, "Side of each object."),
                "tried": planned(int, "Layouts tried."),
                "counts": planned({str: int}, "As `counts` above."),
            }
        ],
        "Optional; searches without a plan on other sides of objects: `rests_on`, `tried` and `counts` of each.",
        PLANNER,
    ),
}
"""Keys of `layout.preplan` in `episode.json`."""

_FIXED_BOX_FIELDS: Table = {
    "name": Field(str, "Name of the body."),
    "size_m": Field([float], "(3,) its edge lengths, parallel to the world's axes [m]."),
    "position": Field([float], "(3,) its middle, world frame [m]."),
}
STAND_FIELDS: Table = {
    "kind": Field(str, "`pedestal`, `floor` or `rail`."),
    "height_m": Field(float, "Height of the arm's foot, z = 0, above the floor [m]."),
    "along_m": Field(float, "Place of the arm on a rail, from that before its object to its left [m]."),
    "boxes": Field([_FIXED_BOX_FIELDS], "The floor, then the parts of the stand: `name`, `size_m`, `position`."),
}
"""Keys of `layout.stand` in `episode.json`."""

LAYOUT_FIELDS: Table = {
    "instances": optional({str: INSTANCE_FIELDS}, "Category, instance and parameters of every object, by name."),
    "objects": optional({str: PLACE_FIELDS}, "Where every object stands, by name."),
    "q_home": optional({str: [float]}, "(n,) start joints by arm [rad]."),
    "stand": optional(STAND_FIELDS, "Only if the robot has a stand (`stand=`); else it stands on the table."),
    "preplan": optional(
        PREPLAN_FIELDS, "Only if the chain begins with `artpreplan`: its search for a layout.", PLANNER
    ),
}
"""Keys of `layout` in `episode.json`."""

_DIAGNOSIS_FIELDS: Table = {
    "code": planned(str, "Failure code."),
    "message": planned(str, "The same in words."),
    "evidence": planned({str: object}, "The numbers behind it."),
}
_KEYFRAME_FIELDS: Table = {
    "label": planned(str, "`current`, `pre`, `goal` or `post`."),
    "p_base_ee": planned([float], "(3,) position of the ee, base frame of the arm [m]."),
    "quat_xyzw": planned([float], "(4,) its orientation."),
    "q": planned([float], "(n,) joints of the arm [rad]."),
    "s": planned(float, "Position of the part's joint [rad or m]."),
}
_RESIDUAL_FIELDS: Table = {
    "name": planned(str, "Name of the constraint."),
    "type": planned(str, "Its type."),
    "value": planned(float, "Its residual."),
    "tolerance": planned(float, "The largest allowed."),
    "unit": planned(str, "Unit of both."),
    "satisfied": planned(bool, "Whether it is met."),
}
_SOLUTION_FIELDS: Table = {
    "found": planned(bool, "Whether all constraints are met."),
    "q": planned(([float], None), "(n,) joints at the goal [rad]; null without one."),
    "compromise_q": planned(([float], None), "(n,) joints of the best compromise; null with a goal."),
    "residuals": planned([_RESIDUAL_FIELDS], "The constraints there."),
    "cost": planned((float, None), "Cost of the solution."),
    "starts_tried": planned(int, "Number of starts."),
    "build_ms": Field(float, "Wall time [ms].", CLOCK),
    "solve_ms": Field(float, "Wall time [ms].", CLOCK),
    "status": planned(str, "How the solver ended."),
    "tool_variant": planned(str, "Turn of the hand about its approach axis."),
    "active_bounds": planned([str], "Joint limits at which it lies."),
}

_TURN_FIELDS: Table = {
    "strategy": planned(str, "Name of the strategy."),
    "s_from": planned(float, "Position of the part's joint at its beginning [rad]."),
    "s_to": planned(float, "Position of the part's joint at its end [rad]."),
    "tries": planned(int, "Number of angles that were tried."),
    "margin_rad": planned(float, "Smallest distance of a joint to its limit [rad]."),
    "slip": planned((str, None), "How the hand may slip on the part."),
}

PLAN_FIELDS: Table = {
    "found": planned(bool, "Whether there is a plan."),
    "contact_pose_index": planned(int, "Index of the keyframe of the contact; -1: there is none."),
    "keyframes": planned(
        [_KEYFRAME_FIELDS],
        "Poses of the ee in the base frame of the arm [m], with joints `q` [rad] and the part's joint `s`.",
    ),
    "segments": planned(
        [
            {
                "kind": planned(str, "`transit`, `approach`, `follow` or `retreat`."),
                "frames": planned(int, "Number of record frames."),
            }
        ],
        "Kind and number of record frames of each motion.",
    ),
    "diagnosis": planned((_DIAGNOSIS_FIELDS, None), "Why there is no plan: `code`, `message` and `evidence`."),
    "solution": planned((_SOLUTION_FIELDS, None), "Residuals of the constraints at the goal."),
    "timings_ms": Field({str: float}, "Wall time by stage [ms].", CLOCK),
    "counts": planned({str: int}, "Starts, goals, candidates, collision queries, draws of noise."),
    "notices": planned([str], "Messages for the user."),
    "margin_rad": planned(float, "Smallest distance of a joint to its limit while the part is led [rad]."),
    "slip": planned((str, None), "How the hand may slip on the part; null: it may not."),
    "turns": optional(
        [_TURN_FIELDS],
        "Only of a part that is turned in several turns: `strategy`, `s_from` and `s_to` [rad], `tries`, `margin_rad` "
        "and `slip` of each.",
        PLANNER,
    ),
}
"""Keys of `plan` of each entry of `skills` in `episode.json`."""

REFUSAL_FIELDS: Table = {
    "strategy": planned(str, "Name of the strategy."),
    "arm": optional(str, "Only for robots with several arms: the arm.", PLANNER),
    "code": planned(str, "Failure code."),
    "message": planned(str, "The same in words."),
}
"""Keys of each entry of `refused` of each entry of `skills` in `episode.json`."""

VIOLATION_FIELDS: Table = {
    "view": Field(str, "Contact view, the words of its arrays between `contacts.` and `.force_max_n`.", RECORD),
    "pair": Field([str], "Link of the robot, and what it touched.", SIMULATION),
    "force_n": Field(float, "Force [N].", SIMULATION),
    "physics_step": Field(int, "Physics step since the episode began.", SIMULATION),
    "time_s": Field(float, "Simulated time of that step [s].", RECORD),
}
"""Keys of `first_violation` of each entry of `skills` in `episode.json`."""

EVENT_FIELDS: Table = {
    "event": Field(str, "`takeover`, `grasp_kept`, `grasp_released` or `answer_lost`.", RECORD),
    "frame": Field(int, "Number of the state.", RECORD),
    "policy": optional(str, "Only `takeover`: the policy that acted before.", PLANNER),
    "reason": optional(str, "Only `takeover` and `grasp_released`: why, in words.", PLANNER),
}
"""Keys of each entry of `events` in `episode.json`."""

_STAGES = {
    "preplan": "the search for a layout",
    "plan": "planning",
    "reset": "the reset",
    "execute": "the simulation",
    "write": "writing the files",
}
TIMING_FIELDS: Table = {key: optional(float, f"Wall time of {what} [ms].", CLOCK) for key, what in _STAGES.items()}
"""Keys of `timings_ms` in `episode.json`."""

GOAL_FIELDS: Table = {
    "object": Field(str, "Name of the object."),
    "part": optional(str, "Only for a joint: name of the part in its annotation."),
    "joint_index": optional(int, "Only for a joint: column of the part's joint in `objects.<object>.joint_positions`."),
    "kind": Field(
        str,
        "`moved`: abs(s - s0) >= value; `moved_fraction`: abs(s - s0) / abs(open - closed) >= value; "
        "`open_fraction`: (s - closed) / (open - closed) >= value; `at_fraction`: the same is within 0.03 of value; "
        "`within_closed`: abs(s - closed) <= value. Of a "
        "free object: `inside`: its outline lies in a region, up to value to the sides and below, and its middle "
        "(below a ceiling: its top) below the height of the region; `on`: its lowest point is within value of the "
        "floor of a region, and its middle is over that floor; `upright`: its up axis is within value of the "
        "vertical; `lifted`: it is at least value higher than at the start.",
    ),
    "value": Field(float, "Threshold [rad, m or share]."),
    "of": optional(
        (str, None), "Only `inside` and `on`: the object that has the region; null: the table, at height 0."
    ),
    "region": optional((str, None), "Only `inside` and `on`: name of the region."),
    "size": optional(
        ([float], None), "Only `inside` and `on`: (3,) size of the region along its axes [m]; null: without bounds."
    ),
    "open_above": optional(bool, "Only `inside` and `on`: whether nothing covers the region."),
    "bounds": optional(
        [[float]],
        "Only `inside` and `on`: (2, 3) lower and upper corner of the free object, root frame [m]. Their middle is "
        "the middle of the object.",
    ),
    "outline": optional(
        [[float]],
        "Optional; only `inside` and `on`: (N, 4) centre and radius of balls, root frame [m]; a corner has radius "
        "0. Their convex hull is the outline of the free object. N is at most 56. Older records lack the key: "
        "there, the outline is the box `bounds`.",
    ),
    "up_axis": optional(
        [float], "Only `upright`: (3,) direction that points up when the object is upright, root frame."
    ),
    "s_closed": optional(
        float, "Optional; position of the joint when closed. Default: that of the skill on the same joint."
    ),
    "s_open": optional(
        float, "Optional; position of the joint when open. Default: that of the skill on the same joint."
    ),
}
"""Keys of each entry of `goal.conditions` in `episode.json`."""

GOAL_RESULT_FIELDS: Table = {
    "reached": Field(
        bool,
        "Whether the goal was reached: the joints were where they should be and stayed for `hold_frames`. Forbidden "
        "contacts, forces, speeds and missing contact of the fingers do not matter. `success` is false if one of "
        "them broke a rule; `code` and `evidence` then name the first.",
        RECORD,
    ),
    "reached_frame": Field(
        (int, None), "Number of the state in which the goal had first held for `hold_frames`; null if never.", RECORD
    ),
    "hold_frames": Field(int, "Number of frames for which the goal must hold (`task.settle_s`)."),
    "chain_length": Field(int, "Number of skills of the chain. All must have begun."),
    "chain_motions": Field(
        int, "Number of those that move a part. Without it, the share of the asked motion is not known."
    ),
    "max_changes": Field(
        {str: float},
        "By `<object>.<joint_index>`: largest change of a joint in that time that counts as standing still [rad or m].",
    ),
}
"""Further keys of `goal` in `episode.json` of a policy's episode that went on after broken rules."""

SKILL_FIELDS: Table = {
    "name": Field(str, "Name of the skill in the catalog."),
    "arm": optional(str, "Only for robots with several arms: the arm that acts."),
    "stage": optional(int, "Only with `arm`: the stage of the chain. Skills of one stage run at the same time."),
    "entry": optional(int, "Only with `arm` or `attempt`: index of the skill in the configured chain.", RECORD),
    "attempt": optional(
        int,
        "Only with `replan`, nudges or a takeover: 0 for the first attempt at this `entry`, 1 for the next one, and "
        "so on.",
    ),
    "broken_off": optional(
        bool,
        "Only with `arm` or `attempt`: whether the skill was stopped early, because another arm's skill failed or "
        "because it is attempted again.",
        RECORD,
    ),
    "code": optional(
        str,
        "Only with `attempt`: why this attempt was broken off and another one follows: a failure code; `part_moved` "
        "if the part was not where the plan has it, before contact; `taken_over` if a policy acted.",
        PLANNER,
    ),
    "message": optional(str, "Only with `code`: the same in words.", PLANNER),
    "object": Field(str, "Name of the object that the skill acts on."),
    "part": Field((str, None), "Name of the part in its annotation; null if the skill carries the whole object."),
    "conditions": optional(
        [GOAL_FIELDS],
        "Optional; what must hold of free objects at `frame_end`: entries as in `goal.conditions`. `lifted` counts "
        "from `frame_start`.",
    ),
    "link": optional(
        str, "Optional; link of the object that the fingers may touch, if it is not the link of the part."
    ),
    "holds": optional(
        bool,
        "Optional; true if the skill holds the object still for other arms. A finger touches the link in every row "
        "of phase 8 (hold) of this arm. The parts of skills that run at the same time move only in these rows.",
    ),
    "goes_home": optional(
        bool,
        "Optional; true if the skill moves its arm to its home. At `frame_end`, each joint is within 0.03 rad or m "
        "of where it was at state 0, and its speed is at most 0.05 rad/s or m/s.",
    ),
    "language": optional(
        [str], "Optional; phrasings of the instruction for this skill. The first was drawn for this episode."
    ),
    "joint": Field((str, None), "Name of the part's joint."),
    "joint_index": Field((int, None), "Column of the joint in `objects.<object>.joint_positions`."),
    "strategy": Field((str, None), "Name of the strategy that the plan uses.", RECORD),
    "refused": planned([REFUSAL_FIELDS], "Strategies without a plan: `strategy`, `code` and `message` of each."),
    "success_mode": Field(
        (str, None), "`abs`, `normal`, `zero`, `dis_to_init` or `fraction`; null if the skill moves nothing."
    ),
    "success_threshold": Field((float, None), "Threshold of `success_mode` [rad, m or share]."),
    "s0": Field((float, None), "Position of the joint when the skill began, at its first `attempt` [rad or m]."),
    "s_end": Field((float, None), "Position of the joint at `frame_end` [rad or m]."),
    "s_closed": Field((float, None), "Position of the joint when closed [rad or m]."),
    "s_open": Field((float, None), "Position of the joint when open [rad or m]."),
    "frame_start": Field(
        (int, None),
        "Number of the state at which the skill began; null if it has not begun. Its first action has the same row "
        "number.",
        RECORD,
    ),
    "frame_end": Field(
        int, "Number of the state at which the skill ended. Its last action has the row number before.", RECORD
    ),
    "collision_valid_enabled": Field(bool, "Whether a forbidden contact fails the skill."),
    "process_valid_enabled": Field(bool, "Whether overspeed fails the skill."),
    "contact_force_threshold_n": Field(float, "Force above which a forbidden contact counts [N]."),
    "scene_force_threshold_n": optional(
        float,
        "Optional; how much more than at rest an object may bear from furniture and other objects for longer than 20 "
        "ms [N]. Without it, any force.",
    ),
    "finger_force_limit_n": Field(float, "Largest force that a finger of the arm may bear for longer than 20 ms [N]."),
    "first_violation": Field(
        (VIOLATION_FIELDS, None),
        "`{view, pair, force_n, physics_step, time_s}` of the first forbidden contact, or null.",
        RECORD,
    ),
    "success": Field(bool, "Whether the skill succeeded, as it reported at its end.", RECORD),
    "zero_force_contacts": Field(
        int, "Number of forbidden contact points without force. The verdict ignores them.", SIMULATION
    ),
    "grip_force_n": Field(
        float,
        "Force with which the hand grips [N], chosen for the part that is hardest to move in the episode, "
        "between `least_force_n` and `grip_force_n` of the gripper.",
    ),
    "press_force_n": optional(
        float,
        "Optional; force with which closed fingertips press on the face of a part that they drag by friction [N].",
    ),
    "plan": planned(
        (PLAN_FIELDS, None), "The plan: keyframes, residuals, counts, times. If there is no plan: the diagnosis."
    ),
    "finger_contact_required": Field(bool, "Whether the fingers must touch the part while it moves."),
}
"""Keys of each entry of `skills` in `episode.json`."""

SETTLE_FIELDS: Table = {
    "frame_start": Field(int, "Number of the state at which settling began, after the last command."),
    "frame_end": Field(int, "Number of the state at which settling ended: the last of the episode."),
    "max_change": Field(
        float,
        "A joint stands still if its position changes by at most this much during settling [rad or m]. Applies to "
        "joints that skills act on.",
    ),
    "max_changes": optional(
        {str: float},
        "Optional; the same for single joints, by `<object>.<joint_index>`, and for the position of free objects "
        "[m], by `<object>.root`. It replaces `max_change` for these.",
    ),
}
"""Keys of `settle` in `episode.json`."""

EVIDENCE_FIELDS: Table = {
    "message": planned(str, "What happened, in words."),
    "time_s": Field(float, "Simulated time of the failure [s].", RECORD),
    "frame": Field(int, "Number of the first state at or after that time, or of the last state.", RECORD),
}
"""Keys of `evidence` in `episode.json` that every failure with arrays has, but `error`. Others depend on the code."""

EPISODE_FIELDS: Table = {
    "format": Field(str, "`unlatch-episode`."),
    "format_version": Field(int, "The version of this page."),
    "number": Field(int, "Episode number, from 0."),
    "seed": Field(int, "Seed of all random streams of the episode."),
    "success": Field(bool, "The verdict.", RECORD),
    "code": Field((str, None), "If `success` is false, a failure code.", RECORD),
    "evidence": planned(
        {str: object},
        "The numbers behind `code`, its `message`, `time_s` and `frame`; empty on success. That of an `error` has the "
        "`traceback`, and in `made_with` the code that made it. `packages`: by name of the top-level module, of "
        "Unlatch, the plugins and the policy, the `version` and the `sha256` of all Python files together. `files`: "
        "the SHA-256 of other files in the traceback, by path; empty if the file was changed during the run.",
    ),
    "language": Field(
        [str], "Phrasings of the instruction. The first was drawn for this episode, from its stream `language`."
    ),
    "assets": Field({str: str}, "Hash of the content of every object, by name."),
    "layout": Field(
        LAYOUT_FIELDS, "Values that the reset applied: poses, joint openness, start joints, drawn object parameters."
    ),
    "applied": Field(APPLIED_FIELDS, "Randomization; empty if nothing varied."),
    "skills": Field([SKILL_FIELDS], "One entry per skill, see below."),
    "goal": Field(
        {
            "conditions": optional([GOAL_FIELDS], "Conditions at the end."),
            **{key: optional(f.kind, f.meaning, f.source) for key, f in GOAL_RESULT_FIELDS.items()},
        },
        "`conditions`: the list of conditions at the end, see below.",
    ),
    "settle": Field(
        (SETTLE_FIELDS, None),
        "The time at the end in which the scene must stand still, see below; null if the episode ended earlier.",
    ),
    "events": Field(
        [EVENT_FIELDS], "Takeovers by the planner, and lost answers of a policy server, in order of time.", RECORD
    ),
    "timings_ms": Field(
        TIMING_FIELDS,
        "Wall time of preplan, plan, reset, execute and write [ms]. If you make the same episode again, only these "
        "times differ, and those of the planner (`plan.timings_ms` of each entry of `skills`).",
        CLOCK,
    ),
    "sha256": Field(str, "Checksum of all other keys. Readers refuse a file that was changed."),
    "state": Field(
        {
            "file": Field(str, "`state.npz`."),
            "sha256": Field(str, "Its checksum."),
            "bytes": Field(int, "Its size."),
            "n_actions": Field(int, "Number of actions."),
        },
        "File name, SHA-256, size and number of actions of `state.npz`.",
    ),
}
"""Keys of `episode.json`."""
