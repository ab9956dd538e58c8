"""Imports whole task files in the manner of InternDataEngine's and counts what succeeds.

Usage: python benchmarks/peer_tasks.py [n=10] [seed=0] [only=TEXT] [out=data/bench-peer-tasks]

Each run writes n USD objects of a category, one for each seed, with an `info.json` whose head is where the setting
touches the part: on its handle, or on its free edge. It writes a task file around a setting of
`benchmarks/peer_settings`, in which a reference names the robot.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from peer_files import run_unlatch

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

SETTINGS = Path(__file__).with_name("peer_settings") / "interndata"
RUNS = (
    ("open_microwave_ajar", "microwave", "door", (0.34, 0.45), "split_aloha", "open_v", False),
    ("open_refrigerator_edge", "refrigerator", "door", (0.34, 0.45), "franka", "open_v", True),
    ("close_microwave_push_fr3", "microwave", "door", (0.6, 1.0), "franka", "close_v", True),
    ("close_laptop_fr3", "laptop", "lid", (0.785, 0.875), "franka", "close_h", True),
    ("pull_drawer_ajar", "drawer", "drawer", (0.09, 0.12), "split_aloha", "pull", False),
    ("push_drawer_lift2", "drawer", "drawer", (0.10, 0.14), "lift2", "push", True),
)
"""Setting, category, part, range of the start [rad or m], robot and `info_name` of each run, and whether the head is on
the edge."""


@dataclass
class PeerTasksCfg:
    """The keys of this benchmark."""

    n: int = 10
    """Objects of each setting."""
    seed: int = 0
    """Seed of the runs, and of the first object."""
    only: str = ""
    """Settings whose names have this text."""
    out: str = "data/bench-peer-tasks"
    """Folder of the objects, the tasks and the data sets."""


def write_object(folder: Path, category: str, part: str, info_name: str, seed: int, *, on_edge: bool) -> str:
    """Writes a USD with `Kps/INFO_NAME/info.json` beside it; returns its path."""
    made = folder / "made"
    for words in (
        ("make-object", category, f"seed={seed}", "usd=true", f"out={made}", "force=true"),
        ("annotate", made, "convention=interndata", "picture=false", "force=true"),
    ):
        problem = run_unlatch(*words)
        if problem:
            raise RuntimeError(problem)
    info = json.loads((made / "Kps" / part / "info.json").read_text(encoding="utf-8"))
    if on_edge:
        model = read_urdf(made / "object.urdf")
        head = _edge(info, model, str(info["object_link_path"]).rpartition("/")[2])
        info["object_keypoints"]["articulated_object_head"] = head
    place = made / "usd" / "Kps" / info_name / "info.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(info), encoding="utf-8")
    return "made/usd/object.usd"


def _edge(info: dict[str, Any], model: Any, link: str) -> list[float]:
    """Returns the head, moved along head to tail to the free edge of its part, frame of the link."""
    points = info["object_keypoints"]
    head, tail = (np.array(points[f"articulated_object_{name}"]) for name in ("head", "tail"))
    along = (head - tail) / np.linalg.norm(head - tail)
    boxes = [shape for shape in model.links[link].collisions if shape.kind.value == "box"]
    # the panel lies along head and tail; the floor of a drawer, which is larger, across them
    boxes = [box for box in boxes if abs(box.T_link_shape.R[:, int(np.argmin(box.size))] @ along) < 0.5]
    panel = max(boxes, key=lambda shape: float(np.prod(sorted(shape.size)[1:])))
    half = float(np.abs(panel.T_link_shape.R.T @ along) @ np.asarray(panel.size)) / 2
    middle = panel.T_link_shape.p
    edge = head + along * (half - float((head - middle) @ along))
    thin = panel.T_link_shape.R[:, int(np.argmin(panel.size))]
    return [round(float(v), 6) for v in edge - thin * float((edge - middle) @ thin)]


def make_task(run: tuple[Any, ...], path: str) -> dict[str, Any]:
    """Returns the content of a task file."""
    setting, category, _, start, robot, info_name, _ = run
    tree = yaml.safe_load((SETTINGS / f"{setting}.yaml").read_text(encoding="utf-8"))
    (chain,) = tree["skills"][0].values()
    skills = [{robot: [{**stage} for stage in chain]}]
    regions = [
        {"object": category, "pos_range": [[-0.05, 0.05, 0.0], [0.05, 0.1, 0.0]], "yaw_rotation": [-5, 5]},
        {"object": "${tasks.0.robots.0.name}", "pos_range": [[0.0, -0.6, 0.0]] * 2, "yaw_rotation": [0, 0]},
    ]
    sampler = "A_on_B_region_sampler"
    return {
        "tasks": [
            {
                "name": setting,
                "asset_root": ".",
                "robots": [{"name": robot, "robot_config_file": f"robots/{robot}.yaml", "euler": [0.0, 0.0, 90.0]}],
                "objects": [
                    {
                        "name": category,
                        "target_class": "ArticulatedObject",
                        "path": path,
                        "info_name": info_name,
                        "category": category,
                        "joint_position_range": list(start),
                    }
                ],
                "regions": [
                    {"object": each.pop("object"), "target": "table", "random_type": sampler, "random_config": each}
                    for each in regions
                ],
                "skills": skills,
            }
        ]
    }


def run_setting(run: tuple[Any, ...], cfg: PeerTasksCfg) -> Counter[str]:
    """Runs the episodes of one setting; returns how often each outcome occurs, `ok` for a success."""
    setting, category, part, _, _, info_name, on_edge = run
    outcomes: Counter[str] = Counter()
    for seed in range(cfg.seed, cfg.seed + cfg.n):
        home = Path(cfg.out).absolute() / setting / str(seed)
        home.mkdir(parents=True, exist_ok=True)
        path = write_object(home, category, part, info_name, seed, on_edge=on_edge)
        file = home / f"{setting}.yaml"
        file.write_text(yaml.safe_dump(make_task(run, path)), encoding="utf-8")
        problem = run_unlatch("import", file, f"out={home}", "force=true")
        if not problem:
            words = ("--config-dir", home, f"seed={seed}", "episodes=1", "pictures=0", "executor=serial")
            problem = run_unlatch("collect", f"task={setting}", *words, f"out={home / 'data'}")
        if (home / "data").is_dir():
            for record in DataSet.open(home / "data"):
                outcomes["ok" if record.success else f"{record.code}: {record.message}"[:240]] += 1
        else:
            outcomes[problem[:240]] += 1
    return outcomes


def main(arguments: list[str]) -> int:
    """Runs every setting and prints the results."""
    cfg = read_pairs(PeerTasksCfg, arguments)
    for run in RUNS:
        if cfg.only in run[0]:
            found = run_setting(run, cfg)
            print_line(f"{run[0]}: {found['ok']} of {sum(found.values())}")
            for reason, count in found.most_common():
                if reason != "ok":
                    print_line(f"    {count} x {reason}")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
