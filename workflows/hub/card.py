"""Writes the page of a data set on the Hub: `README.md` and a clip, beside the exported files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from unlatch.objects.config import ObjectSource
from unlatch.simcore.errors import count_noun
from unlatch.simcore.recording.export.lerobot.episode_rows import SOURCE
from unlatch.simcore.recording.export.lerobot.exporter import describe_set
from unlatch.simcore.recording.export.lerobot.meta_files import CARD_FILE, CONVENTIONS_FILE, read_json, write_json
from unlatch.simcore.recording.export.lerobot.reader import LeRobotSet
from unlatch.simcore.recording.export.source import ExportSource
from unlatch.workflows.hub.config import HubCfg
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.statistics import share_text
from unlatch.workflows.viewing.clips.clip import ClipCfg, write_clip
from unlatch.workflows.viewing.report.reproduction import collect_command

CLIP = "clip.webp"
CLIP_LOOK = ClipCfg(width=320, height=240, fps=10, speed=3.0)
_ORIGINS = "data_sets"
"""Key of `meta/unlatch.json` with facts about each data set that the episodes come from, by its digest."""
_MOST_LINES = 20
"""Most instructions or objects that the page lists."""

_CARD = """---
{header}---

# {title}

{clip}Demonstrations in simulation, made and verified by Unlatch {version}. It plans each motion, executes it in a
physics engine (PyBullet), and judges every episode by rules on its recorded states.

| episodes | frames | frames per second | duration | robot | format |
|---|---|---|---|---|---|
| {total_episodes:,} | {total_frames:,} | {fps} | {minutes:.1f} min | `{robot_type}` | LeRobot {codebase_version} |

```python
from lerobot.datasets import LeRobotDataset

data = LeRobotDataset("{name}")
```

## Tasks

{tasks}

Objects: {objects}.

## Success

{figures}

All attempts count, also those that were not exported. {failures}

## How it was made

{commands}

{description}"""


def write_clip_of(folder: Path, source: ExportSource) -> None:
    """Writes the clip of the first exported episode, unless there is one.

    Raises:
        UnlatchError: It cannot be drawn, such as when its objects have changed.
    """
    if not (folder / CLIP).is_file():
        record = source.data_set.read(source.numbers[0])
        write_clip(config_of(source.data_set), record, CLIP_LOOK, str(folder / CLIP))


def write_card(folder: Path, cfg: HubCfg, source: ExportSource) -> None:
    """Writes `README.md` of a LeRobot set for the Hub, and facts about the data set into `meta/unlatch.json`.

    Args:
        folder: The set, which may have episodes of other data sets too.
        cfg: Name and licence.
        source: The data set that was exported last.

    Raises:
        RecordingError: The set is damaged, or cannot be written.
    """
    exported = LeRobotSet.open(folder)
    ours = read_json(folder / CONVENTIONS_FILE)
    ours[_ORIGINS] = {**ours.get(_ORIGINS, {}), source.identity: _describe_origin(source)}
    write_json(folder / CONVENTIONS_FILE, ours)
    origins: dict[str, Any] = ours[_ORIGINS]
    counts = Counter(str(row.get(SOURCE)) for row in exported.episodes)
    license = cfg.license or ("apache-2.0" if _are_generated(origins, counts) else "unknown")
    robot = exported.info["robot_type"]
    header = {
        "license": license,
        "task_categories": ["robotics"],
        "tags": ["LeRobot", "unlatch", "articulated-objects", "simulation", robot],
        "configs": [{"config_name": "default", "data_files": "data/*/*.parquet"}],  # as LeRobot has it
    }
    tasks = sorted({origins[key]["task"] for key in counts if key in origins and origins[key]["task"]})
    instructions = Counter(str(task) for row in exported.episodes for task in row["tasks"])
    categories = Counter(_category(text) for row in exported.episodes for text in row["object"])
    failed = sum(not row.get("success", True) for row in exported.episodes)
    card = _CARD.format(
        **{**exported.info, "version": ours["version"]},
        name=cfg.push,
        header=yaml.safe_dump(header, sort_keys=False),
        title=f"{', '.join(tasks) or 'Demonstrations'}, {robot}",
        clip=f"![A recorded episode, {CLIP_LOOK.speed:g} times as fast]({CLIP})\n\n"
        if (folder / CLIP).is_file()
        else "",
        minutes=exported.info["total_frames"] / exported.fps / 60.0,
        tasks=_list_counts(instructions, "- {name} ({count})"),
        objects=", ".join(f"{count_noun(count, 'episode')} with `{name}`" for name, count in categories.most_common()),
        figures=_list_figures(origins, counts),
        failures=f"{failed} of the episodes here are failures." if failed else "All episodes here are successes.",
        commands=_list_commands(origins, counts),
        description=describe_set(exported.info, ours),
    )
    (folder / CARD_FILE).write_text(card, encoding="utf-8")


def _describe_origin(source: ExportSource) -> dict[str, Any]:
    """Returns facts about a data set that its export does not keep."""
    summaries = source.data_set.summaries()
    objects = [source.config["object"], *source.config.get("objects", [])]
    return {
        "task": source.task,
        "attempts": len(summaries),
        "successes": sum(summary.success for summary in summaries),
        "generated_objects": all(item.get("source") == ObjectSource.procedural.value for item in objects),
        "command": collect_command(source.data_set, f"episodes={len(summaries)}"),
    }


def _are_generated(origins: Mapping[str, Any], counts: Mapping[str, int]) -> bool:
    """Whether Unlatch generated all objects of all episodes."""
    return all(key in origins and origins[key]["generated_objects"] for key in counts)


def _category(text: str) -> str:
    """Returns `microwave` of `oven=microwave:7`."""
    return text.partition("=")[2].rpartition(":")[0] or text


def _list_counts(counts: Counter[str], line: str) -> str:
    """Returns a Markdown list of the most frequent entries."""
    lines = [line.format(name=name, count=count_noun(count, "episode")) for name, count in counts.most_common()]
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"- and {more:,} more"] if more > 0 else [])])


def _list_figures(origins: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """Returns the success rate of each data set that the episodes come from, as a Markdown list."""
    lines = []
    for key, count in counts.items():
        known = origins.get(key)
        figure = share_text(known["successes"], known["attempts"]) if known else "not known"
        task = f"`{known['task']}`" if known and known["task"] else f"data set `{key}`"
        lines.append(f"- {task}, {count_noun(count, 'episode')} here; attempts that succeed: {figure}")
    return "\n".join(lines)


def _list_commands(origins: Mapping[str, Any], counts: Mapping[str, int]) -> str:
    """Returns the commands that made the data sets, as one block of code."""
    commands = [origins[key]["command"] for key in counts if key in origins and origins[key]["command"]]
    if not commands:
        return "A Python program made it with `unlatch.collect`."
    return "\n".join(["```sh", *dict.fromkeys(commands), "```"])
