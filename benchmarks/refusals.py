"""Measures how long `unlatch plan` and `unlatch collect` take to refuse settings that have no plan.

Usage: UNLATCH_PARTNET_DIR=FOLDER python benchmarks/refusals.py [runs=2] [only=TEXT]

Every setting runs in a new process, `runs` times. Prints the CPU time and the wall time of the whole process, which
include its start, and what the refusal says. Without UNLATCH_PARTNET_DIR, the settings with real objects do not run.
Exit code 1 if a process takes more than 10 s of CPU time, if a setting is not refused, or if two runs of a setting
refuse it differently. Times in the outputs, the only thing that may differ, are not compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.errors import check_range
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, OK, print_line, run_guarded

LIMIT_S = 10.0
"""Largest CPU time of a process that refuses a setting [s]."""
_TIMINGS = "timings [ms]:"
_SETTING = "skills.0.planner_setting"
_POINT = (
    "{type: point2point_constraint, keypoint_name: tool_head, target_keypoint_name: articulated_object_head, "
    "tolerance: TOLERANCE}"
)
_AXIS = (
    "{type: frame_axis_parallel, axis_from_keypoint_name: tool_head, axis_to_keypoint_name: tool_tail, "
    "target_axis: AXIS, target_axis_frame: world, target_inner_product: 1, tolerance: TOLERANCE}"
)
_TASKS_OF_ROBOTS = {
    "franka_panda": "open_microwave",
    "xarm6": "open_drawer",
    "ur5": "close_microwave",
    "baxter": "close_drawer",
}


@dataclass
class RefusalsCfg:
    """The keys of the benchmark."""

    runs: int = 2
    """Processes of each setting."""
    only: str = ""
    """Only settings whose name contains this text."""

    def __post_init__(self) -> None:
        check_range("runs", self.runs, 1)


@dataclass(frozen=True)
class Setting:
    """A configuration that has no plan."""

    name: str
    words: tuple[str, ...]
    """Keys of the command."""
    command: str = "plan"
    """`plan` or `collect`."""
    exit_code: int = FAILED
    """Exit code of the refusal; BAD_INPUT if the configuration is refused before anything is planned."""


@dataclass(frozen=True)
class Refusal:
    """How one process refused a setting."""

    cpu_s: float
    wall_s: float
    text: str
    """What it printed without times, or code and message of the record."""
    is_refused: bool


def _points(tolerance: float) -> str:
    return _POINT.replace("TOLERANCE", str(tolerance))


def _axes(axis: Sequence[float], tolerance: float) -> str:
    return _AXIS.replace("AXIS", str(list(axis)).replace(" ", "")).replace("TOLERANCE", str(tolerance))


def _region(x_m: float, y_m: float, *, yaw_deg: float = 25.0, object_name: str = "${object.name}") -> str:
    """Returns the key of a region for an object that is named on the command line."""
    region = f"object: '{object_name}', center_m: [{x_m}, {y_m}], half_extent_m: [0.05, 0.05], yaw_deg: {yaw_deg}"
    return f"+task.regions=[{{{region}}}]"


def shipped_settings() -> list[Setting]:
    """Returns the settings that need only what Unlatch brings."""
    microwave, drawer = "task=open_microwave", "task=open_drawer"
    search = "object=microwave", "skill=open", "skills.0.candidates=1000"
    up = _axes([0, 0, 1], 0.1)
    found = [
        Setting("region: far away", (microwave, "task.regions.0.center_m=[3,0]"), exit_code=BAD_INPUT),
        Setting("region: 20 cm beyond reach", (drawer, "task.regions.0.center_m=[1.3,0]")),
        Setting("region: at the edge of reach", (microwave, "task.regions.0.center_m=[0.95,0.35]")),
        Setting("region: turned away", (microwave, "task.regions.0.center_m=[0.85,0.3]", "task.regions.0.yaw_deg=180")),
        Setting("region: too high", (drawer, "task.regions.0.height_m=[1.4,1.5]")),
        Setting("region: behind the robot", (microwave, "task.regions.0.center_m=[-0.65,0]")),
        Setting("region: inside the robot", (microwave, "task.regions.0.center_m=[0.1,0]")),
        Setting("region: the edge, variety=1", (microwave, "task.regions.0.center_m=[0.95,0.35]", "variety=1")),
        Setting(
            "constraints: hand up and down",
            (microwave, f"{_SETTING}.constraint_list=[{_points(0.002)},{up},{_axes([0, 0, -1], 0.1)}]"),
            exit_code=BAD_INPUT,
        ),
        Setting(
            "constraints: hand comes from within the object",
            (microwave, f"{_SETTING}.constraint_list=[{_points(0.002)},{_axes([1, 0, 0], 0.05)}]"),
        ),
        Setting(
            "constraints: hand comes from below",
            (drawer, f"{_SETTING}.constraint_list=[{_points(0.002)},{_axes([0, 0, -1], 0.02)}]"),
        ),
        Setting(
            "constraints: six axes",
            (
                drawer,
                f"{_SETTING}.constraint_list=[{_points(0.002)},"
                + ",".join(
                    _axes(axis, 0.5) for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1])
                )
                + "]",
            ),
            exit_code=BAD_INPUT,
        ),
        Setting(
            "tolerances: below the least one",
            (microwave, f"{_SETTING}.constraint_list.0.tolerance=1e-15"),
            exit_code=BAD_INPUT,
        ),
        Setting(
            "tolerances: 1e-9 at the edge of reach",
            (
                microwave,
                "task.regions.0.center_m=[0.85,0.3]",
                "task.regions.0.yaw_deg=80",
                *(f"{_SETTING}.constraint_list.{index}.tolerance=1e-9" for index in range(3)),
            ),
        ),
        Setting(
            "joint target: 100 % at the edge of reach",
            (
                microwave,
                "task.regions.0.center_m=[0.8,0.3]",
                f"{_SETTING}.post_actuation_motions={{follow_joint: {{to: '100%', step: 0.005}}}}",
                "task.regions.0.yaw_deg=80",
            ),
        ),
        Setting(
            "joint target: step of 1 mrad",
            (
                microwave,
                "task.regions.0.center_m=[0.8,0.3]",
                "task.regions.0.yaw_deg=80",
                f"{_SETTING}.post_actuation_motions={{follow_joint: {{to: '100%', step: 0.001}}}}",
            ),
        ),
        Setting(
            "motions: 2 m backward",
            (drawer, f"{_SETTING}.post_actuation_motions=[[move-backward, 2.0]]"),
        ),
        Setting(
            "motions: 40 entries beyond reach",
            (
                drawer,
                f"{_SETTING}.post_actuation_motions=["
                + ",".join("[move-up,0.05],[move-backward,0.05]" for _ in range(20))
                + "]",
            ),
        ),
        Setting("motions: pre-grasp 1.5 m away", (microwave, f"{_SETTING}.pre_actuation_motions=[[translate_z,-1.5]]")),
        Setting(
            "noise: 0.5 m, 1000 draws",
            (
                microwave,
                f"{_SETTING}.keypose_random_range={{position: "
                "{x_min: 0.5, x_max: 0.6, y_min: 0.5, y_max: 0.6, z_min: 0.5, z_max: 0.6}}",
                "planner.noise_draws=1000",
            ),
        ),
        Setting(
            "noise: the hand turns by 80 to 90 degrees",
            (
                microwave,
                "task.regions.0.center_m=[0.9,0.3]",
                f"{_SETTING}.keypose_random_range={{orientation: {{x_min: 80.0, x_max: 90.0}}}}",
            ),
        ),
        Setting("artpreplan: 1000 layouts far away", (*search, _region(3.0, 0.0)), exit_code=BAD_INPUT),
        Setting("artpreplan: 1000 layouts at the edge", (*search, _region(1.0, 0.4))),
        Setting("artpreplan: 1000 layouts inside the robot", (*search, _region(0.0, 0.0))),
        Setting("artpreplan: 1000 layouts at the edge, collect", (*search, _region(1.0, 0.4)), command="collect"),
        Setting(
            "two arms: pot far away", ("task=open_pot_held", "task.regions.0.center_m=[1.5,0]"), exit_code=BAD_INPUT
        ),
        Setting(
            "two arms: pot at the edge, 1000 layouts",
            ("task=open_pot_held", "task.regions.0.center_m=[0.9,0.4]", "skills.0.candidates=1000"),
        ),
        Setting(
            "two arms: carton at the edge, 1000 layouts",
            ("task=close_carton_both", "task.regions.0.center_m=[0.85,0.35]", "skills.0.candidates=1000"),
        ),
        Setting("pick: can far away", ("task=place_can", "task.regions.0.center_m=[1.6,0.3]")),
        Setting("pick: can at the edge", ("task=place_can", "task.regions.0.center_m=[0.95,0.1]")),
        Setting("place: spot far away, collect", ("task=place_can", "skills.1.center_m=[1.6,-0.3]"), command="collect"),
        Setting(
            "place: cabinet far away, 1000 layouts",
            ("task=put_in_cabinet", "skills.0.candidates=1000", "task.regions.0.center_m=[1.3,0.2]"),
        ),
        Setting(
            "place: cabinet far away, collect",
            ("task=put_in_cabinet", "skills.0.candidates=1000", "task.regions.0.center_m=[1.1,0.3]"),
            command="collect",
        ),
        Setting(
            "pick: side, 1000 layouts at the edge",
            (
                "task=put_in_cabinet",
                "skills.0.candidates=1000",
                "task.regions.1.center_m=[1.0,-0.6]",
            ),
        ),
    ]
    for robot, task in _TASKS_OF_ROBOTS.items():
        found += [
            Setting(
                f"{robot}: {task} far away",
                (f"task={task}", f"robot={robot}", "task.regions.0.center_m=[1.9,0]"),
                exit_code=BAD_INPUT
                if robot == "xarm6"
                else FAILED,  # the others reach the edge of a microwave or drawer
            ),
            Setting(
                f"{robot}: {task} turned away",
                (f"task={task}", f"robot={robot}", "task.regions.0.yaw_deg=180", "task.regions.0.center_m=[0.95,0.4]"),
            ),
            Setting(
                f"{robot}: 1000 layouts at the edge, collect",
                ("object=microwave", "skill=open", f"robot={robot}", "skills.0.candidates=1000", _region(1.15, 0.4)),
                command="collect",
            ),
        ]
    return found


def real_settings(root: Path) -> list[Setting]:
    """Returns the settings with one real object of each category."""
    skills = {"microwave": "open", "refrigerator": "open", "oven": "open", "drawer": "open", "faucet": "rotate"}
    skills |= {"safe_rotate": "open", "laptop_rotate": "close", "door": "open", "box_rotate": "close"}
    found = []
    for category, skill in skills.items():
        paths = sorted((root / category).glob("*/mobility.urdf"))
        for path in paths[:1]:
            words = (f"object={path.parent}", f"skill={skill}", "skills.0.candidates=1000", _region(1.05, 0.45))
            found.append(Setting(f"real {category}: 1000 layouts at the edge", words))
    return found


def refuse(setting: Setting, folder: Path) -> Refusal:
    """Runs the command of a setting in a new process."""
    words = [sys.executable, "-m", "unlatch", setting.command, *setting.words]
    if setting.command == "collect":
        words += ["episodes=1", "pictures=0", "executor=serial", f"out={folder / 'set'}"]
    began = time.perf_counter()
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    lines = (folder / "output").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith(_TIMINGS))
    is_refused = process.returncode == setting.exit_code
    if setting.command == "collect" and (folder / "set").exists():
        record = DataSet.open(folder / "set").read(0)
        text = f"{record.code}: {record.evidence.get('message', '')}"
        is_refused = record.code in ("invalid_layout", "plan_infeasible", "path_infeasible", "motion_blocked")
    return Refusal(usage.ru_utime + usage.ru_stime, wall_s, text, is_refused)


def _reason(text: str) -> str:
    """Returns what a refusal says in one line."""
    return " ".join(text.partition("no plan")[2].split()) or " ".join(text.split())


def main() -> int:
    """Prints the refusals; exit code 1 if one of them is slow, missing or not repeated."""
    cfg = read_pairs(RefusalsCfg, sys.argv[1:])
    root = os.environ.get("UNLATCH_PARTNET_DIR")
    settings = shipped_settings() + ([] if root is None else real_settings(Path(root)))
    if root is None:
        print_line("UNLATCH_PARTNET_DIR is not set: the settings with real objects do not run.")
    worst_cpu_s, worst_wall_s, failed = 0.0, 0.0, 0
    for setting in (each for each in settings if cfg.only in each.name):
        runs = []
        for _ in range(cfg.runs):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(refuse(setting, Path(folder)))
        cpu_s, wall_s = max(run.cpu_s for run in runs), max(run.wall_s for run in runs)
        is_refused, is_same = all(run.is_refused for run in runs), len({run.text for run in runs}) == 1
        worst_cpu_s, worst_wall_s = max(worst_cpu_s, cpu_s), max(worst_wall_s, wall_s)
        failed += cpu_s > LIMIT_S or not is_refused or not is_same
        answers = ["yes" if holds else "NO" for holds in (is_refused, is_same)]
        print_line(f"{setting.name}: {cpu_s:.1f} s CPU, {wall_s:.1f} s, refused {answers[0]}, same {answers[1]}")
        print_line(f"    {_reason(runs[0].text)}")
    print_line(f"slowest: {worst_cpu_s:.1f} s CPU, {worst_wall_s:.1f} s; {failed} settings failed")
    return FAILED if failed else OK


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
