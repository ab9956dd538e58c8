"""Tests data sets after faults: killed drivers and workers, a folder that becomes read-only, and a full disk.

    python benchmarks/faults.py kills=50 episodes=60

Sends SIGKILL `kills` times to the driver or a worker, at random moments. After a killed driver, the same command runs
again. If a set is complete before the last kill, a new set begins. In a second run, the folder becomes read-only. In a
third run, the disk is full: this uses a small file system in memory, which only root can mount. For other users, the
benchmark skips it and says so. After the last run, every set must have exactly the requested episodes. Each must pass
`unlatch check`, exist once, be completely written, and equal that of an undisturbed run.
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

from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded


@dataclass
class FaultsCfg:
    """The keys of the benchmark."""

    kills: int = 50
    """Number of SIGKILLs."""
    episodes: int = 60
    """Number of episodes of each set."""
    task: str = "close_drawer"
    seed: int = 0
    """Seed of the episodes and of the moments of the kills."""
    longest_wait_s: float = 8.0
    """Longest time between two kills [s]."""
    first_s: float = 1.0
    """Time from the first episode until the folder becomes read-only [s]."""


def main() -> int:
    """Prints the result of each fault; exit code 1 if a set has a problem."""
    cfg = read_pairs(FaultsCfg, sys.argv[1:])
    rng = np.random.default_rng(cfg.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = _run_undisturbed(cfg, folder / "undisturbed")
        problems = _test_kills(cfg, folder, wanted, rng)
        problems += _test_read_only(cfg, folder / "read_only", wanted)
        if os.getuid() == 0:
            problems += _test_full_disk(cfg, folder / "full", wanted)
        else:
            print("disk full: skipped, because only root can mount a file system")
    for problem in problems:
        print(f"PROBLEM {problem}")
    print(f"{len(problems)} problems")
    return int(bool(problems))


def _collect_command(cfg: FaultsCfg, out: Path) -> list[str]:
    # an episode whose worker is killed three times is stored as `error`; that is correct, but would be chance here
    keys = [f"task={cfg.task}", f"episodes={cfg.episodes}", f"seed={cfg.seed}", "workers=2", "pictures=0"]
    return [sys.executable, "-m", "unlatch", "collect", *keys, "executor.max_retries=50", f"out={out}"]


def _start_run(cfg: FaultsCfg, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(_collect_command(cfg, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _run_undisturbed(cfg: FaultsCfg, out: Path) -> dict[int, str]:
    """Returns the digests of the episodes of an undisturbed run."""
    subprocess.run(_collect_command(cfg, out), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return _read_digests(out)


def _read_digests(out: Path) -> dict[int, str]:
    return {summary.number: summary.state_sha256 for summary in DataSet.open(out).summaries()}


def _test_kills(cfg: FaultsCfg, folder: Path, wanted: dict[int, str], rng: np.random.Generator) -> list[str]:
    left, sets, victims, problems = cfg.kills, 0, Counter[str](), []
    while left:
        out = folder / f"killed-{sets}"
        sets += 1
        while left:
            driver = _start_run(cfg, out)
            while left and not _ends_within(driver, float(rng.uniform(0.0, cfg.longest_wait_s))):
                victims[_kill_one(driver, rng)] += 1
                left -= 1
            if driver.returncode == 0:
                break
        driver.wait()
        subprocess.run(_collect_command(cfg, out), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        problems += _find_problems(out, wanted)
    print(f"{cfg.kills} SIGKILLs ({dict(victims)}) over {sets} sets of {cfg.episodes}: {len(problems)} problems")
    return problems


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_one(driver: subprocess.Popen[bytes], rng: np.random.Generator) -> str:
    """Kills the driver or one of its workers, with equal probability; returns which."""
    with suppress(psutil.Error):
        workers = [child for child in psutil.Process(driver.pid).children() if "loky" in " ".join(child.cmdline())]
        chosen = int(rng.integers(len(workers) + 1))
        if chosen < len(workers):
            os.kill(workers[chosen].pid, signal.SIGKILL)
            return "worker"
    driver.kill()
    driver.wait()
    return "driver"


def _find_problems(out: Path, wanted: dict[int, str]) -> list[str]:
    """Returns the problems of a set after the last run."""
    found = []
    digests = _read_digests(out)
    if digests != wanted:
        differ = sorted(
            number for number in digests.keys() | wanted.keys() if digests.get(number) != wanted.get(number)
        )
        found.append(f"{out.name}: episodes {differ[:10]} are missing, unexpected, or differ from the undisturbed run")
    check = [sys.executable, "-m", "unlatch", "check", str(out)]
    checked = subprocess.run(check, check=False, capture_output=True, text=True)
    if checked.returncode:
        found.append(f"{out.name}: {checked.stdout.strip()[:300]}")
    leftovers = [path.name for path in (out / ".tmp").iterdir()] + [path.name for path in out.glob("damaged/*")]
    if leftovers:
        found.append(f"{out.name}: leftover files: {leftovers[:5]}")
    return found


@contextmanager
def _mount_file_system(place: Path, *, size_mb: int) -> Iterator[None]:
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _test_read_only(cfg: FaultsCfg, out: Path, wanted: dict[int, str]) -> list[str]:
    # root can write into any folder, unless it drops that privilege
    plain = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    driver = subprocess.Popen(
        [*plain, *_collect_command(cfg, out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
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
    subprocess.run(_collect_command(cfg, out), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    problems = _find_problems(out, wanted)
    ending = f"the run ended with {driver.returncode} and {there} of {cfg.episodes} episodes"
    print(f"folder becomes read-only: {ending}; after the second run {len(problems)} problems")
    return problems


def _test_full_disk(cfg: FaultsCfg, place: Path, wanted: dict[int, str]) -> list[str]:
    with _mount_file_system(place, size_mb=2):
        out = place / "set"
        driver = _start_run(cfg, out)
        driver.wait()
        there = len(DataSet.open(out))
        subprocess.run(["mount", "-o", "remount,size=1024m", str(place)], check=True)
        subprocess.run(_collect_command(cfg, out), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        problems = _find_problems(out, wanted)
        ending = f"the run ended with {driver.returncode} and {there} of {cfg.episodes} episodes"
        print(f"disk full: {ending}; after the second run {len(problems)} problems")
        return problems


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
