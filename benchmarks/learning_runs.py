"""Runs the demonstrations, trainings and evaluations of `learning.py` in parallel on cores and graphics cards."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from typing import Any

from fingerprint import made_with
from success_runs import Seed

import unlatch
from unlatch.simcore.process import CARD_VARIABLE
from unlatch.workflows.runs.statistics import RunStatistics

LEARN = Path(__file__).parents[1] / "examples" / "learn"
LEROBOT = "../lerobot_train.py"
"""Program that trains policies of LeRobot."""
LEROBOT_ARRAYS = "../../benchmarks/lerobot_arrays.py"
"""The same from arrays, with all images in memory; it also serves them."""
UNLATCH = (sys.executable, "-m", "unlatch")
EXECUTED = 20
"""Executed actions of a chunk of 32."""
_TRAININGS_PER_CARD = 3
_RENDERINGS_PER_CARD = 12
_EVALUATION_WORKERS = 8
_SERVER_STARTS_S = 120.0
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Variables of a process; threads that wait must not take the cores of other work."""
_STOPPED = threading.Event()
"""Set by Ctrl-C: jobs that wait for cores do not start any more."""


@dataclass(frozen=True)
class View:
    """What a policy observes."""

    name: str
    state: tuple[str, ...]
    points: int = 0
    """Points of the object."""
    part_share: float | None = None
    """Share of them that lies on the part; None: the density is the same everywhere."""
    cameras: tuple[str, ...] = ()
    size_px: int = 128
    renderer: str = "software"
    """Renderer of the images."""
    objects: bool = field(default=False, repr=False)
    """Whether the poses of the objects are observed, beside the state."""
    hidden: tuple[str, ...] = ()
    """Kinds of the state that only training knows: the network learns to guess them from what it sees."""
    arrays: bool = False
    """Whether training reads arrays of `states.py`, with the images as they are, or an export for LeRobot."""

    @property
    def key(self) -> str:
        """Name of its folders and render sets; another one for each other observation."""
        return f"{self.name}{'-objects' * self.objects}-{hashlib.sha256(repr(self).encode()).hexdigest()[:8]}"

    @property
    def render_set(self) -> str:
        """Name of the render sets, which observations with the same images share."""
        return f"images-{hashlib.sha256(repr((self.cameras, self.size_px, self.renderer)).encode()).hexdigest()[:8]}"

    def export_options(self) -> list[str]:
        """Returns the options of `unlatch export`."""
        return [*self._columns(self.state), *([f"render={self.render_set}"] if self.cameras else [])]

    def _columns(self, state: Sequence[str]) -> list[str]:
        """Returns the options of the columns with these kinds of the state."""
        options = [f"state=[{','.join(state)}]", f"objects={str(self.objects).lower()}", "keypoints=false"]
        options += [f"point_cloud={self.points}"] * bool(self.points)
        return options + [f"point_cloud_part_share={self.part_share}"] * (self.part_share is not None)

    def array_options(self) -> list[str]:
        """Returns the options of `states.py`."""
        return [f"state=[{','.join(self.state)}]", *([f"render={self.render_set}"] if self.cameras else [])]

    def observation_options(self, executed: int) -> list[str]:
        """Returns the options of `unlatch evaluate`; images are made when the next actions are predicted."""
        shown = [kind for kind in self.state if kind not in self.hidden]
        options = [f"observation.{option}" for option in self._columns(shown)]
        if self.cameras:
            options += [*self.camera_options("sensors"), "observation.images=[rgb]"]
            options += [f"observation.images_every={executed}", f"observation.renderer={self.renderer}"]
        return ["observation.columns=true", "observation.keys=[]", *options]

    def camera_options(self, key: str) -> list[str]:
        """Returns the options of the cameras, for `cameras` of `unlatch render` or `sensors` of an environment."""
        sides = [f"{key}.{i}.{side}={self.size_px}" for i in range(len(self.cameras)) for side in ("width", "height")]
        return [f"{key}=[{','.join(self.cameras)}]", *sides]


@dataclass(frozen=True)
class Demos:
    """Demonstrations of a task: `NAME`, or `object=NAME skill=SKILL`; a value with a space is quoted as in a shell."""

    task: str
    episodes: int
    options: tuple[str, ...] = ("variety=0", "disturb=light")
    seed: int = 11

    @property
    def name(self) -> str:
        """Name of the folder; demonstrations that differ only in their number share it."""
        return as_file_name(" ".join([self.task, *self.options, f"s{self.seed}"]))


@dataclass(frozen=True)
class Training:
    """One policy: what it learns from, and in which tasks it is evaluated."""

    name: str
    demos: tuple[Demos, ...]
    tasks: tuple[str, ...]
    view: View
    options: tuple[str, ...] = ("width=256", "batch=512", "steps=6000")
    executed: int = EXECUTED
    trainer: str = "train.py"
    """Program that trains; the options of `LEROBOT` are others."""
    networks: int = 1
    """Networks, trained with seeds from 0, that act together."""
    rounds: int = 0
    """Rounds of corrections (docs/failures.md): the policy of the round before acts, and the planner corrects it."""
    corrections: int = 150
    """Episodes of a round."""
    episodes: int = 200
    """Evaluated episodes of each task."""

    @property
    def key(self) -> str:
        """Name of the network; equal for trainings that give the same network."""
        rounds = self.rounds and (self.rounds, self.corrections, self.executed)
        made_of = (self.demos, self.view, self.options, rounds)
        return f"{as_file_name(self.demos[0].task)}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:8]}"

    def describe_policy(self, networks: Sequence[Path]) -> tuple[str, dict[str, str]]:
        """Returns the option `policy` for the files of networks, and variables of the process."""
        if self.trainer == LEROBOT:
            return f"policy=lerobot:{networks[0].parent}", {}
        if self.trainer == LEROBOT_ARRAYS:
            return "", {"UNLATCH_EXECUTED": str(self.executed)}
        files = os.pathsep.join(map(str, networks))
        return "policy=policy:ChunkPolicy", {"UNLATCH_POLICY": files, "UNLATCH_EXECUTED": str(self.executed)}

    def server(self, networks: Sequence[Path]) -> list[str] | None:
        """Returns the command that serves networks to an Unlatch without torch; None: they act without torch."""
        if self.trainer == LEROBOT_ARRAYS:
            return [LEROBOT_ARRAYS, str(networks[0].parent)]
        return ["serve.py", *map(str, networks)] if self.view.cameras or self.view.points else None

    def scaled(self, factor: float) -> Training:
        """Returns a training with fewer demonstrations, steps and episodes."""
        words = [word.split("=") for word in self.options]
        options = tuple(
            f"{key}={max(int(int(value) * factor), 20) if key == 'steps' else value}" for key, value in words
        )
        demos = tuple(replace(item, episodes=max(int(item.episodes * factor), 12)) for item in self.demos)
        corrections, episodes = (max(int(number * factor), 4) for number in (self.corrections, self.episodes))
        return replace(self, demos=demos, options=options, corrections=corrections, episodes=episodes)


def as_file_name(words: str) -> str:
    """Returns words of a command line as a name of a file; words that cannot be one are shortened and get a hash."""
    name = words.replace("=", "").replace(" ", "-")
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", name):
        return name
    end = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[-60:]
    return f"{end.lstrip('-.')}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"


class Cores:
    """Shares the cores among jobs; jobs of earlier trainings go first."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[tuple[int, float, int]] = []
        self._changed = threading.Condition()

    @contextmanager
    def use(self, rank: int, count: int) -> Iterator[None]:
        """Waits for free cores and takes them. `rank`: place of the training in the list; a lower one goes first."""
        place = (rank, time.monotonic(), threading.get_ident())
        with self._changed:
            self._waiting.append(place)
            self._changed.wait_for(lambda: min(self._waiting) == place and self._free >= count)
            self._waiting.remove(place)
            self._free -= count
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += count
                self._changed.notify_all()


class TrainingRuns:
    """Collects, trains and evaluates; keeps everything in a folder and makes only what is missing there."""

    def __init__(
        self, folder: Path, *, seed: int, seed_is: Seed, cores: int, cards: int, torch: str | None = None
    ) -> None:
        """Opens the folder.

        Args:
            folder: Where data, networks and results go.
            seed: Seed of the evaluated episodes.
            seed_is: What this seed was used for before.
            cores: Processes at a time.
            cards: Graphics cards; 0: networks train on the cores.
            torch: The Python that trains, and acts where a network needs torch; None: this one.
        """
        self.results = folder / "results.jsonl"
        self._folder, self._seed, self._n_cores, self._n_cards = folder, seed, cores, cards
        self._seed_is = seed_is.value
        self._origin = ThreadPoolExecutor(1).submit(made_with)  # a minute, if this machine has no fingerprint yet
        self._hardware = describe_hardware(cores, cards)
        self._serves = torch is not None
        # what belongs to this Python must not be found by the other one
        self._torch = ["env", "-u", "PYTHONPATH", "-u", "PYTHONHOME", torch] if torch else [sys.executable]
        self._cores = Cores(cores)
        self._free_cards: Queue[int] = Queue()
        for card in [*range(cards)] * _TRAININGS_PER_CARD:
            self._free_cards.put(card)
        self._renderings = threading.Semaphore(_RENDERINGS_PER_CARD * max(cards, 1))  # more only wait for the card
        self._lock = threading.Lock()
        self._made: dict[str, Future[Any]] = {}
        self._servers: list[subprocess.Popen[bytes]] = []
        folder.mkdir(parents=True, exist_ok=True)

    def rows(self, trainings: Sequence[Training]) -> list[dict[str, Any]]:
        """Returns the results of these trainings so far, one of each evaluation."""
        names = {(item.name, self._name_evaluation(item, task)) for item in trainings for task in item.tasks}
        lines = self.results.read_text().splitlines() if self.results.exists() else []
        return [row for row in map(json.loads, lines) if (row["training"], row["evaluation"]) in names]

    def _name_evaluation(self, training: Training, task: str) -> str:
        """Returns a name that is equal only for evaluations that give the same result."""
        several = f"-x{training.networks}" if training.networks > 1 else ""
        return f"{training.key}{several}-{training.executed}-{as_file_name(task)}-s{self._seed}-n{training.episodes}"

    def run(self, trainings: Sequence[Training]) -> list[str]:
        """Makes all evaluations that are missing; returns the problems."""
        self._origin.result()  # whatever keeps rows from being written ends the run before the first training
        done = {(row["training"], row["task"]) for row in self.rows(trainings)}

        def run_one(rank: int, training: Training) -> None:
            tasks = [task for task in training.tasks if (training.name, task) not in done]
            if tasks:
                networks, trained = self._train_all(rank, training)
                policy = self._act(rank, training, networks)
                with ThreadPoolExecutor(len(tasks)) as pool:
                    list(pool.map(lambda task: self._evaluate(rank, training, task, policy, networks, trained), tasks))

        with ThreadPoolExecutor(max(len(trainings), 1)) as pool:
            futures = {item.name: pool.submit(run_one, rank, item) for rank, item in enumerate(trainings)}
            try:
                problems = {name: future.exception() for name, future in futures.items()}
            except KeyboardInterrupt:
                _STOPPED.set()
                raise
            finally:
                for server in self._servers:
                    server.terminate()
        return [f"{name}: {problem}" for name, problem in problems.items() if problem is not None]

    def _train_all(self, rank: int, training: Training) -> tuple[list[Path], dict[str, Any]]:
        """Returns the files of the networks of a training, and what the log of the slowest says of it."""
        members = [training]
        for seed in range(1, training.networks):
            members.append(replace(training, options=(*training.options, f"seed={seed}")))
        with ThreadPoolExecutor(len(members)) as pool:
            found = list(pool.map(lambda member: self._train(rank, member), members))
        return [path for path, _ in found], max((about for _, about in found), key=lambda about: about["train_s"])

    def _train(self, rank: int, training: Training) -> tuple[Path, dict[str, Any]]:
        """Returns the file of the network of a training, and what its log says of it."""
        return self._once(training.key, lambda: self._make_network(rank, training))

    def _make_network(self, rank: int, training: Training) -> tuple[Path, dict[str, Any]]:
        made = self._folder / "networks" / f"{training.key}.npz"
        log = made.with_suffix(".log")
        if not made.exists():
            with ThreadPoolExecutor(len(training.demos)) as pool:
                found = list(pool.map(lambda demos: self._collect(rank, demos, training.view), training.demos))
            sets = [folder for folders in found for folder in folders]
            for number in range(1, training.rounds + 1):
                network, _ = self._train(rank, replace(training, rounds=number - 1))
                sets += self._correct(rank, replace(training, rounds=number), network)
            if not sets:
                raise RuntimeError("no demonstration succeeded.")
            draft = made.with_suffix(".draft")
            with self._use_card(rank) as environment:
                options = [
                    *training.options,
                    *([f"hidden={','.join(training.view.hidden)}"] if training.view.hidden else []),
                ]
                command = [*self._torch, training.trainer, *map(str, sets), *options, f"out={draft}"]
                _run(command, log, environment=environment)
            draft.replace(made)
        lines = log.read_text().splitlines()
        last, data = ([line for line in lines if line.startswith(word)][-1] for word in ("step ", "data: "))
        path = made / "model.safetensors" if made.is_dir() else made  # LeRobot's policies are folders
        return path, {"train_s": round(float(last.split()[-2])), "trained_on": int(data.split()[1])}

    @contextmanager
    def _use_card(self, rank: int) -> Iterator[dict[str, str]]:
        """Waits for a graphics card, or without any for all cores; yields the environment of a training."""
        if not self._n_cards:
            with self._cores.use(rank, self._n_cores):
                yield {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": str(self._n_cores)}
            return
        card = self._free_cards.get()
        try:
            yield {"CUDA_VISIBLE_DEVICES": str(card)}
        finally:
            self._free_cards.put(card)

    def _draw_on(self, number: int) -> dict[str, str]:
        """Returns the variables that make Bullet's OpenGL and pygfx draw on all cards in turn."""
        card = str(number % max(self._n_cards, 1))
        return {"EGL_VISIBLE_DEVICES": card} | ({CARD_VARIABLE: card} if self._n_cards else {})

    def _collect(self, rank: int, demos: Demos, view: View) -> list[Path]:
        """Collects and exports demonstrations; returns the sets."""
        command = ["collect", *task_options(demos.task), f"seed={demos.seed}", *demos.options]
        return self._make_sets(rank, demos.name, command, view, demos.episodes, part=50, environment={})

    def _correct(self, rank: int, training: Training, network: Path) -> list[Path]:
        """Collects and exports corrections of a policy; returns the sets."""
        policy, variables = training.describe_policy([network])
        command = ["collect", *task_options(training.tasks[0]), f"seed={5000 + training.rounds}", "variety=0"]
        command += [policy, "takeover=random"]
        command += training.view.observation_options(training.executed)
        acting = {**variables, "CUDA_VISIBLE_DEVICES": ""}
        name = f"corrections-{training.key}"
        return self._make_sets(rank, name, command, training.view, training.corrections, part=10, environment=acting)

    def _make_sets(
        self,
        rank: int,
        name: str,
        command: Sequence[str],
        view: View,
        episodes: int,
        *,
        part: int,
        environment: Mapping[str, str],
    ) -> list[Path]:
        """Collects and exports episodes in parts of `part` episodes; returns the sets of those with a success."""

        def collect(numbers: range) -> Path:
            data = self._folder / "data" / name / f"{numbers.start}-{numbers.stop}"
            options = [f"only=[{','.join(map(str, numbers))}]", "executor=serial", "give_up_after=null", "pictures=0"]
            with self._cores.use(rank, 1):
                log = self._folder / "logs" / f"{name}-{numbers.start}.log"
                variables = {**environment, **self._draw_on(numbers.start // part)}
                _run([*UNLATCH, *command, *options, f"out={data}"], log, environment=variables)
            return data

        def export(numbers: range) -> Path:
            end = ".npz" if view.arrays else ""
            out = self._folder / "sets" / view.key / name / f"{numbers.start}-{numbers.stop}{end}"
            if out.exists():
                return out
            data = self._once(f"{name} {numbers}", lambda: collect(numbers))
            if not any(item.success for item in unlatch.open_dataset(data).summaries()):
                return out
            if view.cameras:
                self._once(f"{view.render_set} {name} {numbers}", lambda: render(data, numbers))
            log = self._folder / "logs" / f"{name}-{numbers.start}-{view.key}.log"
            draft = out.with_suffix(".draft") if view.arrays else out
            command = [*UNLATCH, "export", str(data), *view.export_options()]
            if view.arrays:
                command = [sys.executable, "states.py", str(data), *view.array_options()]
                out.parent.mkdir(parents=True, exist_ok=True)
            with self._cores.use(rank, 1):
                _run([*command, f"out={draft}"], log)
            if view.arrays:
                draft.replace(out)
            return out

        def render(data: Path, numbers: range) -> None:
            command = ["render", str(data), *view.camera_options("cameras"), f"renderer={view.renderer}"]
            log = self._folder / "logs" / f"{name}-{numbers.start}-{view.render_set}.log"
            variables = self._draw_on(numbers.start // part)
            with self._renderings if view.renderer == "pygfx" else nullcontext(), self._cores.use(rank, 1):
                _run([*UNLATCH, *command, f"name={view.render_set}", "executor=serial"], log, environment=variables)

        parts = [range(first, min(first + part, episodes)) for first in range(0, episodes, part)]
        with ThreadPoolExecutor(len(parts)) as pool:
            outs = pool.map(lambda numbers: self._once(f"{view} {name} {numbers}", lambda: export(numbers)), parts)
            return [out for out in outs if out.exists()]

    def _act(self, rank: int, training: Training, networks: Sequence[Path]) -> tuple[str, Mapping[str, str]]:
        """Returns the option `policy`, and variables of the process; starts a server if another Python has torch."""
        policy, variables = training.describe_policy(networks)
        server = training.server(networks)
        if server is None or not (self._serves or training.trainer == LEROBOT_ARRAYS):
            return policy, variables
        return f"policy=tcp://127.0.0.1:{self._serve(rank, networks, server, variables)}", {}

    def _serve(self, rank: int, networks: Sequence[Path], server: Sequence[str], variables: Mapping[str, str]) -> int:
        """Returns the port of a server that runs until the end of `run`; equal ones are started once.

        Raises:
            RuntimeError: The server ended, or does not listen after two minutes.
        """
        name = _checksum(networks) + variables["UNLATCH_EXECUTED"]
        port = 20000 + int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10000  # equal if an evaluation goes on
        log = self._folder / "logs" / f"serve-{name}.log"
        card = {"CUDA_VISIBLE_DEVICES": str(rank % self._n_cards) if self._n_cards else ""}

        def start() -> int:
            log.parent.mkdir(parents=True, exist_ok=True)
            environment = {**os.environ, **_ONE_THREAD, **variables, **card}
            with log.open("w") as file:
                command = [*self._torch, *server, f"port={port}"]
                process = subprocess.Popen(command, cwd=LEARN, env=environment, stdout=file, stderr=file)
            self._servers.append(process)
            end_s = time.monotonic() + _SERVER_STARTS_S
            while "listening" not in log.read_text():
                if process.poll() is not None or time.monotonic() > end_s:
                    raise RuntimeError(f"the server of the policy does not listen. Look at {log}.")
                time.sleep(0.2)
            return port

        found: int = self._once(f"serve {name}", start)
        return found

    def _evaluate(
        self,
        rank: int,
        training: Training,
        task: str,
        acting: tuple[str, Mapping[str, str]],
        networks: Sequence[Path],
        trained: Mapping[str, Any],
    ) -> None:
        """Evaluates networks in one task, prints the result and stores it; `acting`: see `_act`."""
        name = self._name_evaluation(training, task)
        version = _checksum(networks)
        out, log = self._folder / "evaluations" / f"{name}-{version}", self._folder / "logs" / f"{name}.log"
        workers = min(self._n_cores, _EVALUATION_WORKERS, max(training.episodes // 8, 1))
        policy, variables = acting
        command = ["evaluate", *task_options(task), policy, f"episodes={training.episodes}"]
        command += training.view.observation_options(training.executed)
        command += [f"seed={self._seed}", f"workers={workers}", "pictures=0", f"out={out}"]
        card = str(rank % self._n_cards) if self._n_cards else ""
        environment = {**variables, "CUDA_VISIBLE_DEVICES": card, **self._draw_on(rank)}

        def act() -> float:
            with self._cores.use(rank, workers):
                start = time.perf_counter()
                _run([*UNLATCH, *command], log, environment=environment)
                return time.perf_counter() - start

        evaluate_s = self._once(name, act)
        row = _make_row(training, task, RunStatistics.of(unlatch.open_dataset(out).summaries()))
        row |= {"evaluation": name, "seed": self._seed, "seed_is": self._seed_is, **self._origin.result(), **trained}
        row |= {"evaluate_s": round(evaluate_s), "hardware": self._hardware}
        with self._lock, self.results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{training.name} {task}: goal {row['goal']}, clean {row['clean']} of {row['n']}", flush=True)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Returns what `make` returns for a name; whoever asks first makes it, and the others wait."""
        with self._lock:
            first = name not in self._made
            future = self._made.setdefault(name, Future())
        if first:
            try:
                future.set_result(make())
            except Exception as exc:  # noqa: BLE001 - whoever waits for it must learn of it
                future.set_exception(exc)
        return future.result()


def describe_hardware(cores: int, cards: int) -> str:
    """Returns the cores and graphics cards of a run, such as `32 cores, 2 NVIDIA H200`."""
    if not cards:
        return f"{cores} cores"
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    with suppress(OSError):
        names = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        return f"{cores} cores, {cards} {names[0] if names else 'cards'}"
    return f"{cores} cores, {cards} cards"


def task_options(task: str) -> list[str]:
    """Returns the options of a task."""
    return shlex.split(task) if "=" in task else [f"task={task}"]


def _checksum(networks: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in networks)).hexdigest()[:8]


def _make_row(training: Training, task: str, found: RunStatistics) -> dict[str, Any]:
    """Returns the result of an evaluation, as it is stored."""
    goal, clean, share = found.goal, found.clean, found.share
    return {
        "training": training.name,
        "task": task,
        "attempts": [f"{demos.episodes} {demos.task} {' '.join(demos.options)}" for demos in training.demos],
        "options": training.options,
        "executed": training.executed,
        "n": found.n,
        "goal": goal.successes if goal else 0,
        "clean": clean.successes if clean else 0,
        "share": share.mean if share else 0.0,
        "stages": found.stages,
        "violations": found.violations,
        "codes": found.codes,
    }


def _run(command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None) -> None:
    """Runs a command in the folder of the example; its output goes to a file.

    Raises:
        RuntimeError: Its exit code is not 0, or the run was stopped before.
    """
    if _STOPPED.is_set():
        raise RuntimeError("stopped")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        print(*command, file=file, flush=True)
        variables = {**os.environ, **_ONE_THREAD, **(environment or {})}
        done = subprocess.run(command, cwd=LEARN, env=variables, stdout=file, stderr=file, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"'{' '.join(command[1:5])} ...' ended with exit code {done.returncode}. Look at {log}.")
