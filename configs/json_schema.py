"""Makes a JSON Schema of task files from their dataclasses, for completion and checks in editors."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import textwrap
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from unlatch.configs.config_files import group_names
from unlatch.configs.dataclass_reader import split_optional
from unlatch.configs.group_files import option_names
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import PluginError
from unlatch.simcore.ranges import Range
from unlatch.simcore.registry import Catalog
from unlatch.simcore.sim.sensors.config import SENSORS, SensorCfg
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import SkillCfg
from unlatch.solver.setting import IGNORED, PlannerSettingCfg

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = {"type": "string", "pattern": r"\$\{.+\}", "description": "a reference to another key: ${object.name}"}
_SCALARS: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": ["string", "number"]},
}
_ROBOT_STAGES = {
    "type": "object",
    "description": "entries by arm that run at the same time: {ROBOT: [{left: [...], right: [...]}]}",
    "not": {"required": ["name"]},
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": {"type": "array", "items": {"type": "object"}},
}


def task_schema() -> dict[str, Any]:
    """Returns the schema of a task's YAML file.

    It has keys, types and choices, also those of installed plugins. Rules between several keys, objects or robots are
    checked when the file is read.
    """
    schema = _SchemaBuilder()
    root = schema.of_dataclass(EpisodeCfg)
    choices = {f"override /{group}": _name_schema(group) for group in group_names() if group != "task"}
    one_override = {"type": "object", "properties": choices, "minProperties": 1, "maxProperties": 1}
    root["properties"]["defaults"] = {
        "type": "array",
        "description": "files that this one builds on: a task's name, {override /object: NAME}, _self_",
        "items": {"anyOf": [_name_schema("task"), {"const": "_self_"}, one_override]},
    }
    title = "A task of Unlatch; its file begins with the line '# @package _global_'"
    return {"$schema": DIALECT, "title": title, **root, "$defs": dict(sorted(schema.definitions.items()))}


def _name_schema(group: str) -> dict[str, Any]:
    """Returns the schema of a name of a group: known names, which editors complete, or any other name."""
    return {"anyOf": [{"enum": option_names(group)}, {"type": "string"}]}


class _SchemaBuilder:
    """Builds the schema of each dataclass once."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def of_dataclass(self, cls: type) -> dict[str, Any]:
        """Returns the schema of a dataclass; no key is required, because another file may state it."""
        hints, words = get_type_hints(cls, include_extras=True), field_docs(cls)
        properties = {}
        for item in dataclasses.fields(cls):
            if item.init:
                key = str(item.metadata.get("key", item.name))
                found = self._optional_schema(hints[item.name])
                properties[key] = {"description": words[item.name], **found} if words.get(item.name) else found
        return {"type": "object", "properties": properties, "additionalProperties": False}

    def _optional_schema(self, hint: Any) -> dict[str, Any]:
        hint, optional = split_optional(hint)
        found = self._type_schema(hint)
        choices = [found, {"type": "null"}] if optional else [found]
        if found.get("type") in ("boolean", "integer", "number") or "enum" in found:
            choices.append(_REFERENCE)  # texts may be references anyway; mappings are never references
        return found if not found or len(choices) == 1 else {"anyOf": choices}

    def _type_schema(self, hint: Any) -> dict[str, Any]:
        if get_origin(hint) is Annotated:
            kind, *notes = get_args(hint)
            return {**self._type_schema(kind), **_bounds(next(item for item in notes if isinstance(item, Range)))}
        if hint in _SCALARS:
            return _SCALARS[hint]
        if hint is SkillCfg:
            return {"anyOf": [*self._schemas_by_name("skill", SKILLS, "name"), dict(_ROBOT_STAGES)]}
        if hint is SensorCfg:
            return {"anyOf": [{"type": "string"}, {"anyOf": self._schemas_by_name("sensor", SENSORS, "type")}]}
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if hint.__name__ not in self.definitions:
                self.definitions[hint.__name__] = {}  # a dataclass may contain itself
                if hint is PlannerSettingCfg:  # it has other forms too, see docs/planner_settings.md: any value will do
                    properties: dict[str, Any] = {key: {"description": text} for key, text in field_docs(hint).items()}
                    properties |= {key: {"description": "of another system; ignored"} for key in IGNORED}
                    made = {"type": "object", "properties": properties, "additionalProperties": False}
                else:
                    made = self.of_dataclass(hint)
                self.definitions[hint.__name__] = made
            return {"$ref": f"#/$defs/{hint.__name__}"}
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [member.name for member in hint]}
        if get_origin(hint) is list:
            return {"type": "array", "items": self._optional_schema(get_args(hint)[0])}
        if get_origin(hint) is dict:
            return {"type": "object", "additionalProperties": self._optional_schema(get_args(hint)[1])}
        return {}

    def _schemas_by_name(self, what: str, catalog: Catalog, key: str) -> list[dict[str, Any]]:
        """Returns the schemas of a catalog's dataclasses, one of which is chosen by the value of a key."""
        branches: list[dict[str, Any]] = []
        for name in catalog.names():
            try:
                made = self.of_dataclass(catalog.load(name).cfg_type)
            except PluginError:  # its plugin is broken
                continue
            definition = f"{what}_{name}"
            made["properties"][key] = {"const": name}
            self.definitions[definition] = {**made, "required": [key]}
            branches.append({"$ref": f"#/$defs/{definition}"})
        return branches


def _bounds(limits: Range) -> dict[str, float]:
    """Returns the keywords of a schema for a range of numbers."""
    found = {"exclusiveMinimum" if limits.above else "minimum": limits.low}
    return found if math.isinf(limits.high) else {**found, "maximum": limits.high}


@cache
def field_docs(cls: type) -> dict[str, str]:
    """Returns the docstring of each field of a dataclass and its bases, in one line."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError):
            continue
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for node, below in pairwise(body):
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(text, str):
                found[node.target.id] = " ".join(text.split())
    return found
