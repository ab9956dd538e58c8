"""Trains policies on demonstrations and measures them on unseen objects: the figures of docs/learning.md.

Usage: python benchmarks/learning.py [STUDY...] [seed=778003] [seed_is=development] [out=data/learning] [cores=2]
       [cards=1] [only=TEXT] [renderer=software] [scale=1] [results=FILE.jsonl]

A study is a list of trainings, see STUDIES. For each of them, it collects and exports the demonstrations, trains the
network of examples/learn on them, and evaluates it in 200 episodes of each of its tasks (`points`: 10 of each
category), with objects of another seed. It prints the results as a table, and keeps them in `results.jsonl` in the
folder `out`. The same command again continues an interrupted study. Needs the extras `gym` and `train`.

Each row is one training with one seed: its interval covers the drawn episodes, not the spread between trainings. Up to
three networks train on one card at a time, so their training times depend on each other.

If the environment variable UNLATCH_PARTNET_DIR names a folder of PartNet-Mobility objects, the study `points` also
evaluates its policy on those of them that `any_urdf.py` opens, in five episodes of each object.

The studies `lerobot` and `lerobot_images` train ACT and Diffusion Policy of LeRobot in place of that network, and need
the extra `lerobot`, the second one in the Python `torch`. If no study is named, all others run.

  seed      of the evaluated episodes. The default is for development: choose between trainings with it. `make results`
            evaluates once with a seed that nothing else uses, and says `seed_is=fresh`
  cores     processes at a time, by default one for each core
  cards     graphics cards, on which networks train and images are drawn; 0: networks train on the cores
  only      only trainings whose name, such as `tasks/open_drawer`, has this text; several with commas between
  renderer  of images: `software`, or `pygfx` with a graphics card
  torch     the Python that trains, and serves networks that see; by default this one. It needs torch, not Unlatch
  scale     factor of the numbers of demonstrations, training steps and evaluated episodes, to try it out
  results   file that gets these results, too, in place of earlier ones of the same trainings; docs/learning.md and its
            notes have their tables from `benchmarks/learning_results.jsonl`
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from any_urdf import AnyUrdfCfg, objects_of
from learning_runs import EXECUTED, LEROBOT, LEROBOT_ARRAYS, Demos, Training, TrainingRuns, View
from learning_tables import describe, describe_counts
from rich.box import MARKDOWN
from rich.table import Table
from success_runs import Seed

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.extras import import_extra
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded

NUMBERS = View("numbers", ("joint_position", "gripper", "hand_keypoints", "openness", "geometry"))
NUMBERS_AND_OBJECTS = replace(NUMBERS, objects=True)
"""Policies of LeRobot want a column besides the state: `observation.environment_state`, the poses of the objects."""
SKILLS = replace(NUMBERS, name="skills", state=(*NUMBERS.state, "skill"))
POINTS = View("points", ("joint_position", "gripper"), points=1024)
DENSE_POINTS = replace(POINTS, name="dense", points=2048, part_share=0.75)
"""Of `POINTS`, one or two lie within 4 cm of the middle of a handle; of these, ten to twenty."""
_OF_OBJECT = ("hand_keypoints", "openness", "geometry")
IMAGES = View(
    "images", ("joint_position", "gripper", *_OF_OBJECT), cameras=("front", "wrist"), hidden=_OF_OBJECT, arrays=True
)
"""The network sees its arm and two images; in training, it learns to guess the numbers of the object from them."""
BASE = ("open_microwave", "close_microwave", "open_drawer", "close_drawer")
TASKS = (*BASE, "turn_hand_wheel", "open_box")
"""The four base tasks, one of turning, and one with a lid."""
CURVE_TASK = "close_microwave"
"""The task of the curves: the one in which policies fail most often."""
SLOW = "world.record_hz=10"
"""Ten frames a second in place of 30: a third of the images and points for the same number of demonstrations."""
SLOW_CHUNK, SLOW_EXECUTED = "chunk=12", 5
_FOR_IMAGES = ("batch=256", "noise=0.0", "words=1", SLOW_CHUNK, "width=448")
CLUTTER = "randomization.distractors.least=4 randomization.distractors.most=12"
"""Things on the table; which ones, and where, follows from the seed of an episode."""
TRAINED_ROOMS, UNSEEN_ROOM = ("kitchen", "workshop"), f"scenery=office {CLUTTER}"
SEEDS_OF_TRAININGS = 3
EPISODES_OF_REAL_OBJECT = 5
CATEGORIES_THAT_OPEN = (
    "bottle", "box", "cabinet", "carton", "desk_drawers", "dishwasher", "door", "drawer", "drawer_cabinet", "faucet",
    "laptop", "microwave", "oven", "pot", "refrigerator", "safe", "sliding_window", "toaster", "toilet", "trash_can",
    "washing_machine",
)  # fmt: skip

CATEGORIES_WITH_EDGES = (
    "box", "cabinet", "dishwasher", "drawer_cabinet", "refrigerator", "trash_can", "washing_machine",
)  # fmt: skip
"""Categories of which some objects have no handle."""


def train_for_curve(name: str, *demos: Demos, **more: Any) -> Training:
    """Returns a training for one point of a curve."""
    return Training(name, demos, (CURVE_TASK,), NUMBERS, **more)


def list_tasks() -> Iterator[Training]:
    """Each task by itself, from numbers."""
    for task in TASKS:
        yield Training(task, (Demos(task, 1000 if task == CURVE_TASK else 600),), (task,), NUMBERS)


def list_demonstrations() -> Iterator[Training]:
    """More and more demonstrations."""
    for number in (50, 200, 1000, 3000):
        yield train_for_curve(f"{number}", Demos(CURVE_TASK, number))


def list_disturbances() -> Iterator[Training]:
    """Without and with disturbed demonstrations."""
    for level in ("none", "light", "strong"):
        yield train_for_curve(level, Demos(CURVE_TASK, 200, ("variety=0", f"disturb={level}")))


def list_varieties() -> Iterator[Training]:
    """One plan a scene, the planner's choice, and many plans."""
    for name, words in (("variety0", ("variety=0",)), ("default", ()), ("variety1", ("variety=1",))):
        yield train_for_curve(name, Demos(CURVE_TASK, 200, (*words, "disturb=light")))


def list_chunks() -> Iterator[Training]:
    """Short and long chunks, of which the same share is executed."""
    for chunk in (4, 8, 16, 32, 64):
        options = Training.options if chunk == 32 else (*Training.options, f"chunk={chunk}")
        executed = max(chunk * EXECUTED // 32, 1)
        yield train_for_curve(f"{chunk}", Demos(CURVE_TASK, 1000), options=options, executed=executed)


def list_corrections() -> Iterator[Training]:
    """Rounds in which the planner corrects the policy, beside as many episodes of the planner alone."""
    for rounds in range(4):
        yield train_for_curve(f"{rounds}", Demos(CURVE_TASK, 200), rounds=rounds)
        if rounds:  # as many episodes of the planner alone
            number = 200 + rounds * Training.corrections
            yield train_for_curve(f"{rounds}_without", Demos(CURVE_TASK, number))


def list_one_policy() -> Iterator[Training]:
    """One policy for all tasks; the state has the skill as a one-hot vector."""
    demos = tuple(Demos(task, 600) for task in TASKS)
    yield Training("six_tasks", demos, TASKS, SKILLS, options=("width=512", "batch=2048", "steps=20000"))


def list_points() -> Iterator[Training]:
    """One policy for every category that opens, from points on the object."""
    tasks = tuple(f"object={name} skill=open {SLOW}" for name in CATEGORIES_THAT_OPEN)
    demos = tuple(Demos(task, 150) for task in tasks)
    options = ("width=512", "batch=512", "steps=25000", SLOW_CHUNK)
    even = Training("every_category", demos, tasks, POINTS, options=options, executed=SLOW_EXECUTED, episodes=10)
    dense = replace(even, name="every_category_dense", view=DENSE_POINTS)
    more = replace(dense, name="every_category_more", demos=tuple(Demos(task, 250) for task in tasks))
    wide = replace(more, name="every_category_more_wide", options=("width=768", *options[1:]))
    attention = replace(dense, name="every_category_attention", options=(*options, "heads=32"))
    hidden = replace(dense, name="every_category_hidden", options=(*options, "heads=32", "hide=1.5"))
    edges = replace(hidden, name="every_category_edges", demos=(*demos, *map(_without_handle, CATEGORIES_WITH_EDGES)))
    several = replace(hidden, name="every_category_several", networks=2)
    longer = replace(several, name="every_category_several_longer", executed=10)
    for every in (even, dense, more, wide, attention, hidden, edges, several, longer):
        yield every
        yield from _list_real_objects(every)


def _without_handle(category: str) -> Demos:
    """Objects without a handle, which start ajar: the hand holds the edge of the part, as with many real objects."""
    return Demos(f"object={category} skill=open object.where.handle_kind=edge {SLOW}", 150)


def _list_real_objects(every: Training) -> Iterator[Training]:
    """The same network, evaluated on real objects."""
    for folder, number in sorted(_count_real_objects().items()):
        task = f"object={shlex.quote(str(folder))} skill=open object.instances=round_robin {SLOW}"
        yield replace(
            every, name=f"{every.name}/real_{folder.name}", tasks=(task,), episodes=number * EPISODES_OF_REAL_OBJECT
        )


def _count_real_objects() -> Counter[Path]:
    """Returns the number of real objects that open with one arm, by the folder of their category."""
    variable = os.environ.get("UNLATCH_PARTNET_DIR")
    if not variable:
        return Counter()
    root = Path(variable).absolute()
    return Counter(root / folder.relative_to(root).parts[0] for folder in objects_of(root, AnyUrdfCfg()))


def list_images() -> Iterator[Training]:
    """Each task by itself, from two cameras."""
    for name in TASKS:
        task = f"task={name} {SLOW}"
        options = (*_FOR_IMAGES, "steps=12000")
        yield Training(name, (Demos(task, 1000),), (task,), IMAGES, options=options, executed=SLOW_EXECUTED)


def _demos_in_rooms(task: str) -> tuple[Demos, ...]:
    """Returns a thousand attempted demonstrations: half of them in kitchens and workshops with things on the table."""
    options = ((*Demos.options, f"scenery={room}", *CLUTTER.split()) for room in TRAINED_ROOMS)
    return (Demos(task, 500), *(Demos(task, 250, more, seed) for seed, more in enumerate(options, start=12)))


def list_images_one_policy() -> Iterator[Training]:
    """One policy for all tasks, told its task in words, from two cameras: three trainings, and one without the guess.

    Half of the demonstrations are in a plain room, half in kitchens and workshops with things on the table. Evaluated
    in the plain room and in offices, which are in no demonstration.
    """
    tasks = tuple(f"task={name} {SLOW}" for name in TASKS)
    demos = [demos for task in tasks for demos in _demos_in_rooms(task)]
    unseen = tuple(f"{task} {UNSEEN_ROOM}" for task in tasks)
    six = Training("six_tasks", tuple(demos), tasks, IMAGES, (*_FOR_IMAGES, "steps=16000"), SLOW_EXECUTED)
    three = [replace(six, options=(*six.options, f"seed={seed}")) for seed in range(SEEDS_OF_TRAININGS)]
    for seed, training in enumerate(three):
        yield replace(training, name=f"six_tasks/{seed}")
    yield replace(six, name="without_guess", options=(*six.options, "guess=0"))
    for seed, training in enumerate(three):  # the same networks
        yield replace(training, name=f"unseen_room/{seed}", tasks=unseen)


LEROBOT_POLICIES = {
    "act": (
        6, "policy.chunk_size=12", "policy.dim_model=256", "policy.dim_feedforward=2048",
        "policy.n_vae_encoder_layers=2", "policy.optimizer_lr=1e-4", "steps=15000",
    ),
    "diffusion": (
        8, "policy.horizon=16", "policy.down_dims=[128,256,512]", "policy.noise_scheduler_type=DDIM",
        "policy.num_inference_steps=10", "steps=20000",
    ),
}  # fmt: skip
"""Executed actions and options of `lerobot-train`, by type of the policy."""


def list_lerobot() -> Iterator[Training]:
    """ACT and Diffusion Policy of LeRobot, from numbers."""
    for kind, (executed, *more) in LEROBOT_POLICIES.items():
        options = (f"policy.type={kind}", f"policy.n_action_steps={executed}", "batch_size=128", *more)
        for name in BASE:
            task = f"task={name} {SLOW}"
            demos = Demos(task, 1000 if name == CURVE_TASK else 600)
            yield Training(f"{kind}/{name}", (demos,), (task,), NUMBERS_AND_OBJECTS, options, executed, LEROBOT)


LEROBOT_IMAGES = {
    "act": (
        "chunk_size=12", "n_action_steps=12", "pretrained_backbone_weights=null", "optimizer_lr=1e-4",
        "optimizer_lr_backbone=1e-4",
    ),
    "diffusion": (
        "n_obs_steps=1", "horizon=16", "n_action_steps=12", "down_dims=[128,256,512]",
        "pretrained_backbone_weights=null", "use_group_norm=true",
        "noise_scheduler_type=DDIM", "num_inference_steps=10",
    ),
}  # fmt: skip
"""Keys of the configurations of policies of LeRobot, by their type; the weights of ImageNet cannot be fetched here."""


def list_lerobot_images() -> Iterator[Training]:
    """ACT and Diffusion Policy of LeRobot, from two cameras; one policy for each task."""
    for kind, keys in LEROBOT_IMAGES.items():
        for name in ("close_drawer", "open_microwave"):
            task = f"task={name} {SLOW}"
            options = (f"type={kind}", "batch=128", "steps=10000", *keys)
            yield Training(
                f"{kind}/{name}", _demos_in_rooms(task), (task,), IMAGES, options, SLOW_EXECUTED, LEROBOT_ARRAYS
            )


STUDIES: dict[str, Callable[[], Iterator[Training]]] = {
    "tasks": list_tasks,
    "demonstrations": list_demonstrations,
    "disturbances": list_disturbances,
    "varieties": list_varieties,
    "chunks": list_chunks,
    "corrections": list_corrections,
    "one_policy": list_one_policy,
    "points": list_points,
    "images": list_images,
    "images_one_policy": list_images_one_policy,
    "lerobot": list_lerobot,
    "lerobot_images": list_lerobot_images,
}


@dataclass
class Cfg:
    """The keys of the benchmark."""

    seed: int = 778003
    seed_is: Seed = Seed.development
    out: str = "data/learning"
    cores: int = os.cpu_count() or 1
    cards: int = 0
    only: str = ""
    renderer: str = "software"
    torch: str | None = None
    scale: float = 1.0
    results: str | None = None


def keep_results(rows: list[dict[str, Any]], path: Path) -> None:
    """Adds results to a file, in place of those of the same training and task; a folder keeps its name only."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = {(row["training"], row["task"]): row for row in map(json.loads, lines)}
    for row in rows:
        words = shlex.split(row["task"])
        task = shlex.join(f"object={Path(word[7:]).name}" if word.startswith("object=/") else word for word in words)
        kept[row["training"], task] = {**row, "task": task}
    path.write_text("".join(json.dumps(row) + "\n" for row in kept.values()), encoding="utf-8")


def print_table(rows: list[dict[str, Any]]) -> None:
    """Prints results as a table."""
    names = ("training", "task", "trained on", "n", "goal", "clean", "share", "failures", "training time")
    table = Table(*names, box=MARKDOWN)
    for row in [*rows, *_sum_tasks(rows)]:
        rates = [describe(row[key], row["n"]) for key in ("goal", "clean")]
        codes = describe_counts(row["codes"])
        about = row["training"], row["task"], str(row["trained_on"]), str(row["n"])
        table.add_row(*about, *rates, f"{row['share']:.2f}", codes, f"{row['train_s']} s")
    result_console().print(table)


def _sum_tasks(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields a row for each training with several tasks: counts of all, and the mean share."""
    for name in dict.fromkeys(row["training"] for row in rows):
        found = [row for row in rows if row["training"] == name]
        if len(found) > 1:
            sums = {key: sum(row[key] for row in found) for key in ("n", "goal", "clean")}
            share = sum(row["share"] * row["n"] for row in found) / sums["n"]
            codes = sum((Counter(row["codes"]) for row in found), Counter())
            yield {**found[0], **sums, "task": "all", "share": share, "codes": codes}


def _adapt(training: Training, cfg: Cfg) -> Training:
    """Returns a training with the renderer and the scale of the configuration."""
    view = replace(training.view, renderer=cfg.renderer) if training.view.cameras else training.view
    return replace(training if cfg.scale == 1.0 else training.scaled(cfg.scale), view=view)


def main(arguments: list[str]) -> int:
    """Runs the studies that are named."""
    names = [word for word in arguments if "=" not in word] or [
        name for name in STUDIES if not name.startswith("lerobot")
    ]
    for name in names:
        if name not in STUDIES:
            raise ConfigError(
                f"Study '{name}' is unknown.{close_matches(name, STUDIES)} Studies: {', '.join(STUDIES)}.", study=name
            )
    if "lerobot" in names:
        import_extra("lerobot", extra="lerobot", needed_by="the study 'lerobot'")
    cfg = read_pairs(Cfg, [word for word in arguments if "=" in word])
    trainings = [replace(item, name=f"{name}/{item.name}") for name in names for item in STUDIES[name]()]
    texts = [text.strip() for text in cfg.only.split(",") if text.strip()] or [""]
    chosen = [_adapt(item, cfg) for item in trainings if any(text in item.name for text in texts)]
    if not chosen:
        known = ", ".join(item.name for item in trainings)
        raise ConfigError(f"only={cfg.only} is in no name of a training. Trainings: {known}.", key="only")
    options = {key: getattr(cfg, key) for key in ("seed", "seed_is", "cores", "cards", "torch")}
    runs = TrainingRuns(Path(cfg.out).absolute(), **options)
    problems = runs.run(chosen)
    rows = runs.rows(chosen)
    if cfg.results is not None:
        keep_results(rows, Path(cfg.results))
    print_table(rows)
    for problem in problems:
        print_line(f"failed: {problem}")
    return 1 if problems else OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
