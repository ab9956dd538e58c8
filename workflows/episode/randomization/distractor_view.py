"""The distractors of an episode as a view: rules rearrange them, at resets or while the episode runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.views.attribute_view import AttributeView
from unlatch.workflows.episode.randomization.distractors import Distractor, FreeTable

Array = np.ndarray

DISTRACTORS = "distractors"
"""Name of the view."""


class DistractorView(AttributeView):
    """All distractors of one episode; one number decides their arrangement."""

    kind = "distractors"

    def __init__(self) -> None:
        """Makes a view without distractors; `bind` adds those of an episode."""
        super().__init__(DISTRACTORS)
        self._arrangement = 0.0
        self._items: Sequence[Distractor] = ()
        self._bodies: Sequence[Body] = ()
        self._table: FreeTable | None = None
        words = "number of the arrangement; 0: that of the reset"
        self._add_attribute("arrangement", 1, "-", words, self._read, self._write, least=0.0)

    def bind(self, items: Sequence[Distractor], bodies: Sequence[Body], table: FreeTable) -> None:
        """Binds the distractors of an episode, as its reset placed them.

        Args:
            items: The distractors in arrangement 0.
            bodies: The bodies that show them; empty in a world without visuals.
            table: The free places on the table.
        """
        self._items, self._bodies, self._table = items, bodies, table
        if self._arrangement:
            self._place()

    def places(self) -> list[Distractor]:
        """Returns the distractors as they stand now; a distractor without a free place keeps its place."""
        number = int(self._arrangement)
        return list(self._items) if self._table is None or not number else self._table.rearrange(self._items, number)

    def _read(self, env: int) -> Array:
        return np.array([self._arrangement])

    def _write(self, env: int, values: Array) -> None:
        self._arrangement = float(values[0])
        self._place()

    def _place(self) -> None:
        if self._bodies:
            for item, body in zip(self.places(), self._bodies, strict=True):
                body.set_root_pose(item.T_world)
