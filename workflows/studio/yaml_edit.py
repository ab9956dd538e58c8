"""Changes single values in the text of a YAML file; every other byte, comments too, stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import yaml

from unlatch.simcore.errors import ConfigError

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
    if _is_empty(node):
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


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


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
