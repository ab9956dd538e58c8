"""Tasks that Python makes: useful for many tasks that differ in a few values."""

from __future__ import annotations

from typing import Any

_LONG = [
    "press the lever of the {object} and keep it down",
    "hold the lever of the {object} down until it latches",
    "push the {object}'s lever all the way down and wait",
]


def press_toaster_long() -> dict[str, Any]:
    """Returns the task `press_toaster_long`: the finger keeps the lever down for two seconds."""
    return _press_toaster("press_toaster_long", hold_s=2.0, words=_LONG)


def _press_toaster(name: str, *, hold_s: float, words: list[str]) -> dict[str, Any]:
    """Returns the content of a `task/NAME.yaml` that extends `press_toaster`.

    Args:
        name: Name of the task.
        hold_s: How long the finger keeps the lever down [s].
        words: Instructions for the task.
    """
    entry = {"name": "press", "objects": ["${object.name}"], "part": "slider", "hold_s": hold_s, "language": words}
    return {
        "defaults": ["press_toaster", "_self_"],
        "task": {
            "name": name,
            "summary": f"press a toaster's lever and keep it down for {hold_s:g} s",
            "language": words,
        },
        "skills": [entry],
    }
