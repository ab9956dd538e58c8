"""Makes rows of the leaderboard: collects demonstrations, trains, and takes the exam.

Usage: python benchmarks/exam_rows.py [ROW...] [exam=full] [demos=300] [steps=20000] [out=data/exam_rows] [cores=2]
       [minutes=600] [torch=PYTHON] [keep=false]

A row is `cloning` (behaviour cloning from states), `nearest` (the nearest neighbour), `planner`, `never_looks` or
`random`; by default the first four. Both that learn are one policy for all tasks. They learn from `demos` attempted
episodes of each task of the tier `seen`, with its objects, seed 11 and the numbers of the state: so the tiers
`unseen` and `new_kinds` ask about objects, and kinds of objects, that they never saw. No episode of the exam has that
seed.

The same command again continues. Needs the extra `gym`; no network.

  minutes  stops after so many, to be continued by the same command
  torch    a Python with torch and SciPy, for the training alone; it needs no Unlatch. By default this one
  keep     whether finished results go to `benchmarks/exam/`, and the leaderboard is written
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from exam import PAGE_FILE, RESULTS, page

import unlatch
from unlatch.simcore.errors import unknown_name
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import print_line, run_guarded
from unlatch.workflows.policies.exam import RESULT, Cell, ExamCfg, list_cells

LEARN = Path(__file__).parents[1] / "examples" / "learn"
UNLATCH = (sys.executable, "-m", "unlatch")
COLUMNS = "observation.state=[joint_position,gripper,hand_keypoints,openness,skill,geometry]"
OBSERVED = (
    "observation.columns=true", "observation.keys=[]", "observation.objects=false", "observation.keypoints=false",
    COLUMNS,
)  # fmt: skip
POLICY = "policy:ChunkPolicy"
SEED = 11
PART = 10
"""Episodes that one process collects."""
NAMES = {
    "cloning": "behaviour cloning from states",
    "nearest": "nearest neighbour",
    "planner": "planner",
    "never_looks": "never_looks",
    "random": "random",
}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


@dataclass
class Cfg:
    """Options of this program."""

    exam: str = "full"
    demos: int = 300
    steps: int = 20000
    out: str = "data/exam_rows"
    cores: int = os.cpu_count() or 1
    minutes: float = 600.0
    torch: str = sys.executable
    keep: bool = False


class Runner:
    """Runs commands until a time; what they print goes to files."""

    def __init__(self, folder: Path, minutes: float) -> None:
        self.folder = folder
        self._end_s = time.monotonic() + 60.0 * minutes

    def run(self, name: str, command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> float:
        """Runs a command; returns its wall time [s].

        Raises:
            RuntimeError: It failed.
            TimeoutError: The time is over; the command has been stopped.
        """
        log, start = self.folder / "logs" / f"{name}.log", time.monotonic()
        if start > self._end_s:
            raise TimeoutError
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            environment = {**os.environ, **_ONE_THREAD, **(variables or {})}
            process = subprocess.Popen(
                [*map(str, command)], cwd=LEARN, env=environment, stdout=file, stderr=file, start_new_session=True
            )
            try:
                code = process.wait(max(self._end_s - start, 0.0))
            except subprocess.TimeoutExpired as exc:
                os.killpg(process.pid, signal.SIGINT)
                try:
                    process.wait(20.0)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                raise TimeoutError from exc
        if code:
            raise RuntimeError(f"{name} ended with exit code {code}. Look at {log}.")
        return time.monotonic() - start


def learned_cells() -> list[Cell]:
    """Returns the cells of the tasks from which policies learn."""
    return [cell for cell in list_cells(ExamCfg(tier="seen")) if not cell.level]


def without(cell: Cell, *names: str) -> list[str]:
    """Returns the keys of a cell without some of them."""
    return [key for key in cell.keys if key.partition("=")[0] not in names]


def make_arrays(runner: Runner, demos: int, cores: int) -> list[Path]:
    """Collects what is missing of the demonstrations; returns the files with the numbers of those that succeeded."""

    def make(cell: Cell, first: int) -> Path | None:
        end = min(first + PART, demos)
        name = f"{cell.task}-{first}" if end == first + PART else f"{cell.task}-{first}-{end}"
        made, data = runner.folder / "arrays" / f"{name}.npz", runner.folder / "demos" / name
        if not made.exists():
            numbers = ",".join(map(str, range(first, end)))
            own = ["variety=0", "disturb=light", "pictures=0", "executor=serial", "give_up_after=null"]
            keys = [*without(cell, "seed", "episodes"), f"seed={SEED}", f"only=[{numbers}]", *own]
            runner.run(name, [*UNLATCH, "collect", *keys, f"out={data}"])
            if not any(item.success for item in unlatch.open_dataset(data).summaries()):
                return None
            made.parent.mkdir(parents=True, exist_ok=True)
            draft = made.with_suffix(".draft.npz")
            command = [sys.executable, LEARN / "states.py", data, f"out={draft}", COLUMNS.removeprefix("observation.")]
            runner.run(name, command)
            draft.replace(made)
        return made

    parts = [(cell, first) for cell in reversed(learned_cells()) for first in range(0, demos, PART)]  # slow ones first
    with ThreadPoolExecutor(cores) as pool:
        return sorted(path for path in pool.map(lambda part: make(*part), parts) if path is not None)


def train(runner: Runner, arrays: Sequence[Path], name: str, python: str, options: Sequence[str]) -> Path:
    """Returns the file of a network; trains it if it is missing."""
    made = runner.folder / f"{name}.npz"
    if not made.exists():
        draft = made.with_suffix(".draft.npz")
        variables = {"OMP_NUM_THREADS": str(os.cpu_count())}
        if python != sys.executable:  # packages of this Python do not fit another one
            variables |= {"PYTHONPATH": ""}
        runner.run(name, [python, LEARN / "train.py", *arrays, f"out={draft}", *options], variables)
        draft.replace(made)
    return made


def join(runner: Runner, arrays: Sequence[Path], name: str) -> Path:
    """Returns one file with all numbers: the policy of the nearest neighbour."""
    made = runner.folder / f"{name}.npz"
    if not made.exists():
        sys.path.insert(0, str(LEARN))
        import numpy as np
        from states import read_arrays

        draft = made.with_suffix(".draft.npz")
        np.savez(draft, **read_arrays([*arrays]))
        draft.replace(made)
    return made


def _learn(runner: Runner, row: str, cfg: Cfg) -> Path:
    arrays = make_arrays(runner, cfg.demos, cfg.cores)
    if row == "nearest":
        return join(runner, arrays, f"nearest-{cfg.demos}")
    return train(
        runner, arrays, f"cloning-{cfg.demos}-{cfg.steps}", cfg.torch, ("width=512", "batch=2048", f"steps={cfg.steps}")
    )


def take(runner: Runner, row: str, cfg: Cfg) -> Path:
    """Takes the exam; returns its result."""
    learned = _learn(runner, row, cfg) if row in ("cloning", "nearest") else None
    variables = {"UNLATCH_POLICY": str(learned), "CUDA_VISIBLE_DEVICES": ""} if learned else {}
    out = runner.folder / f"{learned.stem if learned else row}-{cfg.exam}"
    policy = [f"policy={POLICY}", *OBSERVED] if learned else [f"policy={row}"]
    keys = [*policy, f"exam={cfg.exam}", f"name={NAMES[row]}", f"workers={cfg.cores}", f"out={out}"]
    wall_s = runner.run(out.name, [*UNLATCH, "exam", *keys], variables)
    found = json.loads((out / RESULT).read_bytes())["plain"]
    print_line(f"{row}: goal {found['goal']}, clean {found['clean']} of {found['n']}, in {wall_s:.0f} s")
    return out / RESULT


def main(words: Sequence[str]) -> int:
    """Makes the rows."""
    rows = [word for word in words if "=" not in word] or ["cloning", "nearest", "planner", "never_looks"]
    for row in rows:
        if row not in NAMES:
            raise unknown_name(row, "a row", where="row", known=list(NAMES))
    cfg = read_pairs(Cfg, [word for word in words if "=" in word])
    runner = Runner(Path(cfg.out).absolute(), cfg.minutes)
    for row in rows:
        try:
            found = take(runner, row, cfg)
        except TimeoutError:
            print_line(f"{row}: not finished in {cfg.minutes:g} minutes. Run the same command again to continue.")
            return 1
        if cfg.keep:
            shutil.copy(found, RESULTS / f"{row}.json")
            PAGE_FILE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
