"""Templates of instructions by skill and by how a part moves: for a task, and for one step of it."""

from __future__ import annotations

from unlatch.tasks.part_words import Manner

_KNOB_TASK = [
    "turn the {part} of the {object}",
    "rotate the {part} of the {object}",
    "twist the {object}'s {part}",
    "grip the {part} of the {object} and turn it",
]
_LEVER_TASK = [
    "turn the {part} of the {object}",
    "move the {object}'s {part}",
    "rotate the {part} of the {object}",
    "take the {part} of the {object} and turn it",
]
_BACK_TASK = [
    "turn the {part} of the {object} back",
    "turn back the {part} of the {object}",
    "rotate the {object}'s {part} back",
    "take the {part} of the {object} and turn it back",
]
_TASKS: dict[tuple[str, Manner], list[str]] = {
    ("open", Manner.swing): [
        "open the {part} of the {object}",
        "open the {side} {part} of the {object}",
        "pull the {part} of the {object} open",
        "take hold of the {object}'s {part} and pull it open",
    ],
    ("open", Manner.lift): [
        "open the {part} of the {object}",
        "lift the {part} of the {object}",
        "raise the {object}'s {part}",
        "take hold of the {part} of the {object} and lift it",
    ],
    ("open", Manner.pull): [
        "open the {part} of the {object}",
        "pull the {part} of the {object} out",
        "pull the {object}'s {part} open",
        "take hold of the {part} of the {object} and pull it out",
    ],
    ("open", Manner.rise): [
        "lift the {part} of the {object}",
        "pull the {part} of the {object} up",
        "raise the {object}'s {part}",
        "slide the {part} of the {object} up",
    ],
    ("open", Manner.slide): [
        "open the {part} of the {object}",
        "slide the {part} of the {object} open",
        "slide the {object}'s {part} to the side",
        "take hold of the {part} of the {object} and slide it open",
    ],
    ("open", Manner.turn): _KNOB_TASK,
    ("open", Manner.lever): _LEVER_TASK,
    ("close", Manner.swing): [
        "close the {part} of the {object}",
        "close the {side} {part} of the {object}",
        "push the {part} of the {object} shut",
        "shut the {object}'s {part}",
    ],
    ("close", Manner.lift): [
        "close the {part} of the {object}",
        "push the {part} of the {object} shut",
        "push the {object}'s {part} down",
        "shut the {part} of the {object}",
    ],
    ("close", Manner.pull): [
        "close the {part} of the {object}",
        "push the {part} of the {object} in",
        "push the {object}'s {part} shut",
        "slide the {part} of the {object} back in",
    ],
    ("close", Manner.rise): [
        "press the {part} of the {object} down",
        "push the {object}'s {part} down",
        "lower the {part} of the {object}",
        "slide the {part} of the {object} down",
    ],
    ("close", Manner.slide): [
        "close the {part} of the {object}",
        "slide the {part} of the {object} shut",
        "push the {object}'s {part} closed",
        "slide the {part} of the {object} back",
    ],
    ("close", Manner.press): [
        "press the {part} of the {object}",
        "push the {part} of the {object} in",
        "press the {object}'s {part}",
        "push the {object}'s {part} with a finger",
    ],
    ("close", Manner.turn): _BACK_TASK,
    ("rotate", Manner.turn): _KNOB_TASK,
    ("rotate", Manner.lever): _LEVER_TASK,
    ("pick", Manner.carry): [
        "pick up the {object}",
        "lift the {object}",
        "take the {object}",
        "grasp the {object} and lift it",
    ],
    ("place", Manner.carry): [
        "put the {object} {target}",
        "place the {object} {target}",
        "set the {object} down {target}",
        "put the {object} down {target}",
    ],
}
_KNOB_STEP = ["take the {part} and turn it", "turn the {part}", "grip the {part} and rotate it"]
_LEVER_STEP = ["take the {part} and turn it", "turn the {part}", "rotate the {part}"]
_STEPS: dict[tuple[str, Manner], list[str]] = {
    ("open", Manner.swing): ["take hold of the {part} and pull it open", "pull the {part} open", "open the {part}"],
    ("open", Manner.lift): ["take hold of the {part} and lift it", "lift the {part}", "open the {part}"],
    ("open", Manner.pull): ["take hold of the {part} and pull it out", "pull the {part} out", "open the {part}"],
    ("open", Manner.rise): ["take hold of the {part} and lift it", "lift the {part}", "pull the {part} up"],
    ("open", Manner.slide): ["take hold of the {part} and slide it open", "slide the {part} open", "open the {part}"],
    ("open", Manner.turn): _KNOB_STEP,
    ("open", Manner.lever): _LEVER_STEP,
    ("close", Manner.swing): ["push the {part} closed", "push the {part} shut", "close the {part}"],
    ("close", Manner.lift): ["push the {part} closed", "push the {part} down", "close the {part}"],
    ("close", Manner.pull): ["push the {part} in", "push the {part} shut", "close the {part}"],
    ("close", Manner.rise): ["press the {part} down", "push the {part} down", "lower the {part}"],
    ("close", Manner.slide): ["slide the {part} shut", "push the {part} back", "close the {part}"],
    ("close", Manner.press): ["press the {part}", "push the {part} in", "push the {part} with a finger"],
    ("close", Manner.turn): ["take the {part} and turn it back", "turn the {part} back", "turn back the {part}"],
    ("rotate", Manner.turn): _KNOB_STEP,
    ("rotate", Manner.lever): _LEVER_STEP,
    ("pick", Manner.carry): ["pick up the {object}", "take the {object}", "grasp the {object} and lift it"],
    ("place", Manner.carry): ["put it {target}", "place it {target}", "set it down {target}"],
}
_HELD = [
    "hold the {object} by its handle",
    "take the {object} by a handle and keep hold of it",
    "grip a handle of the {object} and do not let go",
    "steady the {object} with one hand",
]
_HOME = [
    "move the arm back to where it began",
    "move the arm back home",
    "move the hand back out of the way",
    "let the arm go back to its start",
]
_ALIKE = {"hold": _HELD, "home": _HOME}
"""Templates of skills for which it does not matter how the part moves."""
_UNMENTIONED = frozenset({"artpreplan"})
"""Skills that no instruction mentions."""


def task_phrasings(skill: str, manner: Manner) -> list[str]:
    """Returns the templates for a task of one skill."""
    return _find_templates(_TASKS, skill, manner, "the {part} of the {object}")


def step_phrasings(skill: str, manner: Manner) -> list[str]:
    """Returns the templates for one step of a chain; they name the part alone."""
    return _find_templates(_STEPS, skill, manner, "the {part}")


def _find_templates(table: dict[tuple[str, Manner], list[str]], skill: str, manner: Manner, moved: str) -> list[str]:
    """Returns the templates in a table; for other skills, such as those of plugins, the name is the verb."""
    if skill in _ALIKE:
        return list(_ALIKE[skill])
    own = [f"{skill.replace('_', ' ')} {moved}"]
    return [] if skill in _UNMENTIONED else list(table.get((skill, manner), own))
