"""What short command lines stand for: `object=PATH skill=open`, `part=NAME` and `part=all`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from unlatch.configs.composition import Request, compose_config, to_plain
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_task import derive_task, derive_task_for_any
from unlatch.configs.group_files import option_names
from unlatch.configs.overrides import override_key, unquote_text
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg, RestsOn
from unlatch.objects.library import chooses_instance, load_object
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import hand_shapes
from unlatch.robots.models import stands_on_body
from unlatch.simcore.errors import AssetError, ConfigError, unknown_entry, unknown_name
from unlatch.simcore.files import user_path
from unlatch.skills.catalog import DERIVABLE_SKILLS, SKILLS, derivable_skill
from unlatch.skills.config import part_acted_on
from unlatch.skills.mechanism_steps import steps_before
from unlatch.tasks.stand import StandKind
from unlatch.tasks.task import check_openness

OBJECT_NAME = "object"
"""Scene name of every object that is given by its path, so that data sets have equal keys."""

_CHOICE = re.compile(r"\+{0,2}(?P<key>object|task|skill|part|openness)=(?P<value>.*)\Z", re.DOTALL)

_STAND = re.compile(r"\+{0,2}(stand|stand\.kind)=(?!table\Z)")
"""An override that may put the robot on a stand."""

_STAND_KEY = "stand"

_PLACED = re.compile(r"\+{0,2}(stand|task\.regions|task\.relations|robot\.base_(height_m|x_m|yaw_deg))[=.]")
"""An override that says where the robot or the object stands."""

_ON_FLOOR_M = 0.82
"""Least height of what stands on the floor: fitted appliances begin there (EN 1116), and tables are lower [m]."""
_PEDESTAL_M = [0.02, 1.0]
"""Heights of the stand for it: those of `stand=floor` and of `stand=pedestal` [m]. A task takes what its part needs."""
_EXAMPLES = 3
"""Number of objects that are looked at where each episode draws one."""

logger = logging.getLogger(__name__)


def derive_request(primary: str, schema: type, request: Request, *, notices: list[str] | None = None) -> Request:
    """Replaces `object=PATH`, `skill=`, `part=` and `openness=` by derived content of the groups `object` and `task`.

    An object as high as furniture stands on the floor, and the robot on a stand, unless the request places one of them.
    `primary` names the command's YAML file, and `schema` is the dataclass of its configuration; `notices` receives a
    line about the stand.

    Raises:
        ConfigError: The choices contradict each other, or the skill does not fit the part.
        AssetError: The object does not exist, is damaged, or has no moving part.
    """
    choices, rest = _split_choices(request.overrides)
    if primary == "preview" and "object" in choices and "task" not in choices:
        choices.setdefault("skill", "open")  # a preview of an object alone shows it where it would be opened
    skill, part = choices.get("skill"), choices.get("part")
    _check_choices(choices)
    openness = _read_openness(choices)
    given = dict(request.given)
    if is_object_path(choices.get("object"), request.config_dirs):
        given["object"] = describe_object_path(choices["object"], part)
    elif "object" in choices:
        rest.insert(0, f"object={choices['object']}")
    if "task" in choices:
        rest.insert(0, f"task={choices['task']}")
    found = replace(request, overrides=rest, given=given)
    if skill is None:
        return found
    cfg, robot, by_experiment = _read_start(primary, schema, found)
    has_place = cfg.rests_on is not RestsOn.bottom or bool(by_experiment) or any(map(_PLACED.match, rest))
    if chooses_instance(cfg):
        if not has_place:
            examples = (load_object(cfg, rng=np.random.default_rng(i), number=i) for i in range(_EXAMPLES))
            with suppress(AssetError):  # a damaged one fails the episodes that draw it
                rest += _choose_stand(examples, robot, notices)
        task = derive_task_for_any(skill, cfg, part, openness=openness)
        return replace(found, overrides=rest, given={**given, "task": task})
    asset = load_object(replace(cfg, part=None), rng=np.random.default_rng(0))
    parts = asset.articulation.parts
    if part is not None and part not in parts:
        raise unknown_name(part, f"a part of {cfg.root or asset.name}", where="part", known=parts, heading="Parts")
    if cfg.part is not None:  # the side of that part becomes the front
        asset = load_object(cfg, rng=np.random.default_rng(0))
    if not has_place:
        rest += _choose_stand([asset], robot, notices)
    acted_on = part_acted_on(skill, part, asset.articulation)
    hand, *others = hand_shapes(robot)
    # different hands and sides need different strategies, and only the episode knows which hand acts on which side;
    # the height of a stand is that of the part; what frees a part comes before it only in a chain that is derived
    is_freed = skill != "close" and bool(steps_before(asset, acted_on, dict(asset.rest_positions)))
    if (
        others
        or is_freed
        or cfg.rests_on is RestsOn.any
        or _STAND_KEY in by_experiment
        or any(_STAND.match(text) for text in rest)
    ):
        task = derive_task_for_any(skill, cfg, acted_on.name, openness=openness)
    else:
        task = derive_task(skill, asset, acted_on, hand, openness=openness, scale=robot.scale)
    return replace(found, overrides=rest, given={**given, "task": task})


def _choose_stand(assets: Iterable[ObjectAsset], robot: RobotCfg, notices: list[str] | None) -> list[str]:
    """Returns the overrides of a stand for objects that are all as high as furniture; none where a table serves."""
    height_m = 0.0
    for asset in assets:
        height_m = float(np.ptp(asset.bounds_obj[:, 2]))
        if height_m < _ON_FLOOR_M * robot.scale:
            return []
    has_body = stands_on_body(robot)
    if notices is not None:
        notices.append(
            f"An object {height_m:.2g} m high stands on the table: {robot.name} stands on a body of its own, and on no "
            "stand. A robot without one, such as robot=franka_panda, stands beside it."
            if has_body
            else f"An object {height_m:.2g} m high stands on the floor, and the robot on stand=pedestal. To put both "
            "on a table: stand=table."
        )
    return [] if has_body else ["stand=pedestal", f"stand.height_m={_PEDESTAL_M}"]


def find_doubts_of_object(request: Request) -> list[str]:
    """Returns what no real object has in the URDF that `object=PATH` names, one line each; empty for other objects.

    Raises:
        ConfigError, AssetError: The object does not exist, or is damaged.
    """
    value = _split_choices(request.overrides)[0].get("object")
    if value is None or not is_object_path(value, request.config_dirs):
        return []
    from unlatch.objects.importers.urdf_object import describe_doubts

    return describe_doubts(read_dataclass(ObjectCfg, describe_object_path(value, None), where="object"))


def _split_choices(overrides: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Returns the choices by key, the last one of each, and the other overrides."""
    choices: dict[str, str] = {}
    rest = []
    for text in overrides:
        match = _CHOICE.match(text)
        if match is None:
            rest.append(text)
        else:
            choices[match["key"]] = unquote_text(match["value"])
    return choices, rest


def _read_openness(choices: Mapping[str, str]) -> float | str | None:
    """Returns how far `open` opens the part, a share of its range or `full`; None: as far as its default."""
    text, skill = choices.get("openness"), choices.get("skill")
    if text is None:
        return None
    if skill is None or derivable_skill(skill) != "open":
        beside = "no skill" if skill is None else f"skill={skill}"
        raise ConfigError(
            f"openness={text} asks how far a part is opened, and it has {beside} beside it. Expected "
            "object=NAME skill=open; for a task, set task.derived.openness or a goal of kind open_fraction. Change it.",
            key="openness",
        )
    try:
        value: float | str = float(text)
    except ValueError:
        value = text
    check_openness(value, key="openness")
    return value


def _check_choices(choices: dict[str, str]) -> None:
    skill = choices.get("skill")
    if skill is None:
        if "part" in choices:
            raise ConfigError(
                f"part={choices['part']} has no effect without skill. Expected skill=open or skill=close beside it; "
                "for a task, set skills.0.part. Add or remove it.",
                key="part",
            )
        return
    check_derivable(skill)
    if "task" in choices:
        raise ConfigError(
            f"skill={skill} derives a task, and task={choices['task']} names one. Expected one of them. Remove one.",
            key="skill",
        )
    if "object" not in choices:
        raise ConfigError(
            f"skill={skill} needs an object. Expected object=PATH with a URDF, a USD, a glTF or a folder. Add it.",
            key="object",
        )


def check_derivable(skill: str) -> None:
    """Raises unless a task can be derived for a skill.

    Raises:
        ConfigError: There is no such skill, or it needs a task of its own.
    """
    if skill in SKILLS.names():
        try:
            derivable_skill(skill)
        except ConfigError:
            pass
        else:
            return
    said, advice = f"skill='{skill}' cannot derive a task.", "`close` also presses buttons. Change it, or name a task."
    raise unknown_entry(said, skill, DERIVABLE_SKILLS, advice=advice, error=ConfigError, key="skill")


def is_object_path(value: str | None, config_dirs: Sequence[str]) -> bool:
    """Whether the value of `object=` is the path of a URDF, USD, glTF or folder, not the name of a YAML file."""
    if value is None:
        return False
    if value in option_names("object"):
        if any(Path(value).glob("*.urdf")):
            logger.warning("object=%s is that of Unlatch. For your folder of this name: object=./%s", value, value)
        return False
    if any((user_path(folder) / "object" / f"{value}.yaml").is_file() for folder in config_dirs):
        return False
    from unlatch.objects.annotate.source import needs_urdf

    is_file = value.lower().endswith(".urdf") or needs_urdf(value)
    return is_file or bool(re.search(r"[/\\~]", value)) or Path(value).exists()


def describe_object_path(value: str, part: str | None) -> dict[str, Any]:
    """Returns the `object` of a configuration for the path of a URDF, a USD, a glTF or a folder.

    The side of the part is the front; None: of the first part.

    Raises:
        ConfigError, AssetError: The object does not exist.
    """
    if "${" in value:
        raise ConfigError(f"object='{value}' contains a reference. Expected a plain path. Write it out.", key="object")
    from unlatch.objects.annotate.source import UNKNOWN_CATEGORY, find_urdf, read_category
    from unlatch.objects.importers.urdf_object import is_urdf_folder

    path = user_path(value)
    category = UNKNOWN_CATEGORY if is_urdf_folder(path) else read_category(find_urdf(path))
    node = {"name": OBJECT_NAME, "category": category, "source": "urdf", "root": value}
    return node if part is None else {**node, "part": part}


def _read_start(primary: str, schema: type, request: Request) -> tuple[ObjectCfg, RobotCfg, list[str]]:
    """Reads the object and the robot with their overrides, and which keys of `experiment=` say where they stand."""
    own = [text for text in request.overrides if re.match(r"(\+{0,2}|~)(object|robot|experiment)[.=]", text)]
    composed = compose_config(primary, schema, replace(request, overrides=own, given={"task": {}, **request.given}))
    values = to_plain(OmegaConf.create({"object": composed.object, "robot": composed.robot}))
    cfg = read_dataclass(ObjectCfg, values["object"], where="object")
    robot = read_dataclass(RobotCfg, values["robot"], where="robot")
    placed = [_STAND_KEY] if composed.stand.kind != StandKind.table.value else []
    placed += [key for key in ("regions", "relations") if composed.task.get(key)]
    return replace(cfg, size=robot.scale if cfg.size is None else cfg.size), robot, placed


ALL_PARTS = "all"
"""Value of `part=` that stands for each part in turn."""


def name_each_part(
    primary: str, schema: type, overrides: Sequence[str], config_dirs: Sequence[str]
) -> tuple[list[list[str]], dict[str, str]]:
    """Returns the overrides of a job for each part that the skill fits, the best first, and why others are left out.

    Without `part=all`, that is the one job as it is. `primary` names the command's YAML file, whose configuration has
    the dataclass `schema`; `config_dirs` are folders of YAML files of the user's own.

    Raises:
        ConfigError: `part=all` has no object and skill beside it, the object is drawn in each episode, or the skill
            fits none of its parts.
        AssetError: The object does not exist, is damaged, or has no moving part.
    """
    choices = {override_key(text): text.partition("=")[2] for text in overrides}
    if choices.get("part") != ALL_PARTS:
        return [list(overrides)], {}
    if "object" not in choices or "skill" not in choices:
        raise ConfigError(
            "part=all stands for each part of an object in turn. Expected object=PATH skill=open, close or rotate "
            "beside it. Add them, or name a part.",
            key="part",
        )
    rest = [text for text in overrides if override_key(text) not in ("part", "skill", "openness")]
    request = Request(overrides=rest, config_dirs=list(config_dirs))
    if is_object_path(choices["object"], config_dirs):
        rest = [text for text in rest if override_key(text) != "object"]
        request = replace(request, overrides=rest, given={"object": describe_object_path(choices["object"], None)})
    cfg, robot, _ = _read_start(primary, schema, request)
    if chooses_instance(cfg):
        raise ConfigError(
            f"part=all needs one object, and object={choices['object']} draws one in each episode. Name one, as in "
            "object=FOLDER/OBJECT.urdf or object.instance=0, or leave part out: each episode takes the first part that "
            "fits.",
            key="part",
        )
    asset = load_object(replace(cfg, part=None), rng=np.random.default_rng(0))
    hand, *_ = hand_shapes(robot)
    fitting, left_out = [], {}
    for name, part in asset.articulation.parts.items():
        try:
            derive_task(choices["skill"], asset, part, hand, scale=robot.scale)
        except ConfigError as exc:
            left_out[name] = exc.message
        else:
            fitting.append(name)
    if not fitting:
        raise ConfigError(next(iter(left_out.values()), "the object has no part"), key="part")
    return [
        [text if override_key(text) != "part" else f"part={name}" for text in overrides] for name in fitting
    ], left_out
