"""Protocol of a collision checker; `unlatch.simcore.sim` implements it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import numpy as np

Array = np.ndarray


class Collision(Protocol):
    """One pair of links that touch or come too close; any class with these attributes fits."""

    @property
    def link_a(self) -> str:
        """A link of the robot."""

    @property
    def link_b(self) -> str:
        """A link of the object, another link of the robot, or a body of the environment."""

    @property
    def distance_m(self) -> float:
        """Signed distance, negative when they overlap [m]."""

    @property
    def where(self) -> tuple[float, float, float]:
        """The point between the two, in the checker's world frame [m]."""


def describe_collision(hit: Collision) -> str:
    """Returns the pair and its distance, for a message."""
    return f"{hit.link_a} and {hit.link_b} ({1000.0 * hit.distance_m:.1f} mm)"


@runtime_checkable
class CollisionChecker(Protocol):
    """Checks one arm in one scene, with the object at a given joint position."""

    def deepest_collision(
        self, q: Array, *, s: float | None = None, gripper: float | None = None, clearance_m: float | None = None
    ) -> Collision | None:
        """Returns the deepest collision with the arm at q, or None if nothing collides.

        Args:
            q: (n,) arm joint positions [rad].
            s: Position of the object's joint [rad or m]; None = as in the scene at the start.
            gripper: Opening between the pads [m]; None = fully open.
            clearance_m: Distance to other bodies below which a pair counts [m]; None = the checker's own.
        """

    def allow(self, links: Iterable[str]) -> AbstractContextManager[object]:
        """Returns a context in which the fingers may touch these links of the object."""


@runtime_checkable
class CarryingChecker(CollisionChecker, Protocol):
    """A checker of a scene with a free object that the hand may carry."""

    def carried_from(self, q: Array, *, max_tilt_rad: float | None = None) -> AbstractContextManager[object]:
        """Returns a context in which the object moves with the hand, as if it was grasped with the arm at q (n,) [rad].

        It is then part of the arm: it must keep clear of everything but the hand. With `max_tilt_rad`, an object that
        is tilted further from upright counts as a collision [rad].
        """

    def released_at(self, q: Array) -> AbstractContextManager[object]:
        """Returns a context in which the object stays where the hand at q (n,) [rad] has put it."""
