"""Keeps the directions of contact forces true while a hand turns with what it holds.

Bullet keeps contact points from step to step. It moves them with both bodies, but leaves their normals as they were in
the world (bulletphysics/bullet3 issue 2646). In a hand that turns with what it holds, few points are found anew. Those
that are kept then push in wrong directions, so that things wedge between the fingers and stick to a hand that opens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.simcore.sim.bodies import Body

TURNED_RAD = 0.05
"""Contacts of a hand are found anew once it or a part has turned by this angle since they were last: forces then point
at most this far off, by 5 % of their size."""


class TurnedContacts:
    """Lets Bullet find the contacts of one robot anew whenever a hand or a part has turned."""

    def __init__(self, robot: Body) -> None:
        self._robot = robot
        self._angles: np.ndarray | None = None
        self._quats: np.ndarray | None = None

    def update(self, quats_xyzw: Sequence[np.ndarray], angles: Sequence[np.ndarray]) -> None:
        """Drops the robot's kept contacts if anything has turned by `TURNED_RAD` since they were last dropped.

        Args:
            quats_xyzw: (4,) orientations of all hands and objects.
            angles: (n,) positions of the joints of each object [rad; metres of a slider count as radians].
        """
        quats, positions = np.array(quats_xyzw), np.concatenate(angles) if angles else np.zeros(0)
        if self._quats is not None and self._angles is not None:
            turned = 2.0 * np.arccos(np.minimum(1.0, np.abs(np.sum(quats * self._quats, axis=1))))
            moved = np.abs(positions - self._angles)
            if max(turned.max(initial=0.0), moved.max(initial=0.0)) < TURNED_RAD:
                return
            self._robot.drop_kept_contacts()
        self._quats, self._angles = quats, positions
