"""Mean of the motors' efforts over a record frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.state import Buffer


class EffortMean:
    """Samples the efforts of an arm's motors at every physics step.

    `joint_efforts` of a record has only those of the last physics step of each frame.
    """

    def __init__(self, body: Body, joints: Sequence[str]) -> None:
        """Samples the motors of `joints`, n of them."""
        self._torques = body.controller_torques
        self._indices = [body.joint(name).index for name in joints]
        self._samples: list[list[float]] = []
        self.buffer = Buffer(np.zeros(len(self._indices)), tags=["interval"])
        """(n,) mean over the physics steps of the frame that `end_frame` closed last [N m or N]."""

    def sample(self) -> None:
        """Adds the torques that the arm's controller applied in the last physics step."""
        self._samples.append([self._torques[index] for index in self._indices])

    def end_frame(self) -> None:
        """Writes the mean of the frame to the buffer."""
        n = max(1, len(self._samples))
        self.buffer.set_value(np.reshape(self._samples, (-1, len(self._indices))).sum(axis=0, initial=0.0) / n)
        self._samples.clear()
