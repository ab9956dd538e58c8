"""Commands that write files of a user's own: `new` from a template, `import` from a task of another system."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from unlatch.configs.derived_request import describe_object_path, is_object_path
from unlatch.configs.group_files import option_names, yaml_files
from unlatch.configs.peer_tasks.importer import ImportedTask, import_tasks, own_robot_file
from unlatch.configs.peer_tasks.peer_values import ImportCfg
from unlatch.robots.foreign_models import MENAGERIE, menagerie_file
from unlatch.robots.hand_shape import describe_direction, describe_hand_frame
from unlatch.simcore.errors import ConfigError, close_matches, count_noun, unknown_entry
from unlatch.simcore.files import path_word, user_path
from unlatch.skills.catalog import SKILLS, derivable_skill
from unlatch.workflows.assets.new_robot import NewRobotCfg, new_robot, try_robot
from unlatch.workflows.cli.arguments import read_pairs, split_paths, split_words
from unlatch.workflows.cli.terminal import BAD_INPUT, OK, command, print_line, print_note, relative_path
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.loading import load
from unlatch.workflows.viewing.picture import write_own_text

_WHAT = ("plugin", "robot", "skill", "task")
_NAME = re.compile(r"[a-z](_?[a-z0-9])*\Z")
_PLACE = re.compile(r"@(\w+)@")
_SKILL_OBJECT = "drawer"
_MOST_NAMED = 8
_FEW_POSES = 0.5
"""An arm that reaches less than this share of hand poses refuses or fails many layouts."""


@dataclass
class NewCfg:
    """Options of `unlatch new skill` and `unlatch new plugin`."""

    out: str | None = None
    """Folder that is written."""


@dataclass
class NewTaskCfg(NewCfg):
    """Options of `unlatch new task`."""

    object: str = _SKILL_OBJECT
    """Name of an object's YAML, or the path of a URDF."""
    skill: str = "open"
    """Name of a skill for which tasks can be derived."""
    part: str | None = None
    """Part that it acts on."""


@command
def new_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    words, pairs = split_words(arguments)
    if words[:1] == ["robot"]:
        return _write_robot(words, pairs)
    if len(words) != 2 or words[0] not in _WHAT:
        meant = close_matches(words[0], _WHAT) if words and words[0] not in _WHAT else ""
        raise ConfigError(
            f"new got '{' '.join(words)}'.{meant} Expected one of {', '.join(_WHAT)} and a name, "
            "then key=value. `unlatch new --help` shows it."
        )
    what, name = words
    if not _NAME.match(name):
        raise ConfigError(
            f"'{name}' is not a valid name. Expected small letters, digits and '_', starting with a letter. Change it.",
            key="name",
        )
    if what == "task":
        return _write_task(name, read_pairs(NewTaskCfg, pairs))
    return _write_plugin(name, read_pairs(NewCfg, pairs), with_object=what == "plugin")


def _write_task(name: str, cfg: NewTaskCfg) -> int:
    _check_name_is_free(name, yaml_files("task"), "task")
    category, lines = _object_lines(cfg.object)
    SKILLS.entry(cfg.skill)
    derivable_skill(cfg.skill)
    file = user_path(cfg.out or "configs") / "task" / f"{name}.yaml"
    if file.exists():
        raise ConfigError(f"{file} exists already. Expected a new file. Choose another name or out=.", key="out")
    text = _fill_task(name, lines, category, cfg.skill, cfg.part)
    if cfg.part is not None:  # the object may have no such part, or the skill may not fit it
        with TemporaryDirectory() as scratch:
            _write_files({Path(scratch) / "task" / f"{name}.yaml": text})
            check_assets(load(name, config_dirs=[scratch]))
    _write_files({file: text})
    folder = file.parent.parent
    print_line(f"task: {file}")
    print_line(f"next: unlatch collect task={name} --config-dir {path_word(folder)} episodes=4 out=data/{name}")
    return OK


def _fill_task(task: str, object_lines: str, category: str, skill: str, part: str | None = None) -> str:
    """Returns the YAML file of a task; `object_lines` select its object."""
    words = {
        "task": task,
        "object_lines": object_lines,
        "object_words": category.replace("_", " "),
        "skill": skill,
        "skill_words": skill.replace("_", " "),
        "part": "" if part is None else f", part: {part}",
        "part_line": "" if part is None else f"\n    part: {part}",
    }
    return _fill_template("task", words)


def _object_lines(value: str) -> tuple[str, str]:
    """Returns the category of an object, and the lines of a task that select it, from a name or the path of a URDF."""
    known = option_names("object")
    if value in known:
        return value, _select_object(value)
    if not is_object_path(value, ()):
        raise unknown_entry(
            f"object='{value}' is unknown.",
            value,
            known,
            error=ConfigError,
            listed_by="unlatch list objects",
            advice="Name one of them, or give the path of a URDF.",
            key="object",
        )
    node = describe_object_path(str(user_path(value).absolute()), None)
    category = str(node["category"])
    node["name"] = category if _NAME.match(category) else node["name"]
    return category, "object:\n" + "".join(f"  {key}: {json.dumps(item)}\n" for key, item in node.items())


def _select_object(name: str) -> str:
    return f"defaults:\n  - override /object: {name}\n"


def _write_plugin(name: str, cfg: NewCfg, *, with_object: bool) -> int:
    _check_name_is_free(name, SKILLS.names(), "skill")
    folder = user_path(cfg.out or name)
    if folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} exists already. Expected a new folder. Choose another name or out=.", key="out")
    made_for = ".".join(version("unlatch").split(".")[:2])
    words = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "Class": "".join(word.capitalize() for word in name.split("_")),
        "version": made_for,
        "task": f"{name}_block" if with_object else f"{name}_{_SKILL_OBJECT}",
        "object": f"{name}_block" if with_object else _SKILL_OBJECT,
        "checks": "check_object, check_skill" if with_object else "check_skill",
    }
    words["object_entry"] = _fill_template("object_entry", words) if with_object else ""
    words["object_test"] = _fill_template("object_test", words) if with_object else ""
    task = words["task"]
    task_text = _fill_task(task, _select_object(words["object"]), words["object"], name)
    package = folder / f"unlatch_{name}"
    files = {
        folder / "pyproject.toml": _fill_template("pyproject", words),
        folder / "README.md": _fill_template("readme", words),
        package / "__init__.py": _fill_template("package", words),
        package / "skill.py": _fill_template("skill", words),
        package / "configs" / "__init__.py": _fill_template("configs", words),
        package / "configs" / "task" / f"{task}.yaml": task_text,
        folder / "tests" / f"test_{name}.py": _fill_template("test", words),
    }
    if with_object:
        files[package / "block.py"] = _fill_template("block", words)
        files[package / "configs" / "object" / f"{words['object']}.yaml"] = _fill_template("object", words)
    _write_files(files)
    print_line(f"{'plugin' if with_object else 'skill'}: {folder}, {len(files)} files; what to change is marked CHANGE")
    print_line(f"next: pip install -e {path_word(folder)}")
    print_line(f"      unlatch collect task={task} episodes=4 out=data/{name}")
    return OK


def _write_robot(words: Sequence[str], pairs: Sequence[str]) -> int:
    """Writes the YAML of a robot from its URDF, and a picture to check it."""
    if len(words) != 2:
        raise ConfigError(
            f"new got '{' '.join(words)}', expected `robot` and a URDF or MJCF file, then key=value. `unlatch new "
            "--help` shows it."
        )
    cfg = read_pairs(NewRobotCfg, pairs)
    stated = words[1]
    of_menagerie = stated.startswith(MENAGERIE)
    made = new_robot(menagerie_file(stated.removeprefix(MENAGERIE)) if of_menagerie else user_path(stated), cfg)
    robot, name = made.robot, made.robot.name
    for arm, share in zip(robot.arms, made.reach_shares, strict=True):
        gripper = arm.gripper
        print_line(f"arm {arm.name}: {arm.base_link} to {arm.ee_link}, {len(arm.joints)} joints")
        print_line(f"  {describe_hand_frame(arm)}")
        print_line(
            f"  gripper {1e3 * gripper.max_width_m:.0f} mm, {len(gripper.joints)} joints, {gripper.grip_force_n:g} N"
        )
        few = "; a Panda reaches nearly all: expect layouts out of reach" if share < _FEW_POSES else ""
        print_line(f"  reaches {100 * share:.0f} % of hand poses over the region of derived tasks{few}")
    if made.mount is not None:
        place = ", ".join(f"{1e3 * value + 0.0:.0f}" for value in made.mount.T_link_mount.p)
        out = describe_direction(made.mount.T_link_mount.R[:, 2])
        print_line(f"{Path(str(cfg.gripper)).stem} on {made.mount.link}: at ({place}) mm, along {out}")
    for line in made.lines:
        print_line(line)
    turn = f", turned by {robot.base_yaw_deg:g} degrees" if robot.base_yaw_deg else ""
    print_line(f"base at x = {robot.base_x_m:g} m, {robot.base_height_m:g} m above the table{turn}")
    if robot.scale != 1.0:
        print_line(f"a small arm: its tasks have {robot.scale:g} of the size of those of a Panda (scale)")
    for result in try_robot(robot):
        print_line(result.line)
    if made.still:
        more = f" and {len(made.still) - _MOST_NAMED} more" if len(made.still) > _MOST_NAMED else ""
        print_line(f"held still: {', '.join(made.still[:_MOST_NAMED])}{more}")
    if made.copied_urdf is not None:
        print_line(f"the robot has a copy of the file, changed or with what it leaves out: {made.copied_urdf}")
    print_line(f"look up in the data sheet: {', '.join(made.remarks)}")
    print_line(f"wrote {made.yaml_file} and {made.picture}; check the picture, then:")
    where = f"robot={name} --config-dir {path_word(cfg.out)}"
    print_line(f"  unlatch collect task=open_drawer {where} episodes=10 out=data/{name}")
    return OK


def _check_name_is_free(name: str, known: Sequence[str] | Mapping[str, Path], kind: str) -> None:
    if name in known:
        raise ConfigError(f"There is a {kind} '{name}' already. Expected another name. Choose one.", key="name")


def _fill_template(template: str, words: Mapping[str, str]) -> str:
    """Returns a template with each `@word@` filled in."""
    text = (Path(__file__).resolve().parents[1] / "templates" / f"{template}.txt").read_text(encoding="utf-8")
    return _PLACE.sub(lambda found: words[found[1]], text)


def _write_files(files: Mapping[Path, str]) -> None:
    """Writes all files or none."""
    made: list[Path] = []
    try:
        for file, text in files.items():
            missing = [parent for parent in file.parents if not parent.exists()]
            file.parent.mkdir(parents=True, exist_ok=True)
            made += reversed(missing)
            made.append(file)
            file.write_text(text, encoding="utf-8")
    except OSError as exc:
        for path in reversed(made):
            with suppress(OSError):  # the first error is the one to report
                if path.is_dir():
                    path.rmdir()
                else:
                    path.unlink(missing_ok=True)
        raise ConfigError(f"{exc.filename} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc


@command
def import_command(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_paths("import", arguments, least=0)
    if len(paths) != 1:
        raise ConfigError(
            f"import got {len(paths)} files, expected one YAML file, then key=value. `unlatch import --help` shows it."
        )
    (path,) = paths
    cfg = read_pairs(ImportCfg, pairs)
    found = import_tasks(path, cfg)
    files = {item.name: user_path(cfg.out) / "task" / f"{item.name}.yaml" for item in found}
    for name, file in files.items():
        if name in yaml_files("task"):
            raise ConfigError(f"There is a task '{name}' already. Expected another name. Add name=NAME.", key="name")
        if file.exists() and not cfg.force:
            raise ConfigError(f"{file} exists already. Expected a new file. Add force=true, name= or out=.", key="out")
    for item in found:
        _write(item, files[item.name], cfg)
    return OK if any(item.error is None for item in found) else BAD_INPUT


def _write(item: ImportedTask, file: Path, cfg: ImportCfg) -> None:
    """Writes one task, and prints what became of each value."""
    for line in sorted(item.lines, key=lambda line: not line.is_read):
        print_line(str(line))
    if item.error is not None:
        print_note(f"unlatch: {item.error.message}")
        return
    write_own_text(file, item.text)
    robot = own_robot_file(cfg.robot)
    of_robot = [] if robot is None else [relative_path(robot.absolute().parent.parent)]
    folders = dict.fromkeys([str(file.parent.parent), *of_robot])
    where = " ".join(f"--config-dir {path_word(folder)}" for folder in folders)
    left = sum(not line.is_read for line in item.lines)
    print_line(f"task: {file}, {count_noun(len(item.lines) - left, 'value')} read, {left} without a counterpart")
    print_line(f"next: unlatch check task={item.name} {where}")
    print_line(f"      unlatch preview task={item.name} {where}")
    print_line(f"      unlatch collect task={item.name} {where} episodes=4 out=data/{item.name}")
