"""Writes the objects of published MuJoCo models as URDFs, for `any_urdf.py`: objects on which no rule was written.

Usage: pip install --no-deps --target data/packages metaworld gymnasium-robotics robosuite
       python benchmarks/published_models.py [packages=data/packages] [out=data/published]
       UNLATCH_PARTNET_DIR=data/published python benchmarks/any_urdf.py categories=all n=20

The models are scenes of Meta-World and Franka Kitchen with their robots, and doors of robosuite. Each object is written
by `unlatch annotate SCENE.xml body=NAME` into a folder of its own; its annotation is derived again with every episode.
Buttons are left out: no skill of the benchmark presses.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded
from unlatch.workflows.commands.objects import annotate_command

_KITCHEN = "gymnasium_robotics/envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml"
_METAWORLD = "metaworld/assets/sawyer_xyz/sawyer_"
_ROBOSUITE = "robosuite/models/assets/objects/"
OBJECTS = {
    "kitchen_microwave": (_KITCHEN, "microwave"),
    "kitchen_sliding_cabinet": (_KITCHEN, "slidecabinet"),
    "kitchen_hinged_cabinet": (_KITCHEN, "hingecabinet"),
    "metaworld_dial": (f"{_METAWORLD}dial.xml", "dial"),
    "metaworld_door": (f"{_METAWORLD}door_pull.xml", "door"),
    "metaworld_door_lock": (f"{_METAWORLD}door_lock.xml", "door"),
    "metaworld_drawer": (f"{_METAWORLD}drawer.xml", "drawer"),
    "metaworld_faucet": (f"{_METAWORLD}faucet.xml", "faucetBase"),
    "metaworld_handle": (f"{_METAWORLD}handle_press.xml", "box"),
    "metaworld_handle_sideways": (f"{_METAWORLD}handle_press_sideways.xml", "box"),
    "metaworld_laptop": (f"{_METAWORLD}laptop.xml", "laptop"),
    "metaworld_lever": (f"{_METAWORLD}lever_pull.xml", "lever"),
    "metaworld_window": (f"{_METAWORLD}window_horizontal.xml", "window"),
    "metaworld_window_vertical": (f"{_METAWORLD}window.xml", "window"),
    "robosuite_door": (f"{_ROBOSUITE}door.xml", "object"),
    "robosuite_door_with_latch": (f"{_ROBOSUITE}door_lock.xml", "object"),
}
"""File and body by the name of an object."""


@dataclass
class Cfg:
    """The keys of this command."""

    packages: str = "data/packages"
    """Folder into which pip installed the packages."""
    out: str = "data/published"


def main(arguments: list[str]) -> int:
    """Writes every object."""
    cfg = read_pairs(Cfg, arguments)
    for name, (file, body) in OBJECTS.items():
        scene = Path(cfg.packages) / file
        if not scene.is_file():
            raise ConfigError(f"'{scene}' is not there. Install the packages: see the first lines of this program.")
        print_line(f"== {name}")
        folder = Path(cfg.out) / name
        code = annotate_command([str(scene), f"body={body}", f"out={folder}", "picture=false", "force=true"])
        if code != OK:
            return code
        (folder / ANNOTATION_FILE).unlink()
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
