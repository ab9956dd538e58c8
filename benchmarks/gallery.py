"""Writes docs/gallery.md: every shipped task with a clip, an instruction and its success rate.

Usage: python benchmarks/gallery.py [clips=true] [only=TEXT] [data=data/gallery] [check=true]

Without `clips`, it writes the page from the tasks, the counts in benchmarks/results.json, and benchmarks/gallery.json,
which says what each clip shows. `clips=true` first collects the episodes and writes the clips and that file; this takes
seven minutes of CPU time. A clip shows episode 0 of one seed, or the first success after it. `only=TEXT` takes the
tasks whose name contains a text. `check=true` writes nothing and ends with exit code 1 if the page differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fingerprint import age_of
from results_page import ROBOTS, Row, describe, read_rows
from success_runs import Result, Seed

from unlatch.configs.group_files import own_option_names
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded
from unlatch.workflows.commands.information import list_tasks
from unlatch.workflows.runs.recorded_config import config_of_record
from unlatch.workflows.runs.statistics import wilson_interval
from unlatch.workflows.viewing.clip import clip
from unlatch.workflows.viewing.phase_moments import last_finite_frame

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from moving_picture import THINGS

ROOT = Path(__file__).parents[1]
ROOMS = {
    "workshop": {
        *("pull_door_with_lever", "push_door_with_lever", "press_door_lever", "toolbox_clasps"),
        *(
            "turn_hand_wheel",
            "trash_into_can",
            "trash_into_pedal_bin",
            "push_latch_cupboard",
            "book_into_box",
            "open_drawers",
        ),
        *("open_drawer", "close_drawer", "switch_breaker_off", "open_light_box"),
    },
    "office": {
        *("second_drawer_of_filing_cabinet", "turn_safe_dial", "open_safe_by_dial", "close_carton_both", "open_box"),
        *("swap_between_drawers", "open_cabinet_drawer", "tidy_drawer", "open_close_drawer", "take_from_drawer"),
        *("flip_light_switch", "open_room_door", "open_wardrobe_drawer"),
    },
}
"""The room of a clip, by task; the others are in the kitchen."""
PAGE = ROOT / "docs" / "gallery.md"
CLIPS = ROOT / "docs" / "images" / "gallery"
SHOWN = Path(__file__).with_name("gallery.json")
"""What each clip shows: robot, episode, instruction, speed and outcome."""
SEED, ATTEMPTS = 1, 10
WIDTH_PX, HEIGHT_PX, FPS, LENGTH_S = 208, 168, 8, 3.0
Rates = dict[tuple[str, str], Result]
"""Counts by task and robot."""
_FAILED = 1
_HEAD = """\
# Gallery

The {count} tasks that come with Unlatch, each with a clip, an instruction and its success rate.
`unlatch collect task=NAME` runs one. [Tasks](tasks.md) says how to write one, and [skills](skills.md) what moves the
parts.

Each clip shows the first success among the episodes 0 to {last} of seed {seed}, at {slowest:g} to
{fastest:g} times its speed.
{exceptions}

The success rate is that of the robot in the clip, over all layouts, with its 95 % interval; `not measured`: there is
no count in `benchmarks/results.json`. [All robots](#success-of-all-robots) are below.

`python benchmarks/gallery.py` writes this page.
"""
_TABLE_HEAD = """\
## Success of all robots

Successes of all episodes of the fresh seed, which nobody had used before; `-`: not measured. Three episodes say
little: the 95 % interval of 3/3 is {three}. [Success rates](results.md) has the commands.
"""


@dataclass
class GalleryCfg:
    """The keys of this command."""

    clips: bool = False
    """Whether to collect the episodes and to write the clips first."""
    only: str = ""
    """Only clips of tasks whose name contains this text."""
    data: str = "data/gallery"
    """Folder of the data sets."""
    check: bool = False
    """Whether to say only if the page differs."""


def make_clips(names: Iterable[str], data: Path) -> None:
    """Collects an episode of each task, writes its clip, and adds what it shows to the file."""
    shown = json.loads(SHOWN.read_text(encoding="utf-8")) if SHOWN.exists() else {}
    CLIPS.mkdir(parents=True, exist_ok=True)
    for name in names:
        found = collect_success(name, data / name)
        numbers = sorted(found.numbers())
        record = found.read(next((number for number in numbers if found.read(number).success), 0))
        room = next((room for room, tasks in ROOMS.items() if name in tasks), "kitchen")
        shown[name] = write_clip(record, CLIPS / f"{name}.webp", room)
        SHOWN.write_text(json.dumps(shown, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print_line(f"{name}: {shown[name]}")


def collect_success(name: str, data: Path) -> DataSet:
    """Returns a data set with the episodes of a task up to the first success, or with all `ATTEMPTS`."""
    options = ["successes=1", f"attempts={ATTEMPTS}", f"seed={SEED}", "pictures=0", "workers=1", *THINGS]
    command = [sys.executable, "-m", "unlatch", "collect", f"task={name}", *options, f"out={data}"]
    subprocess.run(command, check=False)  # exit code 1: no success
    return DataSet.open(data)


def write_clip(record: EpisodeRecord, path: Path, room: str) -> dict[str, Any]:
    """Writes the clip of an episode in a room; returns what it shows."""
    times = record.arrays["time"]
    speed = max(1.0, round(float(times[last_finite_frame(record)] - times[0]) / LENGTH_S, 1))
    size = {"width": WIDTH_PX, "height": HEIGHT_PX, "fps": FPS}
    clip(record, path, camera="close", scenery=room, speed=speed, **size)
    return {
        "robot": config_of_record(record).robot.name,
        "episode": record.number,
        "instruction": record.language[0],
        "speed": speed,
        "success": record.success,
    }


def own_tasks() -> list[tuple[str, str]]:
    """Returns name and summary of each task that comes with Unlatch, without those of installed plugins."""
    own = own_option_names("task")
    return [(name, summary) for name, summary in list_tasks() if name in own]


def make_page() -> str:
    """Returns the page.

    Raises:
        ConfigError: A task has no clip.
    """
    shown, tasks, rates = json.loads(SHOWN.read_text(encoding="utf-8")), own_tasks(), read_rates()
    for name, _ in tasks:
        if name not in shown or not (CLIPS / f"{name}.webp").is_file():
            raise ConfigError(f"Task '{name}' has no clip. Run: python benchmarks/gallery.py clips=true only={name}")
    cards = [card_of(name, summary, shown[name], rates) for name, summary in tasks]
    speeds = [shown[name]["speed"] for name, _ in tasks]
    head = _HEAD.format(
        count=len(tasks),
        seed=SEED,
        last=ATTEMPTS - 1,
        slowest=min(speeds),
        fastest=max(speeds),
        exceptions=describe_exceptions(shown, tasks),
    )
    lines = [head, '<div class="grid cards gallery" markdown>', "", *cards, "</div>", "", *table_of_rates(tasks, rates)]
    return "\n".join(lines) + "\n"


def read_rates() -> Rates:
    """Returns the counts of each task and robot on the fresh seed."""
    rows = [row for (kind, _), found in read_rows(Seed.fresh).items() if kind == "tasks" for row in found]
    return {(result.job.name, result.job.robot): result for row in rows for result in row.results}


def card_of(name: str, summary: str, shown: dict[str, Any], rates: Rates) -> str:
    """Returns the entry of a task in the list: clip, summary, instruction, success rate and command."""
    robot = shown["robot"]
    measured = rates.get((name, robot))
    rate = describe(Row(name, (measured,))) if measured else "not measured"
    lines = [
        f"-   ![{name}](images/gallery/{name}.webp)",
        f"**{name}**: {summary}",
        f"“{shown['instruction']}”",
        f"{ROBOTS[robot]}: {rate}",
    ]
    return "\n\n    ".join(lines) + "\n"


def describe_exceptions(shown: dict[str, dict[str, Any]], tasks: list[tuple[str, str]]) -> str:
    """Returns which clips do not show episode 0, and which show a failure."""
    later = [f"`{name}` ({shown[name]['episode']})" for name, _ in tasks if shown[name]["episode"]]
    failed = [f"`{name}`" for name, _ in tasks if not shown[name]["success"]]
    parts = [f"Episode 0 was a failure, so a later one is shown, for {', '.join(later)}." if later else ""]
    parts += [f"No episode succeeded for {', '.join(failed)}: episode 0 is shown, with a red border." if failed else ""]
    return " ".join(part for part in parts if part) or "All clips show episode 0."


def table_of_rates(tasks: list[tuple[str, str]], rates: Rates) -> list[str]:
    """Returns the table of the success rates of every task and robot."""
    robots = [robot for robot in ROBOTS if any(of == robot for _, of in rates)]
    low, high = wilson_interval(3, 3)
    lines = [
        _TABLE_HEAD.format(three=f"{100 * low:.0f} to {100 * high:.0f} %"),
        f"| task | {' | '.join(ROBOTS[robot] for robot in robots)} |",
        "|---" * (len(robots) + 1) + "|",
    ]
    ages = [age_of(result.made_with for (_, of), result in rates.items() if of == robot) for robot in robots]
    lines.append(f"| [physics](results.md#physics) | {' | '.join(ages)} |")
    for name, _ in tasks:
        cells = [count_of(rates.get((name, robot))) for robot in robots]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def count_of(result: Result | None) -> str:
    """Returns `39/40`; `-` for a task that is not measured."""
    return f"{len(result.succeeded)}/{result.n}" if result and result.n else "-"


def main(arguments: list[str]) -> int:
    """Writes the page, or says whether it differs."""
    cfg = read_pairs(GalleryCfg, arguments)
    if cfg.clips:
        names = [name for name, _ in own_tasks() if cfg.only in name]
        if not names:
            raise ConfigError(f"No task has '{cfg.only}' in its name. `unlatch list tasks` lists them.", key="only")
        make_clips(names, Path(cfg.data))
    text = make_page()
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return OK
    if not cfg.check:
        PAGE.write_text(text, encoding="utf-8")
    print_line(f"{PAGE.relative_to(ROOT)} {'differs from tasks and counts' if cfg.check else 'written'}")
    return _FAILED if cfg.check else OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
