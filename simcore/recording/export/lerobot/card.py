"""The README of an exported set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CARD = """---
task_categories:
- robotics
tags:
- LeRobot
---

# {title}

Demonstrations made and verified by Unlatch {version}: {episodes} episodes, {frames} frames at {fps} frames per second,
robot `{robot}`. LeRobot data set format {codebase}.

## Conventions

{conventions}

A row is the observation at a moment and the action from there to the next row. An attempt of T actions has
T+1 states; the last state, which no action follows, is not in this set.

## Columns

{columns}
Episodes (`meta/episodes`) have `success`, `code` (failure code), `seed`, `robot`, `object` (name=category:instance),
`part` (object.part that is acted on; `part0` above is the first), `phrasings`, and `unlatch/source`, `unlatch/number`:
data set and number of the episode.
"""


def fill_card(info: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Returns the README of a set in Markdown from its `info.json` and `unlatch.json`."""
    conventions = "\n".join(f"- `{key}`: {text}" for key, text in ours["conventions"].items())
    columns = []
    for key, feature in info["features"].items():
        names = ", ".join(feature["names"]) if feature["names"] else "one number"
        columns.append(f"- `{key}` ({feature['dtype']}, {feature['shape']}): {names}\n")
    return _CARD.format(
        title=ours["title"],
        version=ours["version"],
        episodes=info["total_episodes"],
        frames=info["total_frames"],
        fps=info["fps"],
        robot=info["robot_type"],
        codebase=info["codebase_version"],
        conventions=conventions,
        columns="".join(columns),
    )
