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
"""Contacts are found anew once a hand has turned by this angle since they were last: forces then point at most this far
off, by 5 % of their size."""


class TurnedContacts:
    """Lets Bullet find the contacts of one robot anew whenever a hand has turned, while it carries something.

    A hand that turns a part about its joint keeps its contacts: there, fewer points for a few steps let a light knob
    jump by 0.02 rad.
    """

    def __init__(self, robot: Body) -> None:
        self._robot = robot
        self._quats: np.ndarray | None = None

    def update(self, quats_xyzw: Sequence[np.ndarray]) -> None:
        """Drops the robot's kept contacts if a hand has turned by `TURNED_RAD` since they were last dropped.

        Args:
            quats_xyzw: (4,) orientations of all hands.
        """
        quats = np.array(quats_xyzw)  # (H, 4)
        if self._quats is not None:
            cosines = np.abs(np.sum(quats * self._quats, axis=1))
            if 2.0 * np.arccos(min(1.0, cosines.min())) < TURNED_RAD:
                return
            self._robot.drop_kept_contacts()
        self._quats = quats
