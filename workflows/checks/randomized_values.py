"""Finds the values of a scene that rules of a configuration change, so that the layout does not decide them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unlatch.configs.schema import EpisodeCfg

POSES = ("position", "orientation")
"""Attributes that put a body elsewhere."""


def randomizes(cfg: EpisodeCfg, body: str, *attributes: str) -> bool:
    """Returns whether a rule of the randomization, or of the record that it repeats, writes an attribute of a body."""
    recorded = cfg.randomization.recorded
    repeated: Mapping[str, Any] = recorded if isinstance(recorded, Mapping) else {}
    views = [(view.name, view.body) for view in cfg.randomization.views]
    views += [(view.get("name"), view.get("body")) for view in repeated.get("views", [])]
    names = {body} | {name for name, seen in views if seen == body}
    rules = [(rule.view, rule.attribute) for rule in cfg.randomization.rules]
    rules += [(rule.get("view"), rule.get("attribute")) for rule in repeated.get("rules", [])]
    return any(view in names and attribute in attributes for view, attribute in rules)
