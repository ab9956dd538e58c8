"""Starts: many configurations of an arm with their tool poses, from which the promising ones are picked."""

from __future__ import annotations

import weakref

import numpy as np

from solver.scene import ArmModel

Array = np.ndarray

LIBRARY_SIZE = 4096
_MARGIN_RAD = 0.3
_SEED = 20240
"""Fixed: the library is a table, the same in every run; it is no draw of an episode."""


class StartLibrary:
    """Configurations drawn evenly inside the joint limits whose ee origin lies inside the workspace box."""

    def __init__(self, arm: ArmModel, *, size: int = LIBRARY_SIZE) -> None:
        """Draws the library.

        Args:
            arm: The arm.
            size: Number of configurations.
        """
        rng = np.random.default_rng(_SEED)
        # goals stay near their starts: those that begin away from the limits end away from them
        margin = np.minimum(_MARGIN_RAD, 0.1 * (arm.q_upper - arm.q_lower))
        kept: list[Array] = []
        count = 0
        for _ in range(40):  # a box that the arm hardly reaches must not draw forever
            q = rng.uniform(arm.q_lower + margin, arm.q_upper - margin, (2 * size, arm.n_q))
            _, p = arm.kinematics.fk_batch(q)
            inside = np.all((p > arm.workspace[0]) & (p < arm.workspace[1]), axis=1)
            kept.append(q[inside])
            count += int(inside.sum())
            if count >= size:
                break
        q = np.concatenate(kept)[:size]
        self.q = q if len(q) else arm.q_home[None].copy()
        self.R, self.p = arm.kinematics.fk_batch(self.q)

    def pick(self, score: Array, *, count: int, spacing_rad: float = 0.8) -> Array:
        """The best configurations that are not near each other.

        Args:
            score: (size,) the lower the better.
            count: How many.
            spacing_rad: Least distance between two picked, as the norm of the joint difference [rad].

        Returns:
            (<= count, n) joints [rad], best first.
        """
        order = np.argsort(score, kind="stable")[: 12 * count]
        picked = np.empty((count, self.q.shape[1]))
        n = 0
        for index in order:
            q = self.q[index]
            if n and float(((picked[:n] - q) ** 2).sum(axis=1).min()) < spacing_rad**2:
                continue
            picked[n] = q
            n += 1
            if n == count:
                break
        return picked[:n]


_LIBRARIES: weakref.WeakKeyDictionary[object, dict[bytes, StartLibrary]] = weakref.WeakKeyDictionary()


def library_of(arm: ArmModel) -> StartLibrary:
    """The library of an arm and its limits, drawn on first use."""
    libraries = _LIBRARIES.setdefault(arm.kinematics, {})
    key = arm.q_lower.tobytes() + arm.q_upper.tobytes() + arm.workspace.tobytes()
    if key not in libraries:
        libraries[key] = StartLibrary(arm)
    return libraries[key]
