"""Computes the fingerprint of the behaviour: a SHA-256 over the states of 24 episodes. Every row of results has one.

Usage: python benchmarks/fingerprint.py [write=false]

Physics, planning, objects and judging decide what these episodes do, so a change of any of them changes it.
`benchmarks/fingerprint.json` has the present one. It differs between machines, because compilers and libraries round
differently. The file therefore has one for each machine that made results, and the checksum of the code that all of
them ran. `results_page.py` shows a row as present only if its fingerprint is in the file.

Ends with exit code 1 and says which episodes differ if the behaviour is not that of the file. `write=true` then
replaces it. On another machine with the same code, it adds this machine.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import unlatch
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded
from unlatch.workflows.runs.runner import EpisodeRunner

PATH = Path(__file__).with_name("fingerprint.json")
EPISODES = (
    "task=open_microwave",
    "task=close_microwave",
    "task=open_drawer",
    "task=close_drawer",
    "task=open_box",
    "task=turn_hand_wheel",
    "task=turn_stove_knob",
    "task=turn_faucet",
    "task=press_door_lever",
    "task=turn_safe_dial",
    "task=place_can",
    "task=store_in_drawer",
    "task=put_in_microwave",
    "task=open_microwave robot=xarm6",
    "task=close_drawer robot=xarm6",
    "task=open_pot_held robot=dual_panda",
    "task=close_carton_both robot=dual_panda",
    "task=open_microwave randomization=full",
    "task=open_drawer disturb=light",
    "object=refrigerator skill=open",
    "object=laptop skill=close",
    "object=bottle skill=rotate",
    "object=toilet skill=open",
    "object=trash_can skill=open openness=0.9",
)
"""Episode 0 of each, with seed 0: tasks, robots that need no extra, carrying, knobs, noise, derived settings."""
STATES = (".joint_positions", ".root_position", ".root_quat_xyzw", "validity.collision_valid")
"""Endings of the keys of hashed arrays."""
PRESENT, OLDER = "present", "older"
"""What tables say of the physics that made a row."""
LENGTH = 12
"""Hexadecimal digits of a fingerprint."""
SAME_END = 0.02
"""Two machines agree on an episode if its joints end within this distance [rad or m]."""
_PACKAGES = ("numpy", "scipy", "casadi", "pybullet", "ompl")
_DIFFERS = 1


@dataclass(frozen=True)
class Behaviour:
    """What the episodes do on one machine."""

    machine: str
    code: str
    """Checksum of the product's code, configurations and robots."""
    fingerprint: str
    episodes: Mapping[str, Mapping[str, Any]]
    """By episode: `sha256` of its states, `code` of its verdict, number of `actions`, where the joints of its objects
    `end` [rad or m]."""

    @property
    def seed(self) -> int:
        """Seed of the runs with this behaviour: nobody chose it, and nobody has studied its failures."""
        return int(self.fingerprint[:7], 16)


def make_record(*words: str) -> EpisodeRecord:
    """Makes the episode of a task and overrides."""
    with EpisodeRunner(unlatch.load(*words, seed=0)) as runner:
        return runner.run(0)


def measure(record_of: Callable[..., EpisodeRecord] = make_record) -> Behaviour:
    """Makes the episodes, by `make_record` or what does the same, and returns what they do."""
    episodes = {words: _describe(record_of(*_split(words))) for words in EPISODES}
    lines = [f"{words} {found['code']} {found['sha256']}\n" for words, found in episodes.items()]
    fingerprint = hashlib.sha256("".join(lines).encode()).hexdigest()[:LENGTH]
    return Behaviour(describe_machine(), code_checksum(), fingerprint, episodes)


def _split(words: str) -> tuple[str, ...]:
    first, *others = words.split()
    return first.removeprefix("task="), *others


def _describe(record: EpisodeRecord) -> dict[str, Any]:
    digest = hashlib.sha256()
    for key in sorted(key for key in record.arrays if key.endswith(STATES)):
        digest.update(f"{key} {record.arrays[key].shape}".encode())
        digest.update(np.ascontiguousarray(record.arrays[key]).tobytes())
    joints = {key: array for key, array in record.arrays.items() if key.startswith("objects.") and "joint_pos" in key}
    end = {key.split(".")[1]: [round(float(value), 3) for value in array[-1]] for key, array in joints.items()}
    actions = len(record.arrays.get("time", (None,))) - 1
    return {"code": record.code, "actions": actions, "end": end, "sha256": digest.hexdigest()[:LENGTH]}


def describe_machine() -> str:
    """Returns what decides the rounding of a machine: kernels of its processor, C library, and versions of packages."""
    packages = [f"{name} {version(name)}" for name in _PACKAGES]
    python = f"Python {platform.python_version()}"
    processor = f"{platform.machine()} {blas_kernels()}".strip()
    return ", ".join([processor, " ".join(platform.libc_ver()), python, *packages])


def blas_kernels() -> str:
    """Returns the kind of processor for which NumPy's OpenBLAS adds up here; empty if it has another library.

    Processors with the same instructions may get different kernels, and those of other instructions the same.
    """
    for file in Path(np.__file__).parents[1].glob("numpy.libs/*openblas*"):
        library = ctypes.CDLL(str(file))
        for symbol in ("scipy_openblas_get_corename64_", "openblas_get_corename64_"):  # the second one: NumPy 1.26
            if hasattr(library, symbol):
                name = getattr(library, symbol)
                name.restype = ctypes.c_char_p
                return str(name().decode())
    return ""


@cache
def code_checksum() -> str:
    """Returns a checksum of the product's Python, C, YAML and URDF files."""
    digest = hashlib.sha256()
    for path in _product_files():
        digest.update(path.relative_to(Path(unlatch.__file__).parent).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:LENGTH]


def _product_files() -> Iterator[Path]:
    for folder, folders, names in os.walk(Path(unlatch.__file__).parent, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (
            Path(folder, name) for name in sorted(names) if name.endswith((".py", ".yaml", ".urdf", ".c", ".h"))
        )


@cache
def read_present() -> list[Behaviour]:
    """Returns the present behaviour on every machine that the file names, the first of which is the reference."""
    if not PATH.exists():
        return []
    content = json.loads(PATH.read_text(encoding="utf-8"))
    return [
        Behaviour(machine, content["code"], found["fingerprint"], found["episodes"])
        for machine, found in content["machines"].items()
    ]


def present_fingerprints() -> set[str]:
    """Returns the fingerprints of the present behaviour, of all machines."""
    return {found.fingerprint for found in read_present()}


def present_version() -> str:
    """Returns the version of Unlatch of the present behaviour."""
    return str(json.loads(PATH.read_text(encoding="utf-8"))["version"])


def present_seed() -> int:
    """Returns the seed of the results of the present behaviour."""
    return read_present()[0].seed


def fingerprint_here() -> str:
    """Returns the fingerprint of this code on this machine; takes a minute if the file does not have it."""
    for found in read_present():
        if (found.machine, found.code) == (describe_machine(), code_checksum()):
            return found.fingerprint
    path = (
        Path("data/fingerprints") / f"{code_checksum()}-{hashlib.sha256(describe_machine().encode()).hexdigest()[:8]}"
    )
    if not path.exists():
        print_line("computes the fingerprint of this code on this machine, which takes a minute")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(measure().fingerprint, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def made_with() -> dict[str, str]:
    """Returns what each row of results says about the code that made it: version, commit and fingerprint."""
    git = ["git", "-C", str(PATH.parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {"version": unlatch.__version__, "commit": commit, "fingerprint": fingerprint_here()}


def is_present(row: Mapping[str, Any]) -> bool:
    """Returns whether a row of results was made by the present behaviour."""
    return row.get("fingerprint") in present_fingerprints()


def age_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns `present` if the present behaviour made all of some rows of results, `older` if not."""
    return PRESENT if all(map(is_present, rows)) else OLDER


def same_behaviour(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Returns whether two rows of results have the same fingerprint, or two of the present one on several machines."""
    found, others = row.get("fingerprint"), other.get("fingerprint")
    return found == others or (is_present(row) and is_present(other))


def differences(now: Behaviour, then: Behaviour) -> list[str]:
    """Returns a line for each episode whose states or verdict differ."""
    lines = []
    for words, found in now.episodes.items():
        other = then.episodes.get(words)
        if other is None:
            lines.append(f"{words}: new")
        elif found != other:
            lines.append(f"{words}: {_outcome(other)} then, {_outcome(found)} now")
    return lines


def _outcome(found: Mapping[str, Any]) -> str:
    return f"{found['code'] or 'success'} after {found['actions']} frames, ends at {found['end']}"


def agrees(now: Behaviour, then: Behaviour) -> bool:
    """Returns whether two machines agree: every verdict is the same, and every joint ends at nearly the same place."""
    return now.episodes.keys() == then.episodes.keys() and all(
        found["code"] == (other := then.episodes[words])["code"]
        and found["end"].keys() == other["end"].keys()
        and all(np.allclose(found["end"][name], other["end"][name], rtol=0.0, atol=SAME_END) for name in found["end"])
        for words, found in now.episodes.items()
    )


def write(now: Behaviour) -> None:
    """Writes a behaviour in place of another one, or adds it to those of other machines with the same code.

    They also stay where the code has changed and this machine's episodes have not.
    """
    known = read_present()
    is_unchanged = any((found.machine, found.fingerprint) == (now.machine, now.fingerprint) for found in known)
    others = [
        found
        for found in known
        if found.machine != now.machine
        and (is_unchanged or found.code == now.code or now.fingerprint == found.fingerprint)
    ]
    places = {found.machine: place for place, found in enumerate(known)}
    machines = {
        found.machine: found for found in sorted([*others, now], key=lambda each: places.get(each.machine, len(places)))
    }
    content = {
        "version": unlatch.__version__,
        "code": now.code,
        "machines": {
            machine: {"fingerprint": found.fingerprint, "episodes": found.episodes}
            for machine, found in machines.items()
        },
    }
    PATH.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


@dataclass
class Cfg:
    """The keys of this command."""

    write: bool = False


def main(arguments: list[str]) -> int:
    """Computes the fingerprint, compares it with that of the file, and writes it on request."""
    cfg, now = read_pairs(Cfg, arguments), measure()
    print_line(f"{now.fingerprint} on {now.machine}")
    present = read_present()
    here = [found for found in present if found.machine == now.machine]
    for found in here or present[:1]:
        for line in differences(now, found):
            print_line(line)
    if cfg.write:
        write(now)
        print_line(f"{PATH.name} written")
        return OK
    if now.fingerprint in present_fingerprints():
        print_line("the behaviour is that of the file")
        return OK
    if present and not here and agrees(now, present[0]):
        print_line("the episodes end as in the file, on another machine. To add it, run: fingerprint.py write=true")
        return _DIFFERS
    print_line("the behaviour is not that of the file. If the change is wanted, run: fingerprint.py write=true")
    return _DIFFERS


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
