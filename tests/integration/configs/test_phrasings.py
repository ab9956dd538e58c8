"""What is said of every shipped task, and of every skill on every generated object, is English of several kinds."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from unlatch.configs.config_files import config_dir
from unlatch.configs.schema import check_episode
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.rng import stream
from unlatch.skills.catalog import SKILLS
from unlatch.skills.config import part_acted_on
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.tasks.language import (
    PRESS,
    Manner,
    part_words,
    step_language,
    step_phrasings,
    task_language,
    task_phrasings,
)
from unlatch.workflows.episode.assets import language_step, language_steps, with_derived_task
from unlatch.workflows.runs.loading import load

TASKS = sorted(path.stem for path in (config_dir() / "task").glob("*.yaml"))
CARRYING = ("pick", "place")
"""Skills that act on a whole object."""
SEEDS = range(4)
VERBS = re.compile(
    "(bin|clear|close|dial|drop|exchange|extend|flip|fold|get|grab|grasp|grip|hold|keep|lay|let|lift|look|lower|move|open|pack|pick|place|pull|press"
    "|push|put|raise|reach|rotate|set|shut|slide|steady|stow|store|swap|swing|switch|take|throw|tidy|turn|twist|undo|unlatch|unlock|warm)\\b"
)
AFTER = "and|back|by|closed|down|in|open|out|shut|then|up"
"""Words that may follow the name of an object."""


def mistakes(text: str) -> Iterator[str]:
    """What is wrong with a phrasing."""
    if text != " ".join(text.split()):
        yield "spaces"
    if not re.fullmatch(r"[a-zA-Z' ,-]+", text):
        yield "characters"
    if not VERBS.match(text):
        yield "does not begin with a verb"
    if re.search(r"\b(\w+) \1\b", text):
        yield "a word stands twice"
    for thing, whole in re.findall(rf"\b(\w+) (?:of|on) the ([\w -]+?)(?=$|,| (?:{AFTER})\b)", text):
        if thing == whole.split()[-1]:
            yield f"the {thing} of the {whole}"
    if re.search(r"\b(\w+)'s (?:\w+ )?\1\b", text):
        yield "a thing of itself"
    if re.search(r"\bthe (?:of|on|and|then)\b|\b(?:of|the|a)$", text):
        yield "a gap"


def check(texts: list[str], *, least: int) -> None:
    assert len(texts) >= least, texts
    assert len(set(texts)) == len(texts)
    assert {text: found for text in texts if (found := list(mistakes(text)))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "open the door of the door",
        "close the lid of the pot lid",
        "grip the knob on the of the oven",
        "open  the door",
        "open the drawer_2",
        "the door is open",
        "open the door door",
        "open the drawer's upper drawer",
    ],
)
def test_mistakes_are_found(text: str):
    assert list(mistakes(text))


def loaded(cfg: ObjectCfg, seed: int, folder: Path) -> ObjectAsset:
    own = dataclasses.replace(cfg, instance=cfg.instance or str(seed), cache_dir=str(folder))
    return load_object(own, rng=stream(0, "layout"))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_task_composes_and_it_and_its_steps_are_said_in_several_ways(task: str, tmp_path: Path):
    cfg = load(task)
    check_episode(cfg)
    assert cfg.task.name == task
    entries = [entry for entry in cfg.skills if not isinstance(entry, LayoutSearchCfg)]
    for seed in SEEDS:
        assets = {
            item.name: load_object(item, rng=np.random.default_rng(seed))
            if item.where
            else loaded(item, seed, tmp_path)
            for item in cfg.all_objects().values()
        }
        steps = []
        for entry in entries:
            asset = assets[entry.objects[0]]
            if entry.name in CARRYING:
                part, target = None, "into the drawer" if entry.name == "place" else ""
            else:
                part, target = part_acted_on(entry.name, entry.part, asset.articulation).name, ""
            steps.append((entry.name, asset, part, target))
        check(task_language(cfg.task.language, steps, 0.0), least=3)
        for entry, (name, asset, part, target) in zip(entries, steps, strict=True):
            check(step_language(entry.language, name, asset, part, 0.0, target=target), least=3)


@pytest.mark.parametrize("category", GENERATORS.own_names())
def test_every_skill_has_words_for_every_part(category: str, tmp_path: Path):
    for seed in SEEDS:
        asset = loaded(ObjectCfg(name="a", category=category), seed, tmp_path)
        for part in asset.articulation.parts:
            manner = part_words(asset, part).manner
            turned = manner in (Manner.turn, Manner.lever)
            first, last = ("close", "close") if manner is Manner.press else ("open", "rotate" if turned else "close")
            for skill in (first, last, PRESS):
                check(task_language([], [(skill, asset, part)], 0.0), least=3)
                check(step_language([], skill, asset, part, 0.0), least=3)
            check(task_language([], [(first, asset, part), (last, asset, part)], 0.0), least=3)


HELD = {
    "microwave_by_button": (
        [("press", "button"), ("open", "door")],
        "push the microwave's button and pull its door open",
    ),
    "open_safe_by_dial": (
        [("rotate", "knob"), ("open", "door")],
        "turn the dial, then the lever, and pull the door of the safe open",
    ),
    "push_latch_cupboard": ([("press", "door"), ("open", "door")], "press the door of the cabinet and pull it open"),
    "second_drawer_of_filing_cabinet": (
        [("close", "drawer"), ("open", "drawer_2")],
        "pull out the lower drawer of the filing cabinet",
    ),
    "toolbox_clasps": (
        [("rotate", "knob"), ("rotate", "knob_2"), ("open", "lid")],
        "undo both clasps of the toolbox and lift the lid",
    ),
}
"""What instructions say of the steps that mechanisms add, and one instruction of each task."""


@pytest.mark.slow
@pytest.mark.parametrize("task", HELD)
def test_an_instruction_is_about_the_stated_part_and_a_step_about_what_it_presses(task: str, tmp_path: Path):
    stated, (said, instruction) = load(task), HELD[task]
    assets = {item.name: loaded(item, 0, tmp_path) for item in stated.all_objects().values()}
    cfg = with_derived_task(stated, assets)
    steps = language_steps(cfg, assets)
    assert [(step.skill, step.part) for step in steps] == said
    assert [step.skill for step in steps] != [entry.name for entry in stated.skills[1:]]
    texts = task_language(cfg.task.language, steps, 0.0)
    check(texts, least=3)
    assert instruction in texts
    for index, entry in enumerate(cfg.skills[1:], start=1):
        step = language_step(cfg, assets, index)
        check(step_language(entry.language, *step[:3], 0.0), least=3)


def test_every_skill_that_acts_has_several_templates_for_each_manner():
    parts = set(Manner) - {Manner.carry}
    manners = {
        "open": parts - {Manner.press},  # nothing to hold
        "close": parts - {Manner.turn, Manner.lever},
        "rotate": {Manner.turn, Manner.lever},
        "hold": parts,
        "hold_pressed": {Manner.press},
        "home": set(Manner),
        "pick": {Manner.carry},
        "place": {Manner.carry},
    }
    assert manners.keys() | {"artpreplan"} == set(SKILLS.own_names())
    for skill, those in manners.items():
        for manner in those:
            assert len(set(task_phrasings(skill, manner))) >= 4
            assert len(set(step_phrasings(skill, manner))) >= 3
    assert task_phrasings("artpreplan", Manner.swing) == step_phrasings("artpreplan", Manner.swing) == []
