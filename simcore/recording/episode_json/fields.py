"""The tables of all keys of `episode.json`, with their types and with what determines their values.

`docs/record_format.md` is generated from them, and `unlatch check` refuses a record with another key or another type.
"""

from __future__ import annotations

from unlatch.simcore.recording.episode_json.structure import CLOCK, PLANNER, RECORD, SIMULATION, Field, Table

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
    "views": Field([{str: object}], "Views of bodies as configured.", optional=True),
    **{key: Field(field.kind, field.meaning, SIMULATION, optional=True) for key, field in _LAYER_FIELDS.items()},
    "sensors": Field(
        _LAYER_FIELDS, "`rules` and `firings` that draw from the stream `sensors`.", SIMULATION, optional=True
    ),
    "visuals": Field(
        {
            **_LAYER_FIELDS,
            "distractors": Field([{str: object}], "Objects beside the scene in images.", SIMULATION, optional=True),
        },
        "`rules` and `firings` that draw from the stream `visuals`, and `distractors`: objects beside the scene.",
        SIMULATION,
        optional=True,
    ),
}
"""Keys of `applied` in `episode.json`."""

INSTANCE_FIELDS: Table = {
    "category": Field(str, "Category of the object."),
    "instance": Field(str, "Its instance."),
    "source": Field(str, "Where it is from: `procedural`, `file`, ..."),
    "parameters": Field({str: object}, "Parameters of a generated object."),
    "split": Field(str, "Optional; the split of the instances from which it was drawn.", optional=True),
    "rests_on": Field(str, "Optional; the side that is down, of an object that does not stand.", optional=True),
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
    "problem": Field(str, "Optional; why the layout is invalid.", optional=True),
}
"""Keys of each object in `layout.objects` in `episode.json`."""

_REFUSED_LAYOUT_FIELDS: Table = {
    "candidate": Field(int, "Number of the layout.", PLANNER),
    "skill": Field(int, "Index of the skill in the chain; -1: the layout itself.", PLANNER),
    "name": Field(str, "Name of that skill.", PLANNER),
    "code": Field(str, "Failure code.", PLANNER),
    "message": Field(str, "The same in words.", PLANNER),
}

PREPLAN_FIELDS: Table = {
    "tried": Field(int, "Number of layouts that were tried.", PLANNER),
    "chosen": Field((int, None), "Number of the chosen layout; null: none was.", PLANNER),
    "margin_rad": Field((float, None), "Its distance to the joint limits [rad].", PLANNER),
    "strategies": Field({str: str}, "Strategy of each skill in it, by the index of the skill in the chain.", PLANNER),
    "arms": Field({str: str}, "Only for robots with several arms: the arm of each skill.", PLANNER, optional=True),
    "counts": Field({str: int}, "Number of refused layouts by `<index> <skill>: <code>`.", RECORD),
    "failures": Field(
        [_REFUSED_LAYOUT_FIELDS],
        "One entry per refused layout: `candidate`, `skill` (-1: the layout itself), `name`, `code`, `message`.",
        PLANNER,
    ),
    "other_sides": Field(
        [
            {
                "rests_on": Field({str: str}, "Side of each object.", PLANNER),
                "tried": Field(int, "Layouts tried.", PLANNER),
                "counts": Field({str: int}, "As `counts` above.", PLANNER),
            }
        ],
        "Optional; searches without a plan on other sides of objects: `rests_on`, `tried` and `counts` of each.",
        PLANNER,
        optional=True,
    ),
}
"""Keys of `layout.preplan` in `episode.json`."""

LAYOUT_FIELDS: Table = {
    "instances": Field(
        {str: INSTANCE_FIELDS}, "Category, instance and parameters of every object, by name.", optional=True
    ),
    "objects": Field({str: PLACE_FIELDS}, "Where every object stands, by name.", optional=True),
    "q_home": Field({str: [float]}, "(n,) start joints by arm [rad].", optional=True),
    "preplan": Field(
        PREPLAN_FIELDS, "Only if the chain begins with `artpreplan`: its search for a layout.", PLANNER, optional=True
    ),
}
"""Keys of `layout` in `episode.json`."""

_DIAGNOSIS_FIELDS: Table = {
    "code": Field(str, "Failure code.", PLANNER),
    "message": Field(str, "The same in words.", PLANNER),
    "evidence": Field({str: object}, "The numbers behind it.", PLANNER),
}
_KEYFRAME_FIELDS: Table = {
    "label": Field(str, "`current`, `pre`, `goal` or `post`.", PLANNER),
    "p_base_ee": Field([float], "(3,) position of the ee, base frame of the arm [m].", PLANNER),
    "quat_xyzw": Field([float], "(4,) its orientation.", PLANNER),
    "q": Field([float], "(n,) joints of the arm [rad].", PLANNER),
    "s": Field(float, "Position of the part's joint [rad or m].", PLANNER),
}
_RESIDUAL_FIELDS: Table = {
    "name": Field(str, "Name of the constraint.", PLANNER),
    "type": Field(str, "Its type.", PLANNER),
    "value": Field(float, "Its residual.", PLANNER),
    "tolerance": Field(float, "The largest allowed.", PLANNER),
    "unit": Field(str, "Unit of both.", PLANNER),
    "satisfied": Field(bool, "Whether it is met.", PLANNER),
}
_SOLUTION_FIELDS: Table = {
    "found": Field(bool, "Whether all constraints are met.", PLANNER),
    "q": Field(([float], None), "(n,) joints at the goal [rad]; null without one.", PLANNER),
    "compromise_q": Field(([float], None), "(n,) joints of the best compromise; null with a goal.", PLANNER),
    "residuals": Field([_RESIDUAL_FIELDS], "The constraints there.", PLANNER),
    "cost": Field((float, None), "Cost of the solution.", PLANNER),
    "starts_tried": Field(int, "Number of starts.", PLANNER),
    "build_ms": Field(float, "Wall time [ms].", CLOCK),
    "solve_ms": Field(float, "Wall time [ms].", CLOCK),
    "status": Field(str, "How the solver ended.", PLANNER),
    "tool_variant": Field(str, "Turn of the hand about its approach axis.", PLANNER),
    "active_bounds": Field([str], "Joint limits at which it lies.", PLANNER),
}

_TURN_FIELDS: Table = {
    "strategy": Field(str, "Name of the strategy.", PLANNER),
    "s_from": Field(float, "Position of the part's joint at its beginning [rad].", PLANNER),
    "s_to": Field(float, "Position of the part's joint at its end [rad].", PLANNER),
    "tries": Field(int, "Number of angles that were tried.", PLANNER),
    "margin_rad": Field(float, "Smallest distance of a joint to its limit [rad].", PLANNER),
    "slip": Field((str, None), "How the hand may slip on the part.", PLANNER),
}

PLAN_FIELDS: Table = {
    "found": Field(bool, "Whether there is a plan.", PLANNER),
    "contact_pose_index": Field(int, "Index of the keyframe of the contact; -1: there is none.", PLANNER),
    "keyframes": Field(
        [_KEYFRAME_FIELDS],
        "Poses of the ee in the base frame of the arm [m], with joints `q` [rad] and the part's joint `s`.",
        PLANNER,
    ),
    "segments": Field(
        [
            {
                "kind": Field(str, "`transit`, `approach`, `follow` or `retreat`.", PLANNER),
                "frames": Field(int, "Number of record frames.", PLANNER),
            }
        ],
        "Kind and number of record frames of each motion.",
        PLANNER,
    ),
    "diagnosis": Field((_DIAGNOSIS_FIELDS, None), "Why there is no plan: `code`, `message` and `evidence`.", PLANNER),
    "solution": Field((_SOLUTION_FIELDS, None), "Residuals of the constraints at the goal.", PLANNER),
    "timings_ms": Field({str: float}, "Wall time by stage [ms].", CLOCK),
    "counts": Field({str: int}, "Starts, goals, candidates, collision queries, draws of noise.", PLANNER),
    "notices": Field([str], "Messages for the user.", PLANNER),
    "margin_rad": Field(float, "Smallest distance of a joint to its limit while the part is led [rad].", PLANNER),
    "slip": Field((str, None), "How the hand may slip on the part; null: it may not.", PLANNER),
    "turns": Field(
        [_TURN_FIELDS],
        "Only of a part that is turned in several turns: `strategy`, `s_from` and `s_to` [rad], `tries`, `margin_rad` "
        "and `slip` of each.",
        PLANNER,
        optional=True,
    ),
}
"""Keys of `plan` of each entry of `skills` in `episode.json`."""

REFUSAL_FIELDS: Table = {
    "strategy": Field(str, "Name of the strategy.", PLANNER),
    "arm": Field(str, "Only for robots with several arms: the arm.", PLANNER, optional=True),
    "code": Field(str, "Failure code.", PLANNER),
    "message": Field(str, "The same in words.", PLANNER),
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
    "event": Field(str, "`takeover`, `grasp_kept` or `grasp_released`.", RECORD),
    "frame": Field(int, "Number of the state.", RECORD),
    "policy": Field(str, "Only `takeover`: the policy that acted before.", PLANNER, optional=True),
    "reason": Field(str, "Only `takeover` and `grasp_released`: why, in words.", PLANNER, optional=True),
}
"""Keys of each entry of `events` in `episode.json`."""

_STAGES = {
    "preplan": "the search for a layout",
    "plan": "planning",
    "reset": "the reset",
    "execute": "the simulation",
    "write": "writing the files",
}
TIMING_FIELDS: Table = {
    key: Field(float, f"Wall time of {what} [ms].", CLOCK, optional=True) for key, what in _STAGES.items()
}
"""Keys of `timings_ms` in `episode.json`."""

GOAL_FIELDS: Table = {
    "object": Field(str, "Name of the object."),
    "part": Field(str, "Only for a joint: name of the part in its annotation.", optional=True),
    "joint_index": Field(
        int, "Only for a joint: column of the part's joint in `objects.<object>.joint_positions`.", optional=True
    ),
    "kind": Field(
        str,
        "`moved`: abs(s - s0) >= value; `moved_fraction`: abs(s - s0) / abs(open - closed) >= value; "
        "`open_fraction`: (s - closed) / (open - closed) >= value; `within_closed`: abs(s - closed) <= value. Of a "
        "free object: `inside`: its outline lies in a region, up to value to the sides and below, and its middle "
        "(below a ceiling: its top) below the height of the region; `on`: its lowest point is within value of the "
        "floor of a region, and its middle is over that floor; `upright`: its up axis is within value of the "
        "vertical; `lifted`: it is at least value higher than at the start.",
    ),
    "value": Field(float, "Threshold [rad, m or share]."),
    "of": Field(
        (str, None),
        "Only `inside` and `on`: the object that has the region; null: the table, at height 0.",
        optional=True,
    ),
    "region": Field((str, None), "Only `inside` and `on`: name of the region.", optional=True),
    "size": Field(
        ([float], None),
        "Only `inside` and `on`: (3,) size of the region along its axes [m]; null: without bounds.",
        optional=True,
    ),
    "open_above": Field(bool, "Only `inside` and `on`: whether nothing covers the region.", optional=True),
    "bounds": Field(
        [[float]],
        "Only `inside` and `on`: (2, 3) lower and upper corner of the free object, root frame [m]. Their middle is "
        "the middle of the object.",
        optional=True,
    ),
    "outline": Field(
        [[float]],
        "Optional; only `inside` and `on`: (N, 4) centre and radius of balls, root frame [m]; a corner has radius "
        "0. Their convex hull is the outline of the free object. N is at most 56. Older records lack the key: "
        "there, the outline is the box `bounds`.",
        optional=True,
    ),
    "up_axis": Field(
        [float], "Only `upright`: (3,) direction that points up when the object is upright, root frame.", optional=True
    ),
    "s_closed": Field(
        float,
        "Optional; position of the joint when closed. Default: that of the skill on the same joint.",
        optional=True,
    ),
    "s_open": Field(
        float, "Optional; position of the joint when open. Default: that of the skill on the same joint.", optional=True
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
    "arm": Field(str, "Only for robots with several arms: the arm that acts.", optional=True),
    "stage": Field(
        int, "Only with `arm`: the stage of the chain. Skills of one stage run at the same time.", optional=True
    ),
    "entry": Field(
        int, "Only with `arm` or `attempt`: index of the skill in the configured chain.", RECORD, optional=True
    ),
    "attempt": Field(
        int,
        "Only with `replan`, nudges or a takeover: 0 for the first attempt at this `entry`, 1 for the next one, and "
        "so on.",
        optional=True,
    ),
    "broken_off": Field(
        bool,
        "Only with `arm` or `attempt`: whether the skill was stopped early, because another arm's skill failed or "
        "because it is attempted again.",
        RECORD,
        optional=True,
    ),
    "code": Field(
        str,
        "Only with `attempt`: why this attempt was broken off and another one follows: a failure code; `part_moved` "
        "if the part was not where the plan has it, before contact; `taken_over` if a policy acted.",
        PLANNER,
        optional=True,
    ),
    "message": Field(str, "Only with `code`: the same in words.", PLANNER, optional=True),
    "object": Field(str, "Name of the object that the skill acts on."),
    "part": Field((str, None), "Name of the part in its annotation; null if the skill carries the whole object."),
    "conditions": Field(
        [GOAL_FIELDS],
        "Optional; what must hold of free objects at `frame_end`: entries as in `goal.conditions`. `lifted` counts "
        "from `frame_start`.",
        optional=True,
    ),
    "link": Field(
        str,
        "Optional; link of the object that the fingers may touch, if it is not the link of the part.",
        optional=True,
    ),
    "holds": Field(
        bool,
        "Optional; true if the skill holds the object still for other arms. A finger touches the link in every row "
        "of phase 8 (hold) of this arm. The parts of skills that run at the same time move only in these rows.",
        optional=True,
    ),
    "goes_home": Field(
        bool,
        "Optional; true if the skill moves its arm to its home. At `frame_end`, each joint is within 0.03 rad or m "
        "of where it was at state 0, and its speed is at most 0.05 rad/s or m/s.",
        optional=True,
    ),
    "language": Field(
        [str],
        "Optional; phrasings of the instruction for this skill. The first was drawn for this episode.",
        optional=True,
    ),
    "joint": Field((str, None), "Name of the part's joint."),
    "joint_index": Field((int, None), "Column of the joint in `objects.<object>.joint_positions`."),
    "strategy": Field((str, None), "Name of the strategy that the plan uses.", RECORD),
    "refused": Field(
        [REFUSAL_FIELDS],
        "Strategies without a plan: `strategy`, `code` and `message` of each.",
        PLANNER,
    ),
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
    "scene_force_threshold_n": Field(
        float,
        "Optional; how much more than at rest an object may bear from furniture and other objects for longer than 20 "
        "ms [N]. Without it, any force.",
        optional=True,
    ),
    "finger_force_limit_n": Field(float, "Largest force that a finger of the arm may bear for longer than 20 ms [N]."),
    "first_violation": Field(
        (VIOLATION_FIELDS, None),
        "`{view, pair, force_n, physics_step, time_s}` of the first forbidden contact, or null.",
        RECORD,
    ),
    "success": Field(bool, "Whether the skill succeeded, as it reported at its end.", RECORD),
    "zero_force_contacts": Field(
        int,
        "Number of forbidden contact points without force. The verdict ignores them.",
        SIMULATION,
    ),
    "grip_force_n": Field(
        float,
        "Force with which the hand grips [N], chosen for the part that is hardest to move in the episode, "
        "between `least_force_n` and `grip_force_n` of the gripper.",
    ),
    "press_force_n": Field(
        float,
        "Optional; force with which closed fingertips press on the face of a part that they drag by friction [N].",
        optional=True,
    ),
    "plan": Field(
        (PLAN_FIELDS, None),
        "The plan: keyframes, residuals, counts, times. If there is no plan: the diagnosis.",
        PLANNER,
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
    "max_changes": Field(
        {str: float},
        "Optional; the same for single joints, by `<object>.<joint_index>`, and for the position of free objects "
        "[m], by `<object>.root`. It replaces `max_change` for these.",
        optional=True,
    ),
}
"""Keys of `settle` in `episode.json`."""

EVIDENCE_FIELDS: Table = {
    "message": Field(str, "What happened, in words.", PLANNER),
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
    "evidence": Field(
        {str: object},
        "The numbers behind `code`, its `message`, `time_s` and `frame`; empty on success. That of an `error` has the "
        "`traceback`, and in `made_with` the code that made it. `packages`: by name of the top-level module, of "
        "Unlatch, the plugins and the policy, the `version` and the `sha256` of all Python files together. `files`: "
        "the SHA-256 of other files in the traceback, by path; empty if the file was changed during the run.",
        PLANNER,
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
            "conditions": Field([GOAL_FIELDS], "Conditions at the end.", optional=True),
            **{key: Field(f.kind, f.meaning, f.source, optional=True) for key, f in GOAL_RESULT_FIELDS.items()},
        },
        "`conditions`: the list of conditions at the end, see below.",
    ),
    "settle": Field(
        (SETTLE_FIELDS, None),
        "The time at the end in which the scene must stand still, see below; null if the episode ended earlier.",
    ),
    "events": Field([EVENT_FIELDS], "What happened as the planner took over from a policy, in order of time.", RECORD),
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
