"""What is left of a run whose driver or workers are killed, whose folder turns read-only, whose disk is full.

    python benchmarks/faults.py kills=50 episodes=60

`kills` times SIGKILL hits the driver or a worker at a random moment, and a killed driver is followed by the same
command; a set that is complete before the kills are spent is followed by a new one. Then a run meets a folder that
turns read-only, and one a disk without space: a small file system in memory, which only root may mount; other users
are told that it was left out. After the last rerun every set must have exactly the episodes asked for, each valid by
`unlatch check`, none twice, nothing half-written, and all equal to those of an undisturbed run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_guarded


@dataclass
class FaultsCfg:
    """What the benchmark takes."""

    kills: int = 50
    """SIGKILLs."""
    episodes: int = 60
    """Episodes of each set."""
    task: str = "close_drawer"
    seed: int = 0
    """Seed of the episodes and of the moments."""
    longest_wait_s: float = 8.0
    """A process is killed at a moment between the last kill and so much later [s]."""
    first_s: float = 1.0
    """The folder turns read-only so long after the first episode [s]."""


def main() -> int:
    """Prints what came of each fault; exit code 1 if a set is not what it must be."""
    cfg = read_pairs(FaultsCfg, sys.argv[1:])
    rng = np.random.default_rng(cfg.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = _undisturbed(cfg, folder / "undisturbed")
        problems = _kill(cfg, folder, wanted, rng)
        problems += _read_only(cfg, folder / "read_only", wanted)
        if os.getuid() == 0:
            problems += _out_of_space(cfg, folder / "full", wanted)
        else:
            print("out of space: left out, only root may mount a file system")
    for problem in problems:
        print(f"PROBLEM {problem}")
    print(f"{len(problems)} problems")
    return int(bool(problems))


def _command(cfg: FaultsCfg, out: Path) -> list[str]:
    # an episode whose worker is killed thrice is kept as `error`, as it should be; here that would be chance
    keys = [f"task={cfg.task}", f"episodes={cfg.episodes}", f"seed={cfg.seed}", "workers=2", "pictures=0"]
    return [sys.executable, "-m", "unlatch", "collect", *keys, "executor.max_retries=50", f"out={out}"]


def _start(cfg: FaultsCfg, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(_command(cfg, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _undisturbed(cfg: FaultsCfg, out: Path) -> dict[int, str]:
    """Digests of an undisturbed run."""
    subprocess.run(_command(cfg, out), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return _digests(out)


def _digests(out: Path) -> dict[int, str]:
    return {summary.number: summary.state_sha256 for summary in DataSet.open(out).summaries()}


def _kill(cfg: FaultsCfg, folder: Path, wanted: dict[int, str], rng: np.random.Generator) -> list[str]:
    left, sets, victims, problems = cfg.kills, 0, Counter[str](), []
    while left:
        out = folder / f"killed-{sets}"
        sets += 1
        while left:
            driver = _start(cfg, out)
            while left and not _ends_within(driver, float(rng.uniform(0.0, cfg.longest_wait_s))):
                victims[_kill_one(driver, rng)] += 1
                left -= 1
            if driver.returncode == 0:
                break
        driver.wait()
        subprocess.run(_command(cfg, out), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        problems += _problems(out, wanted)
    print(f"{cfg.kills} SIGKILLs ({dict(victims)}) over {sets} sets of {cfg.episodes}: {len(problems)} problems")
    return problems


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_one(driver: subprocess.Popen[bytes], rng: np.random.Generator) -> str:
    """Kills the driver or one of its workers, each with the same chance; says which."""
    with suppress(psutil.Error):
        workers = [child for child in psutil.Process(driver.pid).children() if "loky" in " ".join(child.cmdline())]
        chosen = int(rng.integers(len(workers) + 1))
        if chosen < len(workers):
            os.kill(workers[chosen].pid, signal.SIGKILL)
            return "worker"
    driver.kill()
    driver.wait()
    return "driver"


def _problems(out: Path, wanted: dict[int, str]) -> list[str]:
    """What is wrong with a set after the last rerun."""
    found = []
    digests = _digests(out)
    if digests != wanted:
        differ = sorted(
            number for number in digests.keys() | wanted.keys() if digests.get(number) != wanted.get(number)
        )
        found.append(f"{out.name}: episodes {differ[:10]} are missing, too many or not those of the undisturbed run")
    check = [sys.executable, "-m", "unlatch", "check", str(out)]
    checked = subprocess.run(check, check=False, capture_output=True, text=True)
    if checked.returncode:
        found.append(f"{out.name}: {checked.stdout.strip()[:300]}")
    leftovers = [path.name for path in (out / ".tmp").iterdir()] + [path.name for path in out.glob("damaged/*")]
    if leftovers:
        found.append(f"{out.name}: left over: {leftovers[:5]}")
    return found


@contextmanager
def _file_system(place: Path, *, size_mb: int) -> Iterator[None]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _read_only(cfg: FaultsCfg, out: Path, wanted: dict[int, str]) -> list[str]:
    # root writes into any folder, unless it gives up that privilege
    plain = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    driver = subprocess.Popen([*plain, *_command(cfg, out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (out / "episodes").exists() and driver.poll() is None:
        time.sleep(0.05)
    time.sleep(cfg.first_s)
    folders = [out, *(path for path in out.rglob("*") if path.is_dir())]
    for folder in folders:
        with suppress(FileNotFoundError):
            folder.chmod(0o555)
    driver.wait()
    there = len(DataSet.open(out))
    for folder in folders:
        with suppress(FileNotFoundError):
            folder.chmod(0o755)
    subprocess.run(_command(cfg, out), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    problems = _problems(out, wanted)
    told = f"the run ended with {driver.returncode} and {there} of {cfg.episodes} episodes"
    print(f"read-only in the middle: {told}; after the rerun {len(problems)} problems")
    return problems


def _out_of_space(cfg: FaultsCfg, place: Path, wanted: dict[int, str]) -> list[str]:
    with _file_system(place, size_mb=2):
        out = place / "set"
        driver = _start(cfg, out)
        driver.wait()
        there = len(DataSet.open(out))
        subprocess.run(["mount", "-o", "remount,size=1024m", str(place)], check=True)
        subprocess.run(_command(cfg, out), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        problems = _problems(out, wanted)
        told = f"the run ended with {driver.returncode} and {there} of {cfg.episodes} episodes"
        print(f"out of space: {told}; after the rerun {len(problems)} problems")
        return problems


if __name__ == "__main__":
    sys.exit(run_guarded(main))
