"""The commands whose results `make corpus` hashes: tables of command lines, by part."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = {
    name: Path(os.environ.get(name, ROOT.parent / "shared" / folder))
    for name, folder in {
        "UNLATCH_PARTNET_DIR": "partnet_mobility",
        "UNLATCH_PARTNET_MORE_DIR": "partnet_mobility_more",
    }.items()
}
"""Folders of real objects, by the environment variables that name them."""
ENVIRONMENT = {
    **{"COLUMNS": "100", "LINES": "40", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC"},
    **{"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"},
}


class Job(NamedTuple):
    """Commands that run one after the other in a folder of their own."""

    name: str
    commands: Mapping[str, str]
    """Command lines by the names of their items; a command named "" has the name of the job."""
    files: Mapping[str, str | Path] = {}
    """Files in the folder, by path: their text, or the file or folder to copy."""
    before: tuple[str, ...] = ()
    """Command lines that run first. What they print is not hashed."""
    timed: bool = False
    """Whether the commands print times."""
    each: bool = False
    """Whether every file is an item, not all together."""
    environment: Mapping[str, str] = {}


KINDS = (
    *("tasks", "skills", "robots", "objects", "sensors", "cameras", "planners", "randomizations", "disturbances"),
    *("experiments", "executors", "launchers", "annotators", "renderers", "terms", "exporters"),
)
COLLECT = "collect {} episodes=1 executor=serial pictures=0 out=set"
EVALUATE = "evaluate {} episodes=1 executor=serial pictures=0 out=set"
CHECK = "check set replay=true workers=1"
VARIANTS = (
    *("randomization=light", "randomization=full", "randomization=wild", "disturb=light", "disturb=strong"),
    *("replan=2 disturb=strong", "planner=quick", "planner=thorough", "camera=front_wrist", "camera=realsense"),
    *("sensors=[imu,lidar,lidar_wrist,fisheye,following]", "robot=xarm6 randomization=full", "variety=1"),
    *("object.instance=7", "scenery=kitchen", "world.solver_iterations=150", "variety=0.5 randomization=light"),
)
WIDE = {
    "refrigerator": ("openness=0.9", "openness=full", "part=all sweep_dir=all"),
    "laptop": ("openness=0.9",),
    "box": ("openness=full",),
    "bottle": ("openness=full",),
}
POLICIES = (
    *("random", "random action.mode=joint_delta", "random action.mode=ee_delta", "random success_when=still"),
    *("random end_at_violation=true", "policy:Stay", "policy:stay", "random task.max_duration_s=2"),
    "random sensors=[front] observation.images=[rgb] observation.renderer=software task.max_duration_s=1",
)
POLICY = """\
import numpy as np


def stay(observation):
    return np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)


class Stay:
    def act(self, observation):
        return stay(observation)
"""
EXPORTS = {
    "lerobot": "out=exported render=null",
    "lerobot_images": "out=exported format=lerobot render=default",
    "lerobot_delta": "out=exported format=lerobot action=ee_delta rotation=rot6d point_cloud=64 render=null",
    "robomimic": "out=exported.hdf5 format=robomimic render=default",
    "robomimic_pose": "out=exported.hdf5 format=robomimic action=ee_pose objects=false render=null",
    "maniskill": "out=exported format=maniskill render=null",
}
MESH_JOINTS = {
    "mesh_glb": "cabinet.glb joint=hinge moving=door axis=z at=-y",
    "mesh_stl": "box.stl joint=slider moving=piece_1 axis=x",
}


def record_jobs() -> Iterator[Job]:
    """Every task on every robot with one seed, and with another on its own robot: the Panda, or two of them."""
    for task in names_of("tasks"):
        yield _record(f"records/{task}/own/1", f"task={task} seed=1")
        for robot in names_of("robots"):
            again = robot in ("franka_panda", "dual_panda")
            yield _record(f"records/{task}/{robot}/0", f"task={task} seed=0 robot={robot}", replayed=again)


def variant_jobs() -> Iterator[Job]:
    """Tasks with randomization, disturbances, sensors and so on; tasks derived from objects."""
    for task, variants in {"open_microwave": VARIANTS, "turn_stove_knob": VARIANTS[:6]}.items():
        yield from (_record(f"variants/{task}/{more}", f"task={task} seed=0 {more}") for more in variants)
    for category in names_of("objects")[:-1]:
        for skill in ("open", "close", "rotate"):
            words = f"object={category} skill={skill}"
            yield _record(f"variants/derived/{category}/{skill}", f"{words} seed=0", replayed=False)
    for category, variants in WIDE.items():
        for more in variants:
            yield _record(f"variants/derived/{category}/open {more}", f"object={category} skill=open {more} seed=0")
    for path in sorted((ROOT / "examples/objects").iterdir()):
        line = f"object={path.name} skill=open seed=0"
        yield _record(f"variants/own/{path.stem}", line)._replace(files={path.name: path})


def _record(name: str, words: str, *, replayed: bool = True) -> Job:
    commands = {"collect": COLLECT.format(words), "check": CHECK if replayed else "check set"}
    return Job(name, commands, timed=True)


def policy_jobs() -> Iterator[Job]:
    """Policies that act in an episode, alone or until the planner takes over."""
    own = {"policy.py": POLICY}
    for policy in POLICIES:
        line = EVALUATE.format(f"task=open_drawer seed=0 policy={policy}")
        yield Job(f"policies/{policy}", {"evaluate": line, "check": CHECK}, own, timed=True)
    for more in ("random takeover=40", "random takeover=random", "policy:stay takeover=20-60"):
        line = COLLECT.format(f"task=open_drawer seed=0 policy={more}")
        yield Job(f"policies/{more}", {"collect": line, "check": CHECK}, own, timed=True)
    made = (COLLECT.format("task=open_drawer seed=0").replace("set", "made"),)
    line = EVALUATE.format("task=open_drawer seed=0 policy=recorded:made")
    yield Job("policies/recorded", {"evaluate": line, "check": CHECK}, before=made, timed=True)


def generator_jobs() -> Iterator[Job]:
    """Twenty objects of every category that can be generated."""
    for category in names_of("objects")[:-1]:
        if not category.startswith("partnet_"):
            yield Job(f"generators/{category}", {"": f"make-object {category} count=20 out=made"}, each=True)
    yield Job("generators/usd", {"": "make-object all seed=3 out=made usd=true"}, each=True)


def importer_jobs() -> Iterator[Job]:
    """Every kind of file that is read: objects and meshes, robots, task files and planner settings of other systems."""
    folders = sorted((HERE / "inputs/objects").iterdir())
    single = [*sorted((ROOT / "examples/objects").iterdir()), *sorted((ROOT / "tests/data/urdf").iterdir())]
    meshes = sorted((ROOT / "tests/data/meshes").iterdir())
    for path in (*folders, *single, *meshes):
        name = f"urdf/{path.stem}" if path.parent.name == "urdf" else path.stem
        files: dict[str, str | Path] = {f"in/{path.name}" if path.is_file() else "in": path}
        main = [p for p in ([path] if path.is_file() else sorted(path.iterdir())) if p.is_file()][-1].name
        convert, more = f"convert in/{main} out=out", "report=true usd=true"
        if path not in meshes:
            words = MESH_JOINTS.get(name, main)
            commands = {"annotate": f"annotate in/{words} out=annotated", "again": f"annotate in/{words} out=annotated"}
            yield Job(f"importers/annotate/{name}", commands, files)
        yield Job(f"importers/convert/{name}", {"convert": convert, "all": f"{convert}_all {more}"}, files, timed=True)
        if path not in meshes:
            line = COLLECT.format(f"object=in/{main} skill=open seed=0")
            yield Job(f"importers/open/{name}", {"collect": line, "check": CHECK}, files, timed=True)
    for collider in ("convexHull", "boundingCube", "boundingSphere", "meshSimplification", "none"):
        line = f"convert in/angle.obj out=out collision_approximation={collider}"
        files = {"in/angle.obj": ROOT / "tests/data/meshes/angle.obj"}
        yield Job(f"importers/colliders/{collider}", {"": line}, files, timed=True)
    made = ("make-object all seed=5 out=made usd=true",)
    for category in ("microwave_5", "drawer_cabinet_5", "faucet_5", "bottle_5"):
        lines = {
            "urdf": f"convert made/{category}/object.urdf out=from_urdf",
            "usd": f"convert made/{category}/usd/object.usd out=from_usd",
            "annotate urdf": f"annotate made/{category}/object.urdf out=annotated_urdf force=true",
            "annotate usd": f"annotate made/{category}/usd/object.usd out=annotated_usd",
            "annotate interndata": f"annotate made/{category} convention=interndata out=annotated_peer force=true",
        }
        yield Job(f"importers/generated/{category}", lines, before=made, timed=True)
    for path in sorted((HERE / "inputs/robots").iterdir()):
        lines = {
            "new": "new robot arm.urdf name=mine out=mine",
            "check": "check mine/robot/mine.yaml",
            "gripper": "new robot arm.urdf name=other gripper=robotiq_2f85 out=mine",
            "collect": COLLECT.format("task=open_drawer robot=mine seed=0 --config-dir mine"),
        }
        yield Job(f"importers/robots/{path.name}", lines, {"arm.urdf": path / "arm.urdf"}, timed=True)
    peers = [
        path
        for folder in ("examples/peers", "tests/data/peer_tasks", "tests/data/peer_settings")
        for path in sorted((ROOT / folder).iterdir())
    ]
    for path in peers:
        lines = {
            "check": f"check {path.name}",
            "check xarm6": f"check {path.name} robot=xarm6",
            "import": f"import {path.name} name=theirs",
            "import derived": f"import {path.name} name=derived settings=derived out=derived",
            "config": "plan task=theirs --config-dir imported --cfg job --resolve",
            "collect": COLLECT.format("task=theirs seed=0 --config-dir imported"),
        }
        yield Job(f"importers/peers/{path.stem}", lines, {path.name: path}, timed=True)


def shared_jobs() -> Iterator[Job]:
    """Annotations of real objects, and tasks with some of them."""
    for variable, folder in SHARED.items():
        for path in sorted(folder.glob("*/*/")):
            line = f"annotate {path} out=out picture=false"
            yield Job(f"shared/{variable}/{path.parent.name}/{path.name}", {"": line})
    (name, folder), *_ = SHARED.items()
    for category in ("drawer", "microwave", "refrigerator", "safe") if folder.is_dir() else ():
        words = f"object=partnet_{category} skill=open seed=0"
        yield _record(f"shared/{name}/collect/{category}", words)._replace(environment={name: str(folder)})


def export_jobs() -> Iterator[Job]:
    """One small data set in every format, its images, and the pages and pictures that show it."""
    camera = "camera=front camera.cameras.0.width=48 camera.cameras.0.height=36"
    short = f"task=press_door_lever seed=0 world.record_hz=5 {camera}"
    made = (COLLECT.format(short).replace("episodes=1", "episodes=2"),)
    images = ("render set renderer=software rgb=lossless executor=serial modalities=[rgb,depth]",)
    for name, words in EXPORTS.items():
        before = made if "render=null" in words else made + images
        yield Job(f"exports/{name}", {"": f"export set {words}"}, before=before, timed=True)
    kinds = (
        *("rgb", "depth", "distance", "segmentation", "instance_id_segmentation", "normals", "keypoints", "occlusion"),
        *("boxes_2d_tight", "boxes_2d_loose", "boxes_3d", "poses"),
    )
    line = f"render set renderer=software rgb=lossless executor=serial modalities=[{','.join(kinds)}]"
    yield Job("exports/render", {"": line}, before=made, timed=True)
    yield Job("exports/label", {"": "label set out=labels every=60"}, before=made, timed=True)
    yield Job("exports/view", {"": "view set out=view.html"}, before=made, timed=True)
    yield Job("exports/phases", {"": "phases set out=phases.png"}, before=made, timed=True)
    yield Job("exports/report", {"": "report set out=report.html pictures=0"}, before=made, timed=True)
    small = "renderer=software width=96 height=64 fps=2 speed=4"
    yield Job("exports/clip", {"": f"clip set out=clip.gif {small}"}, before=made, timed=True)
    lines = {"": "preview task=open_microwave seed=0 renderer=software out=preview.png"}
    yield Job("exports/preview", lines, timed=True)
    yield Job("exports/plan", {"": "plan task=open_microwave seed=0 out=plan.png"}, timed=True)
    lines = {"merge": "merge joined a b", "watch": "watch joined once=true", "list": "list data ."}
    shards = tuple(made[0].replace("out=set", f"shard={k}/2 out={name}") for k, name in enumerate("ab", start=1))
    yield Job("exports/merge", lines, before=shards, timed=True)


def text_jobs() -> Iterator[Job]:
    """What commands print of themselves: help, lists, schema, composed configurations, templates."""
    for command in ("", *commands(), "new robot"):
        yield Job(f"texts/help/{command or 'all'}", {"": f"{command} --help"})
    yield Job("texts/version", {"": "--version"})
    yield from (Job(f"texts/list/{kind}", {"": f"list {kind}"}) for kind in KINDS)
    yield from (Job(f"texts/completion/{shell}", {"": f"completion {shell}"}) for shell in ("bash", "zsh", "fish"))
    yield Job("texts/schema", {"": "schema"})
    examples = {"mine": ROOT / "examples/configs"}
    for task in names_of("tasks"):
        yield Job(f"texts/config/{task}", {"": f"collect task={task} --cfg job --resolve"})
        yield Job(f"texts/origins/{task}", {"": f"config {task}"})
        yield Job(f"texts/check/{task}", {"": f"check task={task}"})
    for task in ("open_microwave_gently", "open_microwave_interndata"):
        yield Job(f"texts/config/{task}", {"": f"collect task={task} --cfg job --config-dir mine"}, examples)
    for group, kind in {"robot": "robots", "object": "objects", "camera": "cameras", "planner": "planners"}.items():
        for name in (name for name in names_of(kind) if name.isidentifier()):
            yield Job(f"texts/config/{group}={name}", {"": f"config open_microwave diff=open_drawer {group}={name}"})
    for name in (*names_of("experiments"), "smoke launcher=joblib", "smoke launcher=slurm", "smoke executor=ray"):
        line = f"collect task=open_drawer -m experiment={name} --cfg job"
        yield Job(f"texts/config/experiment={name}", {"": line})
    for command in ("plan", "preview", "evaluate policy=random"):
        line = f"{command} task=open_drawer --cfg job --resolve"
        yield Job(f"texts/config/{command}", {"": line})
    for words in ("skill wiggle", "plugin wiggle", "task mine", "task mine object=oven skill=rotate"):
        yield Job(f"texts/new/{words}", {"": f"new {words}"}, each=True)


def message_jobs() -> Iterator[Job]:
    """Mistakes: exit code and message of each."""
    table = (ROOT / "tests/workflows/commands/bad_input.txt").read_text(encoding="utf-8").splitlines()
    mistakes = yaml.safe_load((HERE / "mistakes.yaml").read_text(encoding="utf-8"))
    lines = [line.removeprefix("$ unlatch ") for line in table if line.startswith("$ unlatch ")]
    occupied = {"occupied/note.txt": "mine"}
    for line in dict.fromkeys([*lines, *mistakes["commands"]]):
        yield Job(f"messages/{line}", {"": line}, occupied, timed="episodes=1 " in line)
    for name, mistake in mistakes["files"].items():
        before = ("make-object drawer seed=7 out=object",) if name == "articulation" else ()
        for old, new in [("", ""), *mistake["edits"]]:
            label = " ".join(f"{old} -> {new}".split())
            text = mistake["text"].replace(old, new, 1)
            command = {"": mistake["command"]}
            yield Job(f"messages/{name}: {label}", command, {mistake["path"]: text}, before, timed=name == "policy")
    made = (COLLECT.format("task=press_door_lever seed=0"),)
    yield Job("messages/data", {line: line for line in mistakes["data"]}, before=made, timed=True)


PARTS: dict[str, Callable[[], Iterator[Job]]] = {
    "texts": text_jobs,
    "messages": message_jobs,
    "generators": generator_jobs,
    "importers": importer_jobs,
    "exports": export_jobs,
    "policies": policy_jobs,
    "variants": variant_jobs,
    "records": record_jobs,
    "shared": shared_jobs,
}


def printed(line: str) -> str:
    """Returns what a command prints, run in a process of its own."""
    command = [sys.executable, "-m", "unlatch", *line.split()]
    return subprocess.run(
        command, env={**os.environ, **ENVIRONMENT}, cwd=HERE, capture_output=True, text=True, check=True
    ).stdout


@cache
def names_of(kind: str) -> list[str]:
    """Returns the names that `unlatch list KIND` prints."""
    return [line.split()[0] for line in printed(f"list {kind}").splitlines() if line.strip()]


def commands() -> list[str]:
    """Returns the names of all commands."""
    return re.findall(r"^  ([a-z][a-z-]*)  ", printed("help"), re.MULTILINE)
