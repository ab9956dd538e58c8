"""The task file that is edited: its text, undo and redo, and where it is saved."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from unlatch.configs.config_files import group_names, option_names, yaml_files
from unlatch.configs.derivation.derived_request import check_derivable, describe_object_path, is_object_path
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.files import read_text, user_path, write_whole_file
from unlatch.workflows.studio.yaml_edit import KeyPath, parse_key, read_tree, remove_value, set_value, value_at

PACKAGE = "# @package _global_"
"""First line of every task file."""
MAX_BYTES = 1 << 20
"""Largest task file that is opened [bytes]."""
_SUFFIX = ".yaml"
_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
_CHOICES = ("task", "object", "skill", "part")


class TaskDocument:
    """The text of one task file. Every change can be undone; a gesture, such as a drag, is one change."""

    def __init__(self, text: str, path: Path) -> None:
        """Makes a document that has not been changed.

        Args:
            text: The content of the file.
            path: Where it is saved if nothing else is said; its name without suffix is the name of the task.
        """
        self.path = path
        self._texts = [text]
        self._at = 0
        self._gesture: str | None = None
        self._saved: str | None = None

    @property
    def text(self) -> str:
        """The present text."""
        return self._texts[self._at]

    @property
    def name(self) -> str:
        """The name by which a command chooses the task once it is saved."""
        return self.path.stem

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier text."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Whether a change was undone."""
        return self._at < len(self._texts) - 1

    @property
    def is_saved(self) -> bool:
        """Whether the file has this text."""
        return self._saved == self.text

    def write(self, text: str, *, gesture: str | None = None) -> None:
        """Replaces the text; consecutive changes of the same gesture are one step of undo."""
        if text == self.text:
            return
        merges = gesture is not None and gesture == self._gesture and self._at > 0
        kept = self._texts[: self._at if merges else self._at + 1]
        self._texts = [*kept, text]
        self._at = len(self._texts) - 1
        self._gesture = gesture

    def end_gesture(self) -> None:
        """Ends a gesture: the next change is a step of its own."""
        self._gesture = None

    def undo(self) -> None:
        """Goes back to the text before the last change; without one, nothing happens."""
        self._at, self._gesture = max(self._at - 1, 0), None

    def redo(self) -> None:
        """Takes back the last undo; without one, nothing happens."""
        self._at, self._gesture = min(self._at + 1, len(self._texts) - 1), None

    def set(
        self,
        path: KeyPath,
        value: Any,
        *,
        base: Mapping[str, Any],
        shown: Mapping[str, Any] | None = None,
        gesture: str | None = None,
    ) -> None:
        """Sets one value, and leaves out what is as in the files that the document builds on.

        A value inside a list that the text lacks brings the whole list into the text, as lists of YAML files replace
        each other.

        Args:
            path: Its place.
            value: Plain values.
            base: The configuration without this file's own values.
            shown: Lists by their key, such as `task.regions`, that an episode derives and `base` lacks.
            gesture: See `write`.

        Raises:
            ConfigError: The text cannot be read, or there is no such entry.
        """
        root = path[: next((i for i, key in enumerate(path) if isinstance(key, int)), len(path))]
        tree = read_tree(self.text)
        own, common = value_at(tree, root), value_at(base, root)
        value = _with_type_of(value, value_at(tree if own else base, path))
        if root == path or (own and int(path[len(root)]) < len(own)):
            text = set_value(self.text, path, value)
        else:
            derived = (shown or {}).get(".".join(map(str, root)), [])
            whole = copy.deepcopy([*own, *derived[len(own) :]] if own else common or derived)
            text = set_value(self.text, root, _with_entry(whole, path[len(root) :], value, root))
        if value_at(read_tree(text), root) == common and common is not None:
            text = remove_value(text, root)
        self.write(text, gesture=gesture)

    def save(self, path: str, *, replace: bool = False) -> Path:
        """Writes the text to a file FOLDER/task/NAME.yaml, byte for byte; returns its path.

        Raises:
            ConfigError: The path is not one where commands find a task, the file belongs to somebody else, or it cannot
                be written.
        """
        file = user_path(path).absolute()
        if file.suffix != _SUFFIX or not _NAME.match(file.stem) or file.parent.name != "task":
            raise ConfigError(
                f"'{path}' is not where commands find a task. Expected FOLDER/task/NAME.yaml with letters, digits, '_' "
                "and '-' in NAME. Change it.",
                key="path",
            )
        known = yaml_files("task")
        if file.stem in known and known[file.stem] != file:
            raise ConfigError(
                f"task '{file.stem}' exists already, and commands would read that one. Expected another name, such as "
                f"my_{file.stem}. Change it.",
                key="path",
            )
        is_own = self._saved is not None and file == self.path
        if file.exists() and not (is_own or replace):
            raise ConfigError(f"{file} exists. Expected a new file. Save again to replace it.", key="replace")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole_file(file, self.text.encode())
        except OSError as exc:
            raise ConfigError(f"{file} cannot be written: {exc.strerror}. Choose another path.", key="path") from exc
        self.path, self._saved = file, self.text
        return file


def open_document(path: str | Path) -> TaskDocument:
    """Opens a task file.

    Raises:
        ConfigError: It is no `.yaml` or `.yml`, or cannot be read. A mistake in its content is found later, so that it
            can be corrected.
    """
    file = user_path(path).absolute()
    if file.suffix not in (_SUFFIX, ".yml"):  # the page shows what it opens, perhaps at another computer
        raise ConfigError(f"{file} is no task file. Expected the path of a file .yaml or .yml. Name another.")
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{file} has more than {MAX_BYTES} bytes. Expected a task file. Name another.")
        text = read_text(file)
    except OSError as exc:
        raise ConfigError(f"{file} cannot be read: {exc.strerror}. Check the path.") from exc
    document = TaskDocument(text, file)
    document._saved = text
    return document


def new_document(overrides: Sequence[str], *, config_dirs: Sequence[str] = ()) -> TaskDocument:
    """Returns a document that builds on a task, or that derives a task from an object.

    Args:
        overrides: As on the command line: `task=open_microwave`, `object=cabinet skill=open`, `robot=ur5`, `seed=3`.
        config_dirs: Folders of YAML files of the user.

    Raises:
        ConfigError: A name is unknown, or the choices contradict each other.
    """
    values = dict(_split(text) for text in overrides)
    chosen = {key: str(values.pop(key)) for key in _CHOICES if key in values}
    _check_choices(chosen, config_dirs)
    groups = {key: values.pop(key) for key in list(values) if key in group_names()}
    if "task" in chosen:
        name, defaults = f"my_{chosen['task']}", [chosen["task"]]
    else:
        name, defaults = f"{chosen['skill']}_{_word_of(chosen['object'])}", []
    own: dict[str, Any] = {}
    for group, option in {**({"object": chosen["object"]} if "object" in chosen else {}), **groups}.items():
        if group == "object" and is_object_path(str(option), config_dirs):
            own["object"] = describe_object_path(str(user_path(str(option)).absolute()), chosen.get("part"))
            continue
        _check_option(group, str(option), config_dirs)
        defaults.append({f"override /{group}": option})  # type: ignore[arg-type]
    text = f"{PACKAGE}\n{_block({'defaults': defaults})}" if defaults else f"{PACKAGE}\n"
    if own:
        text += ("\n" if defaults else "") + _block(own)
    text += f"\ntask:\n  name: {name}\n"
    if "task" not in chosen:
        part = {"part": chosen["part"]} if "part" in chosen else {}
        text = set_value(text, ("task", "derived"), {"skill": chosen["skill"], **part})
        acted_on = {"objects": ["${object.name}"]}
        text += "\n" + _block(
            {"skills": [{"name": "artpreplan", **acted_on}, {"name": chosen["skill"], **acted_on, **part}]}
        )
    for key, value in values.items():
        text = set_value(text, parse_key(key), value)
    return TaskDocument(text, Path("configs") / "task" / f"{name}{_SUFFIX}")


def _split(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or any(part.isdigit() for part in key.split(".")):
        raise ConfigError(
            f"'{text}' cannot be read. Expected task=NAME, object=NAME skill=open, or key=value of a key outside "
            "lists; entries of lists are edited on the page.",
            argument=text,
        )
    try:
        return key.lstrip("+"), yaml.safe_load(value)
    except yaml.YAMLError as exc:
        raise ConfigError(f"'{text}' cannot be read: {' '.join(str(exc).split())}.", argument=text) from exc


def _check_choices(chosen: dict[str, str], config_dirs: Sequence[str]) -> None:
    if "task" in chosen:
        if "skill" in chosen or "part" in chosen:
            raise ConfigError("task= names a task, skill= and part= derive one. Remove one of them.", key="skill")
        _check_option("task", chosen["task"], config_dirs)
        return
    if "object" not in chosen:
        raise ConfigError(
            "studio needs a task to begin with. Expected task=NAME (`unlatch list tasks`), object=NAME with "
            "skill=open, or FILE.yaml. Add one.",
            key="task",
        )
    check_derivable(chosen.setdefault("skill", "open"))


def _check_option(group: str, name: str, config_dirs: Sequence[str]) -> None:
    known = {*option_names(group), *yaml_files(group, config_dirs)}
    if name not in known:
        raise unknown_name(name, f"the name of a {group}", where=group, known=sorted(known))


def _word_of(choice: str) -> str:
    """Returns the name of an object, or of the file or folder of one, as part of the name of a task."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", Path(choice).stem) or "object"


def _with_entry(whole: Any, path: KeyPath, value: Any, root: KeyPath) -> Any:
    """Returns a list in which one entry, or a value in an entry, is another one."""
    inner = value_at(whole, path[:-1])
    key = path[-1]
    fits = isinstance(inner, dict) or (isinstance(inner, list) and isinstance(key, int) and key < len(inner))
    if not fits:
        where = ".".join(map(str, root))
        raise ConfigError(f"{where} has no entry {'.'.join(map(str, path))}. Correct the YAML.", key=where)
    inner[key] = value
    return whole


def _with_type_of(value: Any, old: Any) -> Any:
    """Returns a value in which whole numbers are written as `1.0` where the old one has such numbers."""
    if isinstance(value, list) and isinstance(old, list) and len(value) == len(old):
        return [_with_type_of(*pair) for pair in zip(value, old, strict=True)]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and isinstance(old, float) else value


def _block(values: Mapping[str, Any]) -> str:
    """Returns the lines of top-level keys."""
    text = ""
    for key, value in values.items():
        text = set_value(text, (key,), value)
    return text
