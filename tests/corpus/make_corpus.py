"""Hashes what Unlatch writes and prints for some thousand inputs, and compares the hashes with `hashes.txt`.

Usage: make corpus ARGS="[write=true] [only=PART] [match=TEXT] [workers=2]"

Run it before and after a change of the code that should change nothing else. It ends with exit code 1 and names the
items that differ, are new or are gone. `write=true` then writes the file. Every item is what one command line leaves in
an empty folder: its exit code and text, its files, or the arrays of its episodes. The commands are those of users, so
no module of Unlatch is named here and every module may move.

What was hashed is kept in `data/corpus/NUMBER/content`, a file for each item: compare the folders of two versions of
the code with `diff -r` to see what differs. The number is a checksum of the code and the machine. The same command with
the same code continues after an interruption. Only on the machine that `hashes.txt` names, all items are compared. On
another one, floating-point numbers are rounded in another way, and only the parts `texts`, `messages` and `generators`
are compared, without pictures.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import runpy
import shlex
import shutil
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.corpus.contents import checksum, describe_files, mask_places, without_times
from tests.corpus.jobs import ENVIRONMENT, HERE, PARTS, ROOT, SHARED, Job

FILE = HERE / "hashes.txt"
KEPT = ROOT / "data" / "corpus"
MOST_KEPT = 4
"""Versions of the code whose results are kept."""
CPU_LIMIT_S = 900
"""Time of the processor after which a command is ended."""
SAME_EVERYWHERE = ("texts/", "messages/", "generators/")
"""Parts that rounding does not decide."""
APART = (FILE, HERE / "jobs.py", HERE / "mistakes.yaml", HERE / "test_corpus.py")
"""Files of this folder that decide no result of a job, or only which jobs there are."""
PACKAGES = ("coacd", "trimesh", "usd-core", "pillow", "matplotlib", "h5py", "pyarrow", "av", "hydra-core")
"""Packages that decide items, in addition to those that `describe_machine` names."""
_DIFFERS = 1


def warm_up() -> None:
    """Imports what most commands need, in a process whose copies run them."""
    os.environ.update(ENVIRONMENT)
    for variable in SHARED:
        os.environ.pop(variable, None)
    sys.path.insert(0, str(ROOT / "src"))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    import unlatch

    for name in dir(unlatch):
        getattr(unlatch, name)
    _run_main(["collect", "task=open_drawer", "--cfg", "job"])
    if (tasks := Path("/proc/self/task")).is_dir() and len(list(tasks.iterdir())) > 1:
        raise RuntimeError("an import has started a thread, which no copy of this process has")
    gc.freeze()


def _run_main(arguments: list[str]) -> int:
    sys.argv = ["unlatch", *arguments]
    try:
        runpy.run_module("unlatch", run_name="__main__")
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    return 0


def run_command(line: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str, float]:
    """Runs a command in a copy of this process; returns its exit code, what it printed, and its processor time [s]."""
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
        if (number := os.fork()) == 0:
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
                for target, file in enumerate(files, start=1):
                    os.dup2(file.fileno(), target)
                os.chdir(folder)
                sys.path.insert(0, str(folder))
                os.environ.update(environment)
                code = _run_main(shlex.split(line))
            except BaseException:  # noqa: BLE001 - as the interpreter does at its top
                sys.excepthook(*sys.exc_info())
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status, used = os.wait4(number, 0)
        for file in files:
            file.seek(0)
        out, err = (file.read().decode("utf-8", "replace") for file in files)
    code = os.waitstatus_to_exitcode(status)
    return code, f"$ unlatch {line}\nexit code {code}\n{out}--- stderr\n{err}", used.ru_utime + used.ru_stime


def run_job(job: Job) -> tuple[dict[str, str], float]:
    """Runs the commands of a job; returns what is hashed, by item, and the processor time [s]."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as temporary:
        folder, other = Path(temporary).resolve() / "cwd", Path(temporary).resolve() / "tmp"
        folder.mkdir()
        other.mkdir()
        environment = {**job.environment, "TMPDIR": str(other), "UNLATCH_CACHE_DIR": str(cache_folder())}
        mask = partial(mask_places, {"{cwd}": str(folder), "{tmp}": str(other), **fixed_places()})
        spent, found = 0.0, {}
        for line in job.before:
            code, text, seconds = run_command(line, folder, environment)
            spent += seconds
            if code:
                return {f"{job.name}/before": mask(without_times(text))}, spent
        for path, source in job.files.items():
            place(source, folder / path)
        there = {path: path.read_bytes() for path in files_in(folder)}
        for item, line in job.commands.items():
            _, text, seconds = run_command(line, folder, environment)
            spent += seconds
            found[item] = mask(without_times(text) if job.timed else text)
        changed = [path for path in files_in(folder) if there.get(path) != path.read_bytes()]
        found |= describe_files(folder, changed, mask, each=job.each)
    return {f"{job.name}/{item}" if item else job.name: text for item, text in found.items()}, spent


def fixed_places() -> dict[str, str]:
    """Returns the folders of this machine and its name, by what replaces them in texts; the inner ones first."""
    host = socket.gethostname()
    return {
        **{"{cache}": str(cache_folder()), "{python}": sys.prefix, "{base}": sys.base_prefix, "{root}": str(ROOT)},
        **{f"{{{name}}}": str(folder) for name, folder in SHARED.items()},
        **{"{home}": str(Path.home()), **({"{host}": host} if len(host) > 5 else {})},
    }


def place(source: str | Path, target: Path) -> None:
    """Puts a text, a file or a folder to a path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, str):
        target.write_text(source, encoding="utf-8")
    elif source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def files_in(folder: Path) -> list[Path]:
    """Returns all files below a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


@cache
def describe_here() -> str:
    """Returns what decides the rounding of this machine, and the versions of packages that decide items."""
    sys.path.insert(0, str(ROOT / "src"))
    machine = runpy.run_path(str(ROOT / "benchmarks/fingerprint.py"))["describe_machine"]()
    return ", ".join([machine, *map(_package, PACKAGES)])


def _package(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"


@cache
def kept_folder() -> Path:
    """Returns the folder of what this code makes on this machine."""
    parts = [describe_here()]
    for top in ("unlatch", "examples", "tests/corpus", "tests/data"):
        for folder, folders, names in os.walk(ROOT / top, followlinks=True):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            paths = [Path(folder, name) for name in sorted(names)]
            parts += [f"{path.relative_to(ROOT)} {checksum(path.read_bytes())}" for path in paths if path not in APART]
    return KEPT / checksum("\n".join(parts))


def cache_folder() -> Path:
    """Returns the folder of what Unlatch keeps between runs: that of no other version of the code."""
    return kept_folder() / "cache"


def keep(items: Mapping[str, str]) -> dict[str, str]:
    """Keeps what is hashed as files for a later `diff`; returns the hashes by item."""
    for name, content in items.items():
        file = kept_folder() / "content" / quote(name, safe="/=[]{}, ")
        file = file.with_name(f"{file.name[:180]}{checksum(name) if len(file.name) > 180 else ''}.txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return {name: checksum(content) for name, content in items.items()}


def read_hashes(path: Path) -> tuple[str, dict[str, str]]:
    """Returns the machine of a file, and its hashes by item."""
    machine, hashes = "", {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# machine: "):
            machine = line.removeprefix("# machine: ")
        elif not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            hashes[name] = value
    return machine, hashes


def write_hashes(path: Path, machine: str, hashes: Mapping[str, str]) -> None:
    """Writes the file of hashes, in the order of their names."""
    head = f"# Written by `make corpus`; tests/corpus/make_corpus.py says what each line is.\n# machine: {machine}\n"
    path.write_text(head + "".join(f"{name} {hashes[name]}\n" for name in sorted(hashes)), encoding="utf-8")


def same_everywhere(name: str) -> bool:
    """Returns whether an item is the same on every machine."""
    return name.startswith(SAME_EVERYWHERE) and not name.endswith("/pictures")


def differences(now: Mapping[str, str], then: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the items that are `different`, `new` or `gone`."""
    return {
        "different": sorted(name for name in now.keys() & then.keys() if now[name] != then[name]),
        "new": sorted(now.keys() - then.keys()),
        "gone": sorted(then.keys() - now.keys()),
    }


def report(found: Mapping[str, list[str]], *, most: int = 40) -> Iterator[str]:
    """Yields lines: how many items of each part differ, and the first of them."""
    for what, names in found.items():
        parts = Counter("/".join(name.split("/")[:2]) for name in names)
        if names:
            yield f"{what}: {len(names)} items ({', '.join(f'{part} {count}' for part, count in parts.items())})"
        yield from (f"  {name}" for name in names[:most])
        if len(names) > most:
            yield f"  and {len(names) - most} more"


class Settings(NamedTuple):
    """The words of the command."""

    write: bool = False
    only: str = ""
    """A part; all of them if empty."""
    match: str = ""
    """Only jobs whose name has this text."""
    workers: int = 2


def read_words(words: Iterable[str]) -> Settings:
    """Returns what the words of the command say.

    Raises:
        SystemExit: A word has another form or key.
    """
    values: dict[str, Any] = {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in Settings._fields or not text:
            expected = "write=true, only=PART, match=TEXT or workers=2"
            raise SystemExit(f"make corpus: '{word}' is unknown. Expected {expected}.")
        values[key] = text == "true" if key == "write" else int(text) if key == "workers" else text
    if values.get("only", "texts") not in PARTS:
        raise SystemExit(f"make corpus: only={values['only']} is no part. Expected one of {', '.join(PARTS)}.")
    return Settings(**values)


def run_all(jobs: list[Job], workers: int) -> dict[str, str]:
    """Runs the jobs that are not done yet; returns the hashes of all, by item."""
    log = kept_folder() / "results.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    os.utime(log.parent)
    for old in sorted(KEPT.iterdir(), key=lambda folder: folder.stat().st_mtime)[:-MOST_KEPT]:
        shutil.rmtree(old)
    rows = map(json.loads, log.read_text(encoding="utf-8").splitlines()) if log.exists() else ()
    done = {row["job"]: row["items"] for row in rows}
    left = [job for job in jobs if repr(job) not in done]
    spent: Counter[str] = Counter()
    began = shown = time.monotonic()
    with log.open("a", encoding="utf-8") as file, ProcessPoolExecutor(workers, get_context("fork"), warm_up) as pool:
        running = {pool.submit(run_job, job): job for job in left}
        try:
            for number, future in enumerate(as_completed(running), start=1):
                job, (items, seconds) = running[future], future.result()
                done[repr(job)] = keep(items)
                file.write(json.dumps({"job": repr(job), "items": done[repr(job)], "cpu_s": round(seconds, 1)}) + "\n")
                file.flush()
                spent[job.name.partition("/")[0]] += round(10 * seconds)
                if time.monotonic() - shown > 10 or number == len(left):
                    shown = time.monotonic()
                    print(f"{number} of {len(left)} jobs after {shown - began:.0f} s: {job.name}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    for part, tenths in spent.items():
        print(f"  {part}: {tenths / 10:.0f} s of processor time")
    return {name: value for job in jobs for name, value in done[repr(job)].items()}


def main(words: list[str]) -> int:
    """Computes the hashes, compares them with those of the file, and writes the file on request."""
    settings = read_words(words)
    missing = tuple(f"shared/{name}/" for name, folder in SHARED.items() if not folder.is_dir())
    for prefix in missing:
        print(f"left out: {prefix}; set the environment variable of this name to a folder of PartNet-Mobility objects")
    parts = [settings.only] if settings.only else list(PARTS)
    jobs = [job for part in parts for job in PARTS[part]() if settings.match in job.name]
    print(f"{len(jobs)} jobs; what is hashed is kept in {kept_folder() / 'content'}")
    now = run_all(jobs, settings.workers)
    machine, file = read_hashes(FILE) if FILE.exists() else (describe_here(), {})
    then = select(file, parts, {job.name for job in jobs} if settings.match else None, missing)
    here = machine == describe_here()
    if settings.write:
        is_whole = len(parts) == len(PARTS) and not settings.match
        if not (here or is_whole or all(map(same_everywhere, now.keys() | then.keys()))):
            print(f"{FILE.name} was made on another machine, and a part of it cannot be written on this one.")
            print("Leave out only= and match= to write all of it, or write only=texts.")
            return _DIFFERS
        made_on = describe_here() if is_whole else machine  # other parts stay those of the machine that made them
        write_hashes(FILE, made_on, {name: file[name] for name in file.keys() - then.keys()} | now)
    elif not here:
        print(f"{FILE.name} was made on another machine: {machine}. This one: {describe_here()}.")
        print(f"Compared is only what rounding does not decide: {' '.join(SAME_EVERYWHERE)} without pictures")
        now, then = ({k: v for k, v in items.items() if same_everywhere(k)} for items in (now, then))
    found = differences(now, then)
    print("\n".join(report(found)) or f"all {len(now)} items are those of {FILE.name}")
    return 0 if settings.write else _DIFFERS * any(found.values())


def select(
    file: Mapping[str, str], parts: Iterable[str], jobs: set[str] | None, missing: tuple[str, ...]
) -> dict[str, str]:
    """Returns the items of the file that a run makes again.

    Args:
        file: All items.
        parts: The parts that run.
        jobs: The names of the jobs that run; all of the parts if None.
        missing: How items begin that this machine cannot make.
    """

    def runs(name: str) -> bool:
        words = name.split("/")
        starts = ("/".join(words[:count]) for count in range(1, len(words) + 1))
        return words[0] in parts and not name.startswith(missing) and (jobs is None or not jobs.isdisjoint(starts))

    return {name: value for name, value in file.items() if runs(name)}


if __name__ == "__main__":
    os.environ.update(ENVIRONMENT)
    sys.exit(main(sys.argv[1:]))
