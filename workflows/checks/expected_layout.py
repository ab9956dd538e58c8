"""Draws the layout that a record must have again, from the episode's stream `layout`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.recording.codes import FAILURE_CODES
from unlatch.simcore.recording.criteria import POSSIBLE, RECORDED, TOLERANCE, Criteria
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.layout_search import LayoutSearchCfg, layout_search_of
from unlatch.tasks.layout import sample_layout
from unlatch.workflows.checks.randomized_values import randomizes

_START_JOINTS = "joint_positions"


class ExpectedLayout:
    """The layout that one record must state.

    `artpreplan` tries one draw after the other. Which of them it chooses is read from the record: nothing is planned
    again.
    """

    def __init__(
        self, cfg: EpisodeCfg, assets: Mapping[str, ObjectAsset], record: EpisodeRecord, rng: np.random.Generator
    ) -> None:
        """Draws nothing yet.

        Args:
            cfg: The episode, with its derived task.
            assets: The episode's objects by name.
            record: The record.
            rng: Its stream `layout`, from which the objects have been drawn.
        """
        self._cfg, self._assets, self._record, self._rng = cfg, assets, record, rng

    def statement(self) -> dict[str, Any]:
        """Returns the poses, openings and start joints that the record must state, and whether it reports a search.

        If the search chose no layout, the record has one of those that it tried: that one.
        """
        search = layout_search_of(self._cfg.skills)
        if search is None:
            return self._draw()
        return {"preplan": RECORDED, **self._draw_searched(search)}

    def _draw_searched(self, search: LayoutSearchCfg) -> dict[str, Any]:
        report = self._record.layout.get("preplan")
        report = report if isinstance(report, Mapping) else {}
        tried, chosen = report.get("tried"), report.get("chosen")
        most = tried if isinstance(tried, int) and tried in range(1, search.candidates) else search.candidates
        draws = [self._draw() for _ in range(most if chosen is None else self._place(chosen, most) + 1)]
        return draws[-1] if chosen is not None else next(filter(self._is_recorded, reversed(draws)), draws[-1])

    def problems(self) -> Iterator[str]:
        """Yields what is wrong with the report of the search for a layout."""
        search = layout_search_of(self._cfg.skills)
        if search is None:
            return
        report = self._record.layout.get("preplan")
        if not isinstance(report, Mapping):
            yield f"layout.preplan is {report!r}, but the chain begins with a search for a layout."
            return
        tried, chosen = report.get("tried"), report.get("chosen")
        if not isinstance(tried, int) or not 0 < tried <= search.candidates:
            yield f"layout.preplan.tried is {tried!r}, expected 1 to {search.candidates} by the configuration."
        elif chosen is not None and not (isinstance(chosen, int) and 0 <= chosen < tried):
            yield f"layout.preplan.chosen is {chosen!r}, expected one of the {tried} layouts that were tried."
        elif chosen is None and (self._record.skills or self._record.success):
            yield "layout.preplan.chosen is None, but skills began."
        else:
            yield from self._refusal_problems(report)

    def _refusal_problems(self, report: Mapping[str, Any]) -> Iterator[str]:
        """Yields where the refused layouts of a report contradict its counts, or the chain."""
        names = {-1: "layout", **{index: entry.name for index, entry in enumerate(self._cfg.skills)}}
        counts: dict[str, int] = {}
        left = set(range(report["tried"])) - {report["chosen"]}
        for place, item in enumerate(report["failures"]):
            where = f"layout.preplan.failures[{place}]"
            if names.get(item["skill"]) != item["name"]:
                yield f"{where} is of skill {item['skill']} ({item['name']}), which the chain does not have."
            if item["code"] not in FAILURE_CODES:
                yield f"{where}.code is {item['code']!r} in the record, expected one of {', '.join(FAILURE_CODES)}."
            if item["candidate"] not in left:
                yield f"{where}.candidate is {item['candidate']} in the record, expected another layout that was tried."
            left.discard(item["candidate"])
            label = "layout" if item["skill"] < 0 else f"{item['skill']} {item['name']}"
            counts[f"{label}: {item['code']}"] = counts.get(f"{label}: {item['code']}", 0) + 1
        if counts != report["counts"]:
            yield f"layout.preplan.counts is {report['counts']} in the record, expected {counts} by its failures."

    def _place(self, chosen: Any, most: int) -> int:
        return chosen if isinstance(chosen, int) and chosen in range(most) else 0

    def _draw(self) -> dict[str, Any]:
        homes = [(arm.name, arm.home, arm.home_std) for arm in self._cfg.robot.arms]
        drawn = sample_layout(self._cfg.task, self._assets, homes, self._rng).to_dict()
        if randomizes(self._cfg, self._cfg.robot.name, _START_JOINTS):
            drawn["q_home"] = dict.fromkeys(drawn["q_home"], RECORDED)  # a rule has replaced the drawn joints
        return drawn

    def _is_recorded(self, drawn: Mapping[str, Any]) -> bool:
        layout = {"instances": POSSIBLE, "preplan": POSSIBLE, **drawn}
        return not list(Criteria({"layout": layout}, tolerance=TOLERANCE).differences(self._record))
