"""Tasks that other distributions make in Python; ours, and most of theirs, are YAML files of the group `task`."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog

TASKS = Catalog("task", {}, group="unlatch.tasks", makes="collections.abc:Mapping")
