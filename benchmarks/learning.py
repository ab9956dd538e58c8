"""Trains policies on demonstrations and measures them on objects that they have not seen: the figures of docs/learning.md.

Usage: python benchmarks/learning.py STUDY... [n=200] [seed=778003] [out=data/learning] [cores=2] [cards=1] [only=TEXT]

Each study is a list of trainings, see STUDIES. For each training, it collects and exports the demonstrations, trains the
network of examples/learn on them, and evaluates it in `n` episodes of each of its tasks. It prints a line for each
evaluation, and appends it to `results.jsonl` in the folder `out`. The same command again continues an interrupted study.
Collects with `cores` processes. `cards` is the number of graphics cards; without any, networks train on the CPU. Needs
the extras `gym` and `train`. Times are wall times of one training beside others.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from typing import Any

import unlatch
from unlatch.workflows.runs.statistics import RunStatistics

LEARN = Path(__file__).parents[1] / "examples" / "learn"
DEMONSTRATIONS = ("variety=0", "disturb=light")
BASE = ("open_microwave", "close_microwave", "open_drawer", "close_drawer")
TASKS = (*BASE, "turn_hand_wheel", "open_box")
CURVE_TASK = "close_microwave"
"""The four base tasks, one of turning, and one with a lid."""
CATEGORIES_THAT_OPEN = (
    "bottle", "box", "cabinet", "carton", "desk_drawers", "dishwasher", "door", "drawer", "drawer_cabinet", "faucet",
    "laptop", "microwave", "oven", "pot", "refrigerator", "safe", "sliding_window", "toaster", "toilet", "trash_can",
    "washing_machine",
)  # fmt: skip
NUMBERS = ("joint_position", "gripper", "hand_keypoints", "openness", "geometry")
SIZE_PX = 128
EXECUTED = 20


@dataclass(frozen=True)
class View:
    """What a policy observes."""

    name: str = "numbers"
    state: tuple[str, ...] = NUMBERS
    points: int = 0
    """Points of the object."""
    cameras: tuple[str, ...] = ()

    def export_options(self) -> list[str]:
        """Returns the options of `unlatch export`."""
        options = [f"state=[{','.join(self.state)}]", "objects=false", "keypoints=false"]
        return [
            *options,
            *([f"point_cloud={self.points}"] if self.points else []),
            *(["render=two"] * bool(self.cameras)),
        ]


def _camera_options(key: str, cameras: Sequence[str]) -> list[str]:
    sizes = [f"{key}.{i}.{side}={SIZE_PX}" for i in range(len(cameras)) for side in ("width", "height")]
    return [f"{key}=[{','.join(cameras)}]", *sizes]


VIEWS = {
    "numbers": View(),
    "skills": View("skills", (*NUMBERS, "skill")),
    "points": View("points", ("joint_position", "gripper"), points=1024),
    "images": View("images", ("joint_position", "gripper"), cameras=("front", "wrist")),
    "images_of_all": View("images_of_all", ("joint_position", "gripper", "skill"), cameras=("front", "wrist")),
}


@dataclass(frozen=True)
class Demos:
    """Demonstrations of a task: of `task=NAME`, or of an object and a skill."""

    task: str
    episodes: int
    options: tuple[str, ...] = DEMONSTRATIONS
    seed: int = 11

    @property
    def name(self) -> str:
        """A name for folders."""
        words = [self.task, *self.options, f"s{self.seed}"]
        return "-".join(words).replace("=", "").replace(" ", "-")


@dataclass(frozen=True)
class Training:
    """One policy: what it learns from, and in which tasks it is evaluated."""

    name: str
    demos: tuple[Demos, ...]
    tasks: tuple[str, ...]
    view: str = "numbers"
    options: tuple[str, ...] = ("width=256", "batch=1024", "steps=10000")
    executed: int = EXECUTED
    rounds: int = 0
    """Rounds of corrections, see docs/recovery.md: the policy of the round before acts, and the planner corrects it."""
    corrections: int = 150
    """Episodes of a round."""
    n: int | None = None
    """Episodes of each task, if not the `n` of the command."""

    @property
    def key(self) -> str:
        """The same for trainings that give the same network."""
        made_of = (self.demos, self.view, self.options, self.rounds, self.corrections * (self.rounds > 0))
        return f"{self.tasks[0].replace(' ', '-')}-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:8]}"


def task_options(task: str) -> list[str]:
    """Returns the options of a task or of an object with a skill."""
    return task.split() if "=" in task else [f"task={task}"]


def _study(name: str, of: Callable[[], Iterator[Training]]) -> list[Training]:
    return [replace(item, name=f"{name}/{item.name}") for item in of()]


def _tasks() -> Iterator[Training]:
    for task in TASKS:
        yield Training(task, (Demos(task, 1000 if task == CURVE_TASK else 600),), (task,))


def _demonstrations() -> Iterator[Training]:
    for number in (50, 200, 1000, 3000):
        yield Training(f"{number}", (Demos(CURVE_TASK, number),), (CURVE_TASK,))


def _disturbances() -> Iterator[Training]:
    for level in ("none", "light", "strong"):
        yield Training(level, (Demos(CURVE_TASK, 500, ("variety=0", f"disturb={level}")),), (CURVE_TASK,))


def _varieties() -> Iterator[Training]:
    for words in ((), ("variety=0",), ("variety=1",)):
        demos = (Demos(CURVE_TASK, 500, (*words, "disturb=light")),)
        yield Training(words[0].replace("=", "") if words else "default", demos, (CURVE_TASK,))


def _chunks() -> Iterator[Training]:
    for chunk in (4, 8, 16, 32, 64):
        options = Training.options if chunk == 32 else (*Training.options, f"chunk={chunk}")
        executed = max(chunk * EXECUTED // 32, 1)
        yield Training(f"{chunk}", (Demos(CURVE_TASK, 1000),), (CURVE_TASK,), options=options, executed=executed)


def _corrections() -> Iterator[Training]:
    for rounds in range(4):
        yield Training(f"{rounds}", (Demos(CURVE_TASK, 200),), (CURVE_TASK,), rounds=rounds)


def _one_policy() -> Iterator[Training]:
    demos = tuple(Demos(task, 600) for task in TASKS)
    yield Training("six_tasks", demos, TASKS, view="skills", options=("width=512", "batch=2048", "steps=20000"))


def _points() -> Iterator[Training]:
    tasks = tuple(f"object={name} skill=open" for name in CATEGORIES_THAT_OPEN)
    demos = tuple(Demos(task, 150) for task in tasks)
    options = ("width=512", "batch=512", "steps=25000")
    yield Training("every_category", demos, tasks, view="points", options=options, n=10)


def _images() -> Iterator[Training]:
    for task in BASE:
        demos = (Demos(task, 300), Demos(task, 300, ("variety=0", "disturb=strong")))
        options = ("width=384", "batch=256", "steps=15000")
        yield Training(task, demos, (task,), view="images", options=(*options, "noise=0.01"))
        if task == BASE[0]:
            yield Training(f"{task}-undisturbed", demos, (task,), view="images", options=(*options, "noise=0.0"))


STUDIES: dict[str, Callable[[], Iterator[Training]]] = {
    "tasks": _tasks,
    "demonstrations": _demonstrations,
    "disturbances": _disturbances,
    "varieties": _varieties,
    "chunks": _chunks,
    "corrections": _corrections,
    "one_policy": _one_policy,
    "points": _points,
    "images": _images,
}


@dataclass
class Cfg:
    """The keys of the benchmark."""

    n: int = 200
    seed: int = 778003
    out: str = "data/learning"
    cores: int = os.cpu_count() or 1
    cards: int = 1
    only: str = ""
    renderer: str = "tiny"
    """Of the images: `tiny`, or `egl` on a graphics card."""
    evaluate: str = ",".join(VIEWS)
    """Views whose policies are evaluated; the others are trained only."""
    scale: float = 1.0
    """Factor of all numbers of demonstrations and steps, to try the benchmark out."""


@dataclass
class Study:
    """Runs trainings beside each other, on a number of cores and graphics cards."""

    cfg: Cfg
    _made: dict[str, Future[Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _free: threading.Semaphore = field(init=False)
    _cards: Queue[int] = field(default_factory=Queue)

    def __post_init__(self) -> None:
        self.folder = Path(self.cfg.out).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._free_cores = self.cfg.cores
        self._changed = threading.Condition()
        for card in [*range(max(self.cfg.cards, 1))] * (3 if self.cfg.cards else 1):
            self._cards.put(card)
        self.results = self.folder / "results.jsonl"
        lines = self.results.read_text().splitlines() if self.results.exists() else []
        self._done = {(row["training"], row["task"]) for row in map(json.loads, lines)}

    def run(self, trainings: Sequence[Training]) -> None:
        """Makes all evaluations that are missing."""
        with ThreadPoolExecutor(max_workers=len(trainings)) as pool:
            for future in [pool.submit(self._run_training, rank, item) for rank, item in enumerate(trainings)]:
                problem = future.exception()
                if problem is not None:
                    print(f"failed: {problem}", flush=True)

    def _run_training(self, rank: int, training: Training) -> None:
        if all((training.name, task) in self._done for task in training.tasks):
            return
        network, seconds = self.train(rank, training)
        if training.view not in self.cfg.evaluate.split(","):
            return
        with ThreadPoolExecutor(max_workers=len(training.tasks)) as pool:
            list(pool.map(lambda task: self.evaluate(rank, training, task, network, seconds), training.tasks))

    def train(self, rank: int, training: Training) -> tuple[Path, float]:
        """Makes the network of a training; returns its file and how long it trained [s]."""
        return self._once(training.key, lambda: self._make_network(rank, training))

    def _make_network(self, rank: int, training: Training) -> tuple[Path, float]:
        view = VIEWS[training.view]
        path = self.folder / "networks" / f"{training.key}.pt"
        log = path.with_suffix(".log")
        if not path.exists():
            sets = [folder for demos in training.demos for folder in self._collect(rank, demos, view)]
            for number in range(1, training.rounds + 1):
                network, _ = self.train(rank, replace(training, rounds=number - 1))
                sets += self._correct(rank, replace(training, rounds=number), network)
            card = self._cards.get()
            try:
                environment = {"CUDA_VISIBLE_DEVICES": str(card) if self.cfg.cards else ""}
                command = [sys.executable, "train.py", *map(str, sets), *training.options, f"out={path}"]
                _run(command, log, cwd=LEARN, environment=environment)
            finally:
                self._cards.put(card)
        last = [line for line in log.read_text().splitlines() if line.startswith("step ")][-1]
        return path, float(last.split()[-2])

    def _collect(self, rank: int, demos: Demos, view: View) -> list[Path]:
        """Collects and exports demonstrations in parts; returns the sets."""
        words = ["collect", *task_options(demos.task), f"seed={demos.seed}", *demos.options]
        return self._make_parts(rank, demos.name, words, view, demos.episodes, environment={})

    def _correct(self, rank: int, training: Training, network: Path) -> list[Path]:
        view = VIEWS[training.view]
        words = ["collect", *task_options(training.tasks[0]), f"seed={5000 + training.rounds}"]
        acting = ["variety=0", "policy=policy:ChunkPolicy", "takeover=random", "label_every=8"]
        environment = {
            "UNLATCH_POLICY": str(network),
            "UNLATCH_EXECUTED": str(training.executed),
            "CUDA_VISIBLE_DEVICES": "",
        }
        words = [*words, *acting, *self._observe(view, training.executed)]
        return self._make_parts(rank, f"corrections-{training.key}", words, view, training.corrections, environment)

    def _make_parts(
        self, rank: int, name: str, words: list[str], view: View, episodes: int, environment: dict[str, str]
    ) -> list[Path]:
        size = 10 if "label_every=8" in words else 50

        def collect(part: int, numbers: range) -> Path:
            data = self.folder / "data" / name / f"{part}-{len(numbers)}"
            only = f"only=[{','.join(map(str, numbers))}]"
            with self._use_cores(rank, 1):
                _run([*UNLATCH, *words, only, "executor=serial", "give_up_after=null", "pictures=0", f"out={data}"],
                     self.folder / "logs" / f"{name}-{part}.log", cwd=LEARN, environment=environment,
                     codes=(0, 1))  # fmt: skip
            return data

        def export(part: int) -> Path | None:
            numbers = range(part * size, min((part + 1) * size, episodes))
            out = self.folder / "sets" / view.name / name / f"{part}-{len(numbers)}"
            if out.exists():
                return out
            data = self._once(f"{name}-{part}-{len(numbers)}", lambda: collect(part, numbers))
            log = self.folder / "logs" / f"{name}-{part}-{view.name}.log"
            with self._use_cores(rank, 1):
                if view.cameras:
                    sizes = [*_camera_options("cameras", view.cameras), f"renderer={self.cfg.renderer}"]
                    _run([*UNLATCH, "render", str(data), *sizes, "name=two", "executor=serial"], log)
                _run([*UNLATCH, "export", str(data), f"out={out}", *view.export_options()], log, codes=(0, 1, 2))
            return out if out.exists() else None

        parts = range((episodes + size - 1) // size)
        with ThreadPoolExecutor(max_workers=len(parts)) as pool:
            return [
                out
                for out in pool.map(
                    lambda part: self._once(
                        f"{view.name}-{name}-{part}-{episodes if part == parts[-1] else 0}", lambda: export(part)
                    ),
                    parts,
                )
                if out is not None
            ]

    def _observe(self, view: View, executed: int) -> list[str]:
        """Returns the options of what a policy observes; images are made when the next actions are predicted."""
        options = [f"observation.{option}" for option in view.export_options() if not option.startswith("render")]
        images = []
        if view.cameras:
            images = [*_camera_options("sensors", view.cameras), "observation.images=[rgb]"]
            images += [f"observation.images_every={executed}", f"observation.renderer={self.cfg.renderer}"]
        return ["observation.columns=true", "observation.keys=[]", *options, *images]

    def evaluate(self, rank: int, training: Training, task: str, network: Path, seconds: float) -> None:
        """Evaluates a network in one task, prints the result and stores it."""
        if (training.name, task) in self._done:
            return
        view, n = VIEWS[training.view], training.n or self.cfg.n
        name = f"{training.key}-{training.executed}-{task}".replace(" ", "-").replace("=", "")
        out = self.folder / "evaluations" / name
        workers = min(self.cfg.cores, max(n // 8, 1), 8)
        words = ["evaluate", *task_options(task), "policy=policy:ChunkPolicy", f"episodes={n}", f"seed={self.cfg.seed}"]
        environment = {
            "UNLATCH_POLICY": str(network),
            "UNLATCH_EXECUTED": str(training.executed),
            "CUDA_VISIBLE_DEVICES": str(rank % self.cfg.cards) if self.cfg.cards else "",
        }

        def act() -> float:
            with self._use_cores(rank, workers):
                start = time.perf_counter()
                command = [*UNLATCH, *words, *self._observe(view, training.executed)]
                log = self.folder / "logs" / f"{name}.log"
                _run([*command, f"workers={workers}", "pictures=0", f"out={out}"], log, cwd=LEARN,
                     environment=environment, codes=(0, 1))  # fmt: skip
                return time.perf_counter() - start

        self._store(training, task, out, seconds, self._once(name, act))

    def _store(self, training: Training, task: str, out: Path, seconds: float, wall_s: float) -> None:
        found = RunStatistics.of(unlatch.open_dataset(out).summaries())
        clean = found.clean or found.goal
        row = {
            "training": training.name, "task": task, "view": training.view, "options": training.options,
            "demos": [f"{demos.episodes} {demos.task} {' '.join(demos.options)}" for demos in training.demos],
            "executed": training.executed, "n": found.n, "seed": self.cfg.seed,
            "goal": found.goal.successes, "clean": clean.successes, "stages": found.stages, "codes": found.codes,
            "violations": found.violations, "train_s": round(seconds), "evaluate_s": round(wall_s),
        }  # fmt: skip
        row["share"] = None if found.share is None else found.share.mean
        with self._lock:
            with self.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(f"{training.name} {task}: goal {found.goal}; clean {clean}; share {row['share']}; {found.codes}; "
                  f"trained {seconds:.0f} s, evaluated {wall_s:.0f} s", flush=True)  # fmt: skip

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Returns what `make` returns for a name; whoever asks first makes it."""
        with self._lock:
            first = name not in self._made
            future = self._made.setdefault(name, Future())
        if first:
            try:
                future.set_result(make())
            except BaseException as exc:
                future.set_exception(exc)
        return future.result()

    @contextmanager
    def _use_cores(self, rank: int, count: int) -> Iterator[None]:
        """Waits for free cores; trainings that come first in the study go first."""
        ticket = (rank, time.monotonic(), threading.get_ident())
        with self._changed:
            self._tickets.append(ticket)
            self._changed.wait_for(lambda: min(self._tickets) == ticket and self._free_cores >= count)
            self._tickets.remove(ticket)
            self._free_cores -= count
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free_cores += count
                self._changed.notify_all()

    _tickets: list[tuple[int, float, int]] = field(default_factory=list)


UNLATCH = [sys.executable, "-m", "unlatch"]


def _run(
    command: list[str],
    log: Path,
    *,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> None:
    """Runs a command; its output goes to a file.

    Raises:
        RuntimeError: It failed.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with log.open("a") as file:
        file.write(" ".join(command) + "\n")
        file.flush()
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, **threads, **(environment or {})},
            stdout=file,
            stderr=file,
            check=False,
        )
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(command[:8])} ...: exit code {done.returncode}; see {log}")


def _scale(training: Training, factor: float) -> Training:
    """Returns a training with fewer demonstrations and steps."""
    words = [word.split("=") for word in training.options]
    options = tuple(f"{key}={int(int(value) * factor) if key == 'steps' else value}" for key, value in words)
    demos = tuple(replace(demos, episodes=max(int(demos.episodes * factor), 12)) for demos in training.demos)
    return replace(training, demos=demos, options=options, corrections=max(int(training.corrections * factor), 8))


def main() -> None:
    """Runs the studies of the command line."""
    names = [word for word in sys.argv[1:] if "=" not in word]
    given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    cfg = Cfg(**{key: type(getattr(Cfg, key))(value) for key, value in given.items()})
    found = [item for name in names or STUDIES for item in _study(name, STUDIES[name])]
    Study(cfg).run([_scale(item, cfg.scale) for item in found if cfg.only in item.name])


if __name__ == "__main__":
    main()
