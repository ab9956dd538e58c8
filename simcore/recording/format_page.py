"""Generates the page `docs/record_format.md` from the tables in `keys`.

`python -m unlatch.simcore.recording.format_page docs/record_format.md` writes it. A test fails if it is out of date.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from unlatch.simcore.recording.check import not_compared
from unlatch.simcore.recording.codes import FAILURE_CODES
from unlatch.simcore.recording.episode import FORMAT_VERSION
from unlatch.simcore.recording.episode_json.fields import (
    APPLIED_FIELDS,
    EPISODE_FIELDS,
    EVENT_FIELDS,
    GOAL_FIELDS,
    GOAL_RESULT_FIELDS,
    INSTANCE_FIELDS,
    LAYOUT_FIELDS,
    PLACE_FIELDS,
    PLAN_FIELDS,
    PREPLAN_FIELDS,
    REFUSAL_FIELDS,
    RULE_FIELDS,
    SETTLE_FIELDS,
    SKILL_FIELDS,
    VIOLATION_FIELDS,
)
from unlatch.simcore.recording.episode_json.structure import Table, describe_kind
from unlatch.simcore.recording.keys import ACTION, INTERVAL, KEYS, STATE, KeySpec

_EPISODE_TITLE = """## episode.json

Where a record may lack a key, its meaning begins with `Optional` or `Only`. A record has no other keys than these."""

_GOAL_RESULT_TITLE = """### Further keys of `goal`

Only in episodes of a policy that go on after a broken rule (`unlatch evaluate`)."""

_HEAD = f"""# Record format, version {FORMAT_VERSION}

This page lists every file, key and array of a recorded episode.
It is generated: `python -m unlatch.simcore.recording.format_page docs/record_format.md`.

```text
dataset.json                                        format version; header: configuration, seed and versions of every
                                                    run into it; info: command, date and host of the first run
episodes/<number // 1000, 7 digits>/<number, 10 digits>/episode.json
episodes/<number // 1000, 7 digits>/<number, 10 digits>/state.npz
index/<worker>.jsonl                                one line per episode; rebuilt from the episodes if it is lost
runs/<writer>-<start>.json                          wall time of one run: start-up [s], begin and end of its episodes
                                                    [s since 1970] and their number, renewed after each episode; version
                                                    and checksum of Unlatch, of the plugins and of the policy
runs/<writer>-<start>.live                          state of an episode in progress, of a run with live=true; removed at
                                                    its end, with the empty file `.live-lock` beside it
renders/<render name>/                              images rendered later, in the same folder structure
.tmp/                                               episodes in progress; leftovers are cleaned up
replaced/                                           `error` episodes while new ones take their places; leftovers of a
                                                    killed run are moved back
damaged/                                            damaged episodes that were moved out of the way
```

An episode folder is either complete or absent. Units are SI, with radians and seconds. Quaternions are x, y, z, w. The
world frame has z up, and z = 0 at the top of the table. In JSON files, numbers that are not finite are the
strings "nan", "inf" and "-inf". No file uses Python's pickle.

Sets and episodes of versions 2 and 3 are read, checked and replayed too.

## Arrays in state.npz

An episode of T actions has T+1 states. Row t of the actions, and of what is measured between two states, lies between
the states t and t+1.
`n` is the number of arm joints, `k` that of gripper joints, and `m` that of an object's movable joints. `ee` is the
frame of the arm's `ee_link` (the hand), and `tcp` a frame between the fingertips. An attempt that fails before its
first frame has no arrays.

Arrays that drive a world, that a world is set to, or by which an episode is judged have 64 bits: targets of joints and
gripper, times, positions of joints, poses of roots, forces and largest speeds. All other floats have 32 bits:
velocities, efforts, the opening of the gripper, and poses of hands, keypoints and targets. A replay rounds what it
simulates in the same way, and the result must then be equal. One rule uses rounded values: that of the speed of an arm
at its home. In records of version 2, all floats have 64 bits. If a set of version 2 or 3 is continued, its
`dataset.json` keeps its version, and new episodes state version 4.

`unlatch.open_dataset(FOLDER)[NUMBER].arrays` has the arrays of an episode by key. `unlatch.read_arrays(PATH)` reads
them from one `state.npz`, or from the folder of an episode. Do not use the members of the file as they are: they have
encoded bytes, not values. This function reads a file with NumPy alone:

```python
import json, math
import numpy as np


def read_arrays(path):
    with np.load(path) as file:
        if "layout" not in file:  # version 2
            return dict(file)
        values, arrays = {{}}, {{}}
        for name in set(file.files) - {{"layout"}}:
            steps = np.ascontiguousarray(file[name].T).view(f"<u{{len(file[name])}}").ravel()
            name = name.removesuffix("_delta_bytes")
            values[name] = np.cumsum(steps, dtype=steps.dtype).view(name)
        for key, (name, shape) in json.loads(file["layout"].tobytes()).items():
            arrays[key], values[name] = np.split(values[name], [math.prod(shape)])
            arrays[key] = arrays[key].reshape(shape, order="F")
    return arrays
```

The file has one member of bytes for each type of value, such as `float64_delta_bytes`, and `layout`: the type and shape
of each array by key, as JSON. The values of a type stand one after another, array by array in the order of `layout`,
each in column order. Their bits are read as unsigned little-endian integers. Each integer is replaced by its difference
from the one before, modulo its size. The member has all first bytes, then all second bytes, and so on. In version 3,
a member has the name of its type alone, such as `float64`. In version 2, each array is a member of its own.
"""


_PROOF = """## What `unlatch check` proves

A record holds the verdict of the judge, and the thresholds and limits by which it judged. Checksums show that a file
was not damaged, but anyone can renew them. `unlatch check` therefore believes neither.

**`unlatch check DATA`** derives what each record must state from the configuration in `dataset.json` and the number
of the episode. It generates or loads the objects again and repeats the draws of the layout. It reports every
statement that differs, with its key, the recorded and the expected value:

- the seed, the objects with their hashes and parameters, the layout, the start joints and the phrasings;
- the skills of the chain, their order, objects, parts and joints, their thresholds, force limits and switches, and
  the force of the grip;
- the conditions of the goal, the time and the tolerances of settling, and the time limit.

Integers, texts and numbers must be equal. Only where the data set was made on another machine or with other versions,
numbers may differ by 1e-9, because their last digits do.

A record has the keys and arrays of this page and no others. Which of the optional ones it has follows from the
configuration: `actions.push` is only in records of a set in which parts are nudged. A key or array too many is a
problem, and so is one that is missing, a value of another type, and rows of another size.

It computes every verdict again from the derived values and the recorded states, with other code than the
judge of an episode. It also compares values with each other where no physics is needed:

- time with the rate of frames, poses of hands, targets and keypoints with the joints, the first state with the layout,
  the largest speeds and forces of a row with other values of that row;
- the labels of the planner with the actions where nothing disturbs the arm;
- `frame_start` and `frame_end` of skills, the time of settling and the events of a takeover with what each arm did in
  each frame (`skills.phase`, `skills.command_index`);
- `validity`, the first violation of a skill, and the frame and time of a failure with the forces, speeds and times.

**`unlatch check DATA replay=true`** also simulates every episode again. Layout and randomization are drawn anew, and
only the actions are those of the record. A judge follows the simulation and begins and ends each skill at the recorded
frames. Every array of the world and of the judge must be the same, in the type of the record, and so must the
randomization, first violations, contacts without force, and the evidence of a collision, an overload, an overspeed or a
timeout. On another machine, or with other versions, a replay may differ; the messages then name what is different.

Each record is checked on its own. Whatever is wrong with one is a problem of that record, with its number, and the
others are checked all the same.

Some things are read from the record, because only the planner or the policy decides them: the actions; in which
strategy a skill was carried out and, after a search for a layout, with which arm; which of the drawn layouts a
search chose; whether a policy acted before the planner. If an object or a skill is not installed, its episodes are a
problem of their own, and they are judged by what they state themselves. Conditions `inside` and `on` of older records
have no `outline`: if no condition of a record has one, all are judged by `bounds`.

### What it does not compare

`unlatch check` ends with this list. The types of these values are checked all the same.

{{LISTS}}
### What it cannot prove

- It takes `dataset.json` as true. Whoever changes the configuration and makes records that fit it has made another data
  set, and it passes. So does a data set of a changed simulator, if the check runs with the same change. To hand out a
  data set that nobody can exchange, publish the SHA-256 of its files elsewhere.
- Without `replay=true`, measured arrays can be changed so that they fit each other: forces, efforts, speeds, or the
  position of a part together with its keypoints. The values that a randomization wrote are not drawn again then.
- When one command of a skill follows another, if `skills.phase` and `skills.command_index` fit each other.
- Who made the actions: a record whose actions reach the goal by the rules is a success, whatever its plan, its labels
  and its header say of their origin.
- That no episode was left out: which numbers were asked for is not recorded.
- Why an attempt was stopped, if arrays do not show it. The codes of planning, `motion_blocked`, `grasp_missed` and
  `slipped` are refused if no skill runs or begins at the end. If every rule of success holds at the end, these codes
  and `error` are refused too, except `motion_blocked`.
- Whether a plugin's own `unmet_condition` was met: a recorded `not_reached` of such a skill is believed where no other
  rule is broken.
"""


def record_format_page() -> str:
    """Returns the text of `docs/record_format.md`."""
    parts = [_HEAD]
    for title, kind in (
        ("States, T+1 rows", STATE),
        ("Actions, T rows", ACTION),
        ("Measured between two states, T rows", INTERVAL),
    ):
        parts.append(f"### {title}\n\n" + _key_table([spec for spec in KEYS if spec.kind == kind]))
    for title, fields in (
        (_EPISODE_TITLE, EPISODE_FIELDS),
        ("### `layout`", LAYOUT_FIELDS),
        ("### Each object of `layout.instances`", INSTANCE_FIELDS),
        ("### Each object of `layout.objects`", PLACE_FIELDS),
        ("### `layout.preplan`", PREPLAN_FIELDS),
        ("### `applied`", APPLIED_FIELDS),
        ("### Each entry of `rules` in `applied`", RULE_FIELDS),
        ("### Each entry of `skills`", SKILL_FIELDS),
        ("### `plan` of an entry of `skills`", PLAN_FIELDS),
        ("### Each entry of `refused` of an entry of `skills`", REFUSAL_FIELDS),
        ("### `first_violation` of an entry of `skills`", VIOLATION_FIELDS),
        ("### Each entry of `goal.conditions`", GOAL_FIELDS),
        (_GOAL_RESULT_TITLE, GOAL_RESULT_FIELDS),
        ("### `settle`", SETTLE_FIELDS),
        ("### Each entry of `events`", EVENT_FIELDS),
    ):
        parts.append(f"{title}\n\n{_field_table(fields)}")
    parts.append(
        "## Failure codes\n\nIf an attempt violates several conditions, the code is that of the first violation. "
        "If two happen in one frame, the code is the one that comes first in this table.\n"
    )
    parts.append(_table(("Code", "Meaning"), [(f"`{code}`", meaning) for code, meaning in FAILURE_CODES.items()]))
    parts.append(_PROOF.replace("{{LISTS}}", _describe_not_compared()))
    return "\n".join(parts)


def _describe_not_compared() -> str:
    lines = []
    for reason, places in not_compared(replay=False).items():
        words = textwrap.wrap(
            f"- {reason}: {', '.join(f'`{place}`' for place in places)};", 118, subsequent_indent="  "
        )
        lines += words
    return "\n".join(lines).removesuffix(";") + ".\n"


def _key_table(specs: list[KeySpec]) -> str:
    rows = []
    for spec in specs:
        shape = "any" if spec.shape is None else "(" + ", ".join(str(size) for size in spec.shape) + ")"
        optional = "" if spec.required else " Optional."
        rows.append((f"`{spec.pattern}`", shape, spec.dtype, spec.unit, f"{spec.meaning}{optional}"))
    return _table(("Key", "Row shape", "Type", "Unit", "Meaning"), rows)


def _field_table(fields: Table) -> str:
    rows = []
    for key, field in fields.items():
        says_so = not field.optional or field.meaning.startswith(("Optional", "Only"))
        rows.append((f"`{key}`", describe_kind(field.kind), field.meaning if says_so else f"Optional. {field.meaning}"))
    return _table(("Key", "Type", "Meaning"), rows)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |\n" for row in (titles, *rows)]
    return "".join([lines[0], "|" + "---|" * len(titles) + "\n", *lines[1:]])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(record_format_page(), encoding="utf-8")
