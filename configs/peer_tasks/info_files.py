"""Finds the annotation files of InternDataEngine that belong to an object of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unlatch.configs.cross_checks import folders_of_info
from unlatch.configs.peer_tasks.chain import PeerSkill
from unlatch.configs.peer_tasks.scene_objects import SceneObject
from unlatch.configs.peer_tasks.values import read_text
from unlatch.objects.annotate.peer_info import find_info_part, with_info_file
from unlatch.simcore.errors import UnlatchError


def find_info_file(skill: PeerSkill, item: Mapping[str, Any], scene: SceneObject, roots: Sequence[Path]) -> Path | None:
    """Returns the `info.json` of a skill's object: the one that skill or object names, else that of its `info_name`.

    Args:
        skill: The skill.
        item: The object in the file.
        scene: The object that stands for it.
        roots: Folders from which paths of the file start.
    """
    if scene.node is None:
        return None
    own = folders_of_info(Path(str(scene.node["root"])))
    named, usual = skill.part_key or read_text(item.get("obj_info_path")), read_text(item.get("info_name"))
    places = [folder / named for folder in (*roots, *own) if named]
    places += [own[0] / "Kps" / usual / "info.json"] if usual else []
    return next((place.absolute() for place in places if place.is_file()), None)


def read_info_file(scene: SceneObject, path: Path) -> tuple[str | None, str]:
    """Returns the part that an `info.json` is about, and why its keypoints cannot be used; empty if they can."""
    try:
        part = find_info_part(scene.asset, path)
    except UnlatchError as exc:
        return None, exc.message
    if part is None:
        return None, f"{path} is about a joint by which no part of {scene.name} moves"
    try:
        with_info_file(scene.part(part), scene.asset, path)
    except UnlatchError as exc:
        return part, exc.message
    return part, ""
