"""When each skill began and ended, by what the arms did in each frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.codes import PART_MOVED
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.contract.command import Phase
from unlatch.workflows.episode.actor import TAKEOVER, Actor, takeover_frame

Array = np.ndarray

_WITHOUT_PLAN = ("plan_infeasible", "path_infeasible")
"""Codes of skills that have no plan, and so never move."""
_OF_SKILLS = (*_WITHOUT_PLAN, "motion_blocked", "grasp_missed", "slipped")
"""Codes of failures that a skill finds while it runs, or at its end."""
_OUTCOMES = ("grasp_kept", "grasp_released")
"""Events that say after a takeover whether the hand went on with its grasp."""


class _Status(NamedTuple):
    """What one arm did, in each state frame: (T+1,) arrays."""

    key: str
    """Beginning of the keys of its arrays."""
    phases: Array
    commands: Array

    @property
    def acts(self) -> Array:
        """(T+1,) whether it carried out a command of its skill."""
        return (self.commands >= 0) & (self.phases != Phase.settle.value)


def frame_problems(cfg: EpisodeCfg, record: EpisodeRecord, actor: Actor) -> Iterator[str]:
    """Yields where frames of skills, of settling or of events contradict the arrays that say what each arm did.

    - A skill carries out its commands from the state after `frame_start` to `frame_end`, without a break and in order.
      Each command has one phase. With a policy, a skill ends where the next one begins, or with the episode.
    - The scene settles from the end of the last skill on, in the phase `settle`.
    - The arrays without an arm are those of the arm whose skill began last.
    - The planner takes over from a policy once, and its targets label all frames from there on.

    Args:
        cfg: The episode.
        record: The record; its entries follow the chain, and its arrays have the right shapes.
        actor: What moves the arms.
    """
    yield from _event_problems(record, actor)
    if record.code in ("diverged", "error"):
        return  # they may end in the middle of a frame
    arms = [arm.name for arm in cfg.robot.arms]
    skills = [{**entry, "arm": entry.get("arm", arms[0]), "index": n} for n, entry in enumerate(record.skills)]
    takeover = takeover_frame(record)
    statuses = {
        arm: _Status(key, record.arrays[f"{key}.phase"], record.arrays[f"{key}.command_index"])
        for arm, key in ((arm, f"skills.{arm}" if len(arms) > 1 else "skills") for arm in arms)
    }
    # the last skill of an arm has a code if the episode ended as the hand stepped back, before the next attempt
    steps_back = any("code" in entry for entry in {entry["arm"]: entry for entry in skills}.values())
    ends = [record.n_actions] if steps_back else [entry["frame_end"] for entry in skills]
    settle_start = max(ends, default=record.n_actions)
    for arm, status in statuses.items():
        own = [entry for entry in skills if entry["arm"] == arm]
        if actor is Actor.policy or (actor is Actor.both and takeover > record.n_actions):
            yield from _policy_problems(own, skills, status, record.n_actions)
        else:
            yield from _command_problems(own, status, record.n_actions, takeover)
    if len(arms) > 1:
        yield from _current_problems(skills, statuses, record)
    if actor is Actor.planner:
        yield from _settle_problems(skills, statuses, record, settle_start)
    yield from _code_problems(skills, record, settle_start)


def _command_problems(skills: list[dict[str, Any]], status: _Status, n_actions: int, takeover: int) -> Iterator[str]:
    """Yields where the skills of an arm do not begin and end as its commands do."""
    unknown = np.flatnonzero(~np.isin(status.phases, [phase.value for phase in Phase]) | (status.commands < -1))
    if unknown.size:
        yield f"'{status.key}.phase' or '.command_index' has a value at frame {unknown[0]} that no skill gives."
    begun = skills[0]["frame_start"] if skills else n_actions
    early = np.flatnonzero((status.commands[: begun + 1] != -1) | (status.phases[: begun + 1] != Phase.idle.value))
    if early.size:
        yield f"'{status.key}.phase' or '.command_index' is not idle at frame {early[0]}, before its first skill."
    for entry, following in zip_longest(skills, skills[1:]):
        start, end = entry["frame_start"], entry["frame_end"]
        last = n_actions if following is None else following["frame_start"]
        acting = start + 1 + np.flatnonzero(status.acts[start + 1 : last + 1])
        expected = int(acting[-1]) if acting.size else start
        if start <= takeover < last and end in range(max(takeover, expected), last + 1):
            expected = end  # the arm brakes before its skill ends
        if end != expected:
            yield (
                f"skills[{entry['index']}].frame_end is {end} in the record, expected {expected} from "
                f"'{status.key}.command_index'."
            )
        if entry.get("code") == PART_MOVED and end == start:
            yield f"skills[{entry['index']}] was broken off at frame {start}, at which it began."
        commands, phases = status.commands[acting], status.phases[acting]
        label = f"of skills[{entry['index']}]"
        if acting.size and acting[0] != start + 1 and not start <= takeover < last:
            found = status.commands[start + 1]
            yield f"'{status.key}.command_index' is {found} at frame {start + 1}, the first {label}."
        broken = np.flatnonzero((np.diff(acting) != 1) | (np.diff(commands) < 0))
        if broken.size:
            frame = int(acting[broken[0] + 1])
            yield f"'{status.key}.command_index' does not grow without a break up to frame {frame} {label}."
        # a state has the phase of the command before it, and the index of the command after it
        mixed = np.flatnonzero((np.diff(phases)[1:] != 0) & (np.diff(commands)[:-1] == 0))
        if mixed.size:
            frame = int(acting[mixed[0] + 2])
            yield (
                f"'{status.key}.phase' is {status.phases[frame]} at frame {frame}, expected "
                f"{status.phases[frame - 1]} as at the frame before, in the same command."
            )


def _policy_problems(
    own: list[dict[str, Any]], skills: list[dict[str, Any]], status: _Status, n_actions: int
) -> Iterator[str]:
    """Yields where an arm that a policy moves has commands, or where its skill does not end as the next one begins."""
    busy = np.flatnonzero((status.commands != -1) | (status.phases != Phase.idle.value))
    if busy.size:
        yield f"'{status.key}.phase' or '.command_index' is not idle at frame {busy[0]}, but a policy moves the arm."
    for entry, following in zip_longest(own, own[1:]):
        later = [other for other in skills[entry["index"] + 1 :] if other.get("stage") != entry.get("stage")]
        end = (following or next(iter(later), {"frame_start": n_actions}))["frame_start"]
        if entry["frame_end"] != end:
            yield f"skills[{entry['index']}].frame_end is {entry['frame_end']} in the record, expected {end}."


def _current_problems(
    skills: list[dict[str, Any]], statuses: dict[str, _Status], record: EpisodeRecord
) -> Iterator[str]:
    """Yields where the arrays of several arms do not say which skill of which arm runs."""
    n_frames = record.n_actions + 1
    indices = {arm: np.full(n_frames, -1) for arm in statuses}
    phases, commands = np.full(n_frames, Phase.idle.value), np.full(n_frames, -1)
    current: list[dict[str, Any]] = []
    for entry in skills:
        rows = slice(entry["frame_start"] + 1, None)
        current = [run for run in current if run["stage"] == entry["stage"] and run["arm"] != entry["arm"]] + [entry]
        for arm in statuses:
            indices[arm][rows] = next((run["index"] for run in current if run["arm"] == arm), -1)
        phases[rows] = statuses[entry["arm"]].phases[rows]
        commands[rows] = statuses[entry["arm"]].commands[rows]
    wanted = {f"{statuses[arm].key}.index": found for arm, found in indices.items()}
    for key, values in {**wanted, "skills.phase": phases, "skills.command_index": commands}.items():
        differing = np.flatnonzero(record.arrays[key] != values)
        if differing.size:
            frame = int(differing[0])
            yield f"'{key}' is {record.arrays[key][frame]} at frame {frame}, expected {values[frame]} by the skills."


def _settle_problems(
    skills: list[dict[str, Any]], statuses: dict[str, _Status], record: EpisodeRecord, start: int
) -> Iterator[str]:
    """Yields where the phase `settle` is not that of the frames after the last skill, and where `settle` is not."""
    settles: Array = np.zeros(record.n_actions + 1, dtype=bool)
    for status in statuses.values():
        settles |= status.phases == Phase.settle.value
    wrong = np.flatnonzero(settles != (np.arange(len(settles)) > start)) if skills else np.flatnonzero(settles)
    if wrong.size:
        frame = int(wrong[0])
        said = "is" if settles[frame] else "is not"
        yield f"'skills.phase' {said} that of settling at frame {frame}; the last skill ends at frame {start}."
    if settles.any() and record.settle is None:
        yield f"settle is None in the record, but the scene settles from frame {start} on."
    if record.settle is not None and not record.success and record.settle["frame_start"] != start:
        yield f"settle.frame_start is {record.settle['frame_start']} in the record, expected {start}."


def _code_problems(skills: list[dict[str, Any]], record: EpisodeRecord, start: int) -> Iterator[str]:
    """Yields failure codes that no skill can have had, by when the skills began and ended."""
    if record.code == "invalid_layout" and skills:
        yield "code is 'invalid_layout' in the record, but skills began."
    elif record.code in _WITHOUT_PLAN and all(entry["frame_start"] != record.n_actions for entry in skills):
        yield f"code is {record.code!r} in the record, but each skill had a plan: none began in the last frame."
    elif record.code in _OF_SKILLS and skills and record.n_actions > start:
        yield f"code is {record.code!r} in the record, but the last skill ended before the episode, at frame {start}."


def _event_problems(record: EpisodeRecord, actor: Actor) -> Iterator[str]:
    """Yields events that did not happen."""
    names = [event["event"] for event in record.events]
    possible = [[], [TAKEOVER], *([TAKEOVER, outcome] for outcome in _OUTCOMES)] if actor is Actor.both else [[]]
    if names not in possible:
        yield f"events are {names} in the record, expected {' or '.join(map(str, possible))}."
        return
    broken = [entry["frame_end"] for entry in record.skills if entry.get("code") == "taken_over"]
    for event in record.events:
        name, frame = event["event"], event["frame"]
        keys = {TAKEOVER: {"policy", "reason"}, "grasp_released": {"reason"}}.get(name, set())
        if event.keys() != {"event", "frame", *keys}:
            yield f"events: '{name}' has the keys {sorted(event)}, expected {sorted({'event', 'frame', *keys})}."
        if name != TAKEOVER and broken != [frame]:
            yield f"events: '{name}' is at frame {frame}, expected the frame_end of the skill that was taken over."
        elif name == TAKEOVER and not _is_takeover(record, frame):
            yield f"events: '{name}' is at frame {frame}, where the arrays show no takeover."


def _is_takeover(record: EpisodeRecord, frame: int) -> bool:
    """Returns whether no arm carried out a command up to a frame, and labels are the planner's after it."""
    if not 0 <= frame <= record.n_actions:
        return False
    valid = [array for key, array in record.arrays.items() if key.startswith("labels.") and key.endswith(".valid")]
    idle = record.arrays["skills.phase"][: frame + 1] == Phase.idle.value
    return bool(idle.all()) and all(bool(array[frame:].all()) for array in valid)
