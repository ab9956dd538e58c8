"""The task file that is edited: its text, undo and redo, and where it is saved. Single values are changed in the text;
every other byte, comments too, stays as it is.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from unlatch.configs.config_files import group_names
from unlatch.configs.derived_request import check_derivable, describe_object_path, is_object_path
from unlatch.configs.group_files import option_names, yaml_files
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.files import read_text, user_path, write_whole_file

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys of mappings and indices of lists, from the root: `("task", "regions", 0, "yaw_deg")`."""

_WIDTH = 110
"""Longest line of a list or mapping that is written on one line."""
_WORD = re.compile(r"[^.\[\]]+")


def parse_key(key: str) -> KeyPath:
    """Returns the path of a key as messages write it: `task.regions[0].yaw_deg`."""
    return tuple(int(word) if word.isdigit() else word for word in _WORD.findall(key))


def read_tree(text: str) -> dict[str, Any]:
    """Returns the content of a YAML file whose root is a mapping; of an empty one, an empty mapping.

    Raises:
        ConfigError: It cannot be read. The attribute `line` is the line of the mistake, from 1, or None.
    """
    try:
        tree = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        where = "" if line is None else f" in line {line}"
        reason = " ".join(str(getattr(exc, "problem", None) or exc).split())
        raise ConfigError(f"The YAML cannot be read{where}: {reason}. Correct it.", line=line) from exc
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError("The YAML is not a mapping. Expected `key: value` lines. Correct it.", line=1)
    return tree


def value_at(tree: Any, path: KeyPath) -> Any:
    """Returns the value at a path; None if there is none."""
    for key in path:
        if isinstance(tree, dict):
            tree = tree.get(key)
        elif isinstance(tree, list) and isinstance(key, int) and key < len(tree):
            tree = tree[key]
        else:
            return None
    return tree


def find_line(text: str, path: KeyPath) -> int | None:
    """Returns the line, from 1, of a key, or of the closest key around it that the text has; None if it has none."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line = None
    for key in path:
        entry = _find_entry(node, key)
        if entry is None:
            break
        marked, node = entry
        line = marked.start_mark.line + 1
    return line


def set_value(text: str, path: KeyPath, value: Any) -> str:
    """Returns the text with another value at a path; missing mappings on the way are added.

    A value that the text has is replaced where it stands. A new key comes after the last one of its mapping.

    Raises:
        ConfigError: The text cannot be read, or the path leads into a value that is no mapping or list.
    """
    read_tree(text)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return _join_lines(text, _to_block({path[0]: _nest(path[1:], value)}, 0))
    node, depth = root, 0
    marks: list[Any] = []
    while depth < len(path):
        entry = _find_entry(node, path[depth])
        if entry is None:
            break
        marks.append(node)
        node, depth = entry[1], depth + 1
    if depth == len(path):
        return _replace_node(text, node, value, parent=marks[-1])
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
        return _replace_node(text, node, _nest(path[depth:], value), parent=marks[-1])
    if not isinstance(node, yaml.MappingNode):
        where = ".".join(map(str, path[:depth]))
        raise ConfigError(f"{where} has no key {path[depth]} to set. Correct it in the YAML.", key=where)
    if node.flow_style:
        filled = {**_construct(node), path[depth]: _nest(path[depth + 1 :], value)}
        return _replace_node(text, node, filled, parent=marks[-1] if marks else node)
    column = node.value[0][0].start_mark.column
    at = _end_of(text, node)
    block = _to_block({path[depth]: _nest(path[depth + 1 :], value)}, column)
    blank = "\n" if depth == 0 else ""
    return _splice(text, at, at, f"\n{blank}{block}")


def remove_value(text: str, path: KeyPath) -> str:
    """Returns the text without a key; a mapping that becomes empty is removed, too. A missing key changes nothing.

    Raises:
        ConfigError: The text cannot be read.
    """
    read_tree(text)
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    steps: list[tuple[Any, yaml.Node, yaml.Node]] = []
    for key in path:
        entry = _find_entry(node, key)
        if entry is None:
            return text
        steps.append((node, *entry))
        node = entry[1]
    while len(steps) > 1 and len(steps[-1][0].value) == 1:
        steps.pop()
    parent, key_node, value_node = steps[-1]
    if parent.flow_style or isinstance(parent, yaml.SequenceNode):
        rest = _construct(parent)
        del rest[path[len(steps) - 1]]
        return _replace_node(text, parent, rest, parent=steps[-2][0] if len(steps) > 1 else parent)
    start = text.rfind("\n", 0, key_node.start_mark.index) + 1
    end = text.find("\n", _end_of(text, value_node))
    end = len(text) if end < 0 else end + 1
    while start == 0 or text[:start].endswith("\n\n"):  # the blank line before it goes, too
        if start == 0:
            break
        start -= 1
    return text[:start] + text[end:]


def _find_entry(node: Any, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Returns the node that marks an entry, and the node of its value."""
    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(key)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key], node.value[key]
    return None


def _replace_node(text: str, node: yaml.Node, value: Any, *, parent: yaml.CollectionNode) -> str:
    start = node.start_mark.index
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        column = node.start_mark.column
        block = _to_block(value, column).lstrip(" ") if _is_filled(value) else _to_flow(value)
        return _splice(text, start, _end_of(text, node), block)
    if not parent.flow_style and not _fits(value, _WIDTH - node.start_mark.column, opened=0):
        if isinstance(parent, yaml.SequenceNode):
            block = _to_block(value, node.start_mark.column).lstrip(" ")
        else:
            block = f"\n{_to_block(value, parent.start_mark.column + 2)}"
            start = len(text[:start].rstrip(" "))
        return _splice(text, start, node.end_mark.index, block)
    space = " " if start and text[start - 1] == ":" else ""
    return _splice(text, start, node.end_mark.index, space + _to_flow(value))


def _end_of(text: str, node: yaml.Node) -> int:
    """Returns where a node ends; PyYAML ends a block where the next one begins, after blank lines and comments."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(text, last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    while end > node.start_mark.index and text[end - 1] == "\n":  # of a text of several lines
        end -= 1
    line_end = text.find("\n", end)
    rest = text[end : line_end if line_end >= 0 else len(text)]
    return end + len(rest) if rest.lstrip().startswith("#") else end


def _splice(text: str, start: int, end: int, part: str) -> str:
    return text[:start] + part + text[end:]


def _join_lines(text: str, block: str) -> str:
    return f"{text.rstrip()}\n{block}\n".lstrip("\n")


def _nest(path: Sequence[str | int], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _is_filled(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _construct(node: yaml.Node) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _to_flow(value: Any) -> str:
    """Returns a value on one line, quoted as inside a list or mapping on one line."""
    dumped: str = yaml.dump(
        [value], Dumper=_PlainDumper, default_flow_style=True, sort_keys=False, allow_unicode=True, width=1 << 20
    )
    return dumped.rstrip("\n").removeprefix("[").removesuffix("]")


def _to_block(value: Any, column: int) -> str:
    """Returns a filled mapping or list over several lines, without the last line break; what fits is on one line.

    The keys of the root, and the entries of what they hold, have lines of their own.
    """
    return "\n".join(
        " " * column + line for line in _block_lines(value, _WIDTH - column, opened=2 if column == 0 else 1)
    )


def _block_lines(value: Any, width: int, *, opened: int = 0) -> Iterator[str]:
    """Yields the lines of a value; the first `opened` levels are not joined to one line."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            head = f"{_to_flow(key)}:"
            if _fits(item, width - len(head) - 1, opened=opened - 1):
                yield f"{head} {_to_flow(item)}"
            else:
                yield head
                yield from (f"  {line}" for line in _block_lines(item, width - 2, opened=opened - 1))
    elif isinstance(value, list) and value:
        for item in value:
            if _fits(item, width - 2, opened=1 if isinstance(item, dict) and len(item) == 1 else 0):
                yield f"- {_to_flow(item)}"
            else:
                first, *rest = _block_lines(item, width - 2)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
    else:
        yield _to_flow(value)


def _fits(value: Any, width: int, *, opened: int) -> bool:
    if not _is_filled(value):
        return True
    return opened <= 0 and not _lists_entries(value) and len(_to_flow(value)) <= width


def _lists_entries(value: Any) -> bool:
    """Whether a value has a list of mappings, each of which gets lines of its own."""
    if isinstance(value, dict):
        return any(_lists_entries(item) for item in value.values())
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


class _PlainDumper(yaml.SafeDumper):
    """Writes a value that occurs twice in full, not as a reference."""

    def ignore_aliases(self, data: Any) -> bool:
        """Answers for every value."""
        return True


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
        word = re.sub(r"[^A-Za-z0-9_-]", "_", Path(chosen["object"]).stem) or "object"
        name, defaults = f"{chosen['skill']}_{word}", []
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
