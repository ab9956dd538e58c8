"""Looking at a run while it runs: `live=true` of a command, and `unlatch watch`, read over HTTP."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urljoin, urlsplit

import psutil
import pytest

from tests.e2e.running import Commands, start, wait_for
from unlatch.simcore.recording.data_set import DataSet

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LIMIT_S = 240.0
T = TypeVar("T")


@contextmanager
def started(words: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts a command; its stderr is the file `err.txt`."""
    with (folder / "err.txt").open("w") as err:
        process = start(["-m", "unlatch", *words], folder, stderr=err)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def processes_below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return found


def found_by(look: Callable[[], T | None], process: subprocess.Popen[str]) -> T:
    """Returns what `look` finds; fails if the command ends before."""
    found: list[T | None] = [None]

    def is_there() -> bool:
        time.sleep(0.2)
        found[0] = look()
        assert found[0] is not None or process.poll() is None, "the command ended too early"
        return found[0] is not None

    wait_for(is_there, limit_s=LIMIT_S)
    return cast("T", found[0])


def url_in(folder: Path) -> str | None:
    found = re.search(r"^(?:live|page): (http\S+)", (folder / "err.txt").read_text(), re.MULTILINE)
    return None if found is None else found[1]


def read(url: str, path: str = "", *, timeout: float = 60.0) -> str:
    """Returns what a browser gets that opens the printed address and then a path of the page."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    browser.open(url, timeout=timeout).close()
    text: str = browser.open(urljoin(url, f"/{path}"), timeout=timeout).read().decode()
    return text


def read_state(url: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(read(url, "state.json"))
    return state


def without_wall_times(value: Any) -> Any:
    """Returns plain values without the wall times in them, and without the checksum over those."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in ("timings_ms", "sha256")}
        return {key: without_wall_times(item) for key, item in kept.items()}
    return [without_wall_times(item) for item in value] if isinstance(value, list) else value


def content_of(data_set: Path) -> dict[str, Any]:
    """Content of each file of a data set: bytes of arrays, the rest without wall times, dates and hosts."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in data_set.rglob("*") if path.is_file()):
        name = path.relative_to(data_set).as_posix()
        if name == "dataset.json":
            found[name] = json.loads(path.read_text())["header"]
        elif name.startswith("runs/"):
            found[f"runs/*{path.suffix}"] = found.get(f"runs/*{path.suffix}", 0) + 1
        elif path.suffix == ".jsonl":
            found[name] = [without_wall_times(json.loads(line)) for line in path.read_text().splitlines()]
        elif path.suffix == ".json":
            found[name] = without_wall_times(json.loads(path.read_text()))
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def test_a_run_is_seen_while_it_runs_and_its_data_are_those_of_a_run_without_a_page(tmp_path: Path, commands: Commands):
    common = ["collect", "task=open_drawer", "episodes=15", "executor=serial", "pictures=0"]
    with started([*common, "out=seen", "live=true", "live_port=0"], tmp_path) as process:
        url = found_by(lambda: url_in(tmp_path), process)
        assert url.startswith("http://127.0.0.1:")
        assert "<h1>open_drawer</h1>" in read(url)
        assert len(read(url, "scene/")) > 1e5  # viser's page
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(url, "scene.txt")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(urljoin(url, "/state.json"), timeout=60)
        token = url.partition("?token=")[2]
        everybody_sees = [word for child in processes_below(process) for word in child.cmdline()]
        assert token
        assert not any(token in word for word in everybody_sees)

        def running() -> dict[str, Any] | None:
            state = read_state(url)
            seen = state["current"] is not None and state["current"]["is_running"] and state["sets"][0]["n"] > 0
            return state if seen else None

        state = found_by(running, process)
        assert state["current"]["problem"] == ""
        assert state["current"]["instruction"]
        assert 0 <= state["current"]["number"] < 15
        (shown,) = state["sets"]
        assert shown["per_hour"] > 0.0
        assert [item["name"] for item in shown["measures"]] == ["success"]  # open does not try to be strict
        process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0
        with pytest.raises(urllib.error.URLError):
            read(url, timeout=10)
    assert len(DataSet.open(tmp_path / "seen")) == 15
    # the files of the first episodes are those of a run that ends there
    fewer = [word.replace("episodes=15", "episodes=3") for word in common]
    assert commands.run(["unlatch", *fewer, "out=unseen"], tmp_path).returncode == 0
    seen, unseen = (content_of(tmp_path / name / "episodes") for name in ("seen", "unseen"))
    assert {name: seen[name] for name in unseen} == unseen


@pytest.mark.heavy
def test_a_page_that_dies_and_a_taken_port_do_not_end_a_run(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        arguments = ["collect", "task=open_drawer", "episodes=4", "workers=2", "pictures=0"]
        arguments += ["live=true", f"live_port={port}"]
        with started(arguments, tmp_path) as process:
            url = found_by(lambda: url_in(tmp_path), process)
            assert urlsplit(url).port != port
            (page,) = [child for child in processes_below(process) if any("live_page" in w for w in child.cmdline())]
            page.kill()
            process.communicate(timeout=LIMIT_S)
    err = (tmp_path / "err.txt").read_text()
    assert process.returncode == 0, err
    assert f"(port {port} is taken)" in err
    assert "the page ended before the run: exit code -9; `unlatch watch data/" in err
    assert len(DataSet.open(tmp_path / "data" / "open_drawer-franka_panda-s0")) == 4


def test_ctrl_c_ends_run_and_page(tmp_path: Path):
    arguments = ["collect", "-m", "task=open_drawer,open_microwave", "episodes=200", "workers=2", "live=true"]
    with started([*arguments, "live_port=0", "sweep_dir=sweep"], tmp_path) as process:
        url = found_by(lambda: url_in(tmp_path), process)
        found_by(lambda: (read_state(url)["sets"] and read_state(url)["sets"][0]["n"]) or None, process)
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=LIMIT_S)
        assert process.returncode == 130
        err = (tmp_path / "err.txt").read_text()
        assert "unlatch: interrupted in job 1 of 2; the same command makes what is missing\n" in err
        _, alive = psutil.wait_procs(children, timeout=10.0)
        assert alive == []
    assert list((tmp_path / "sweep" / "open_drawer" / "runs").glob("*.live*")) == []


@pytest.mark.heavy
def test_one_page_shows_all_jobs_of_a_sweep_in_other_processes(tmp_path: Path):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the extra joblib is not installed")
    arguments = ["collect", "-m", "task=open_drawer", "seed=1,2", "episodes=3", "executor=serial", "pictures=0"]
    arguments += ["launcher=joblib", "launcher.settings.n_jobs=1", "sweep_dir=sweep", "live=true", "live_port=0"]
    with started(arguments, tmp_path) as process:
        url = found_by(lambda: url_in(tmp_path), process)

        def both() -> dict[str, Any] | None:
            state = read_state(url)
            running = state["current"] is not None and state["current"]["is_running"]
            return state if running and len(state["sets"]) == 2 else None

        state = found_by(both, process)
        assert [item["name"] for item in state["sets"]] == ["seed1", "seed2"]
        process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0
    logs = "".join(path.read_text() for path in (tmp_path / "sweep" / "logs").iterdir())
    assert "http" not in logs


@pytest.mark.heavy
def test_watch_shows_a_data_set_that_another_process_fills_also_after_it_has_ended(tmp_path: Path):
    (tmp_path / "run").mkdir()
    arguments = ["task=open_drawer", "episodes=10", "executor=serial", "pictures=0", f"out={tmp_path}/sets/one"]
    with started(["collect", *arguments, "live=true", "live_port=null"], tmp_path / "run") as run:
        found_by(lambda: True if (tmp_path / "sets" / "one" / "dataset.json").exists() else None, run)
        with started(["watch", "sets", "page=true", "port=0"], tmp_path) as watch:
            url = found_by(lambda: url_in(tmp_path), watch)
            seen = set()

            def ended() -> dict[str, Any] | None:
                state = read_state(url)
                if state["current"] is not None:
                    seen.add((state["current"]["is_running"], state["current"]["problem"]))
                last = state["current"] is not None and not state["current"]["is_running"]
                return state if last and state["sets"][0]["n"] == 10 else None

            state = found_by(ended, watch)
            assert seen == {(True, ""), (False, "")}
            run.communicate(timeout=LIMIT_S)
            assert run.returncode == 0
            assert "http" not in (tmp_path / "run" / "err.txt").read_text()
            before = sorted(path for path in (tmp_path / "sets").rglob("*"))
            assert state["sets"][0]["measures"][0]["n"] == 10
            assert state["current"]["phase"] == "success"
            os.killpg(watch.pid, signal.SIGINT)
            watch.communicate(timeout=LIMIT_S)
            assert watch.returncode == 0
            assert sorted(path for path in (tmp_path / "sets").rglob("*")) == before
