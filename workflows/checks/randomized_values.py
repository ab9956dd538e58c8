"""Which values of a scene the rules of a configuration change, so that the layout does not decide them."""

from __future__ import annotations

from collections.abc import Mapping

from unlatch.configs.schema import EpisodeCfg

POSES = ("position", "orientation")
"""Attributes that put a body elsewhere."""


def randomizes(cfg: EpisodeCfg, *attributes: str) -> bool:
    """Returns whether a rule of the randomization, or of the record that it repeats, writes one of the attributes."""
    recorded = cfg.randomization.recorded
    repeated = recorded.get("rules", []) if isinstance(recorded, Mapping) else []
    written = {rule.attribute for rule in cfg.randomization.rules} | {rule.get("attribute") for rule in repeated}
    return not written.isdisjoint(attributes)
