"""Tasks that Python makes: where many differ in a few values, in place of as many YAML files."""

from __future__ import annotations

from typing import Any

_LONG = [
    "press the lever of the {object} and keep it down",
    "hold the lever of the {object} down until it latches",
    "push the {object}'s lever all the way down and wait",
]


def press_toaster_long() -> dict[str, Any]:
    """The task `press_toaster_long`: the lever is kept down for two seconds."""
    return _press_toaster("press_toaster_long", hold_s=2.0, words=_LONG)


def _press_toaster(name: str, *, hold_s: float, words: list[str]) -> dict[str, Any]:
    """What `task/NAME.yaml` would hold; what is not said here is that of `press_toaster`.

    Args:
        name: Name of the task.
        hold_s: How long the lever is kept down [s].
        words: Ways to ask for it.
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
