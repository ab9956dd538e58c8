"""Contact views: who touches whom, with how much force, at every physics step.

Validity depends on force, never on the number of contact points: Bullet lists points without force.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import pybullet as p

from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Module

Array = np.ndarray
Pair = tuple[str, str]


@dataclass(frozen=True)
class Violation:
    """The first force above a threshold in a view that expects none."""

    view: str
    pair: Pair
    force_n: float
    physics_step: int
    time_s: float


class ContactView(Module):
    """Normal force between two sets of links, sampled at every physics step.

    In each physics step the view takes the largest force of one pair. Its buffers hold the largest and the mean of
    these over one record frame. They are tagged `interval`, since they describe the time since the previous state, not
    the present. Only `end_frame` fills them.
    """

    def __init__(self, name: str, selects: Callable[[str, str, str], bool]) -> None:
        """Makes a view.

        Args:
            name: Full name, `<robot>.<arm>.<object>.fingers_link` and so on.
            selects: Whether (robot link, other body, other link) belongs to this view.
        """
        super().__init__()
        self.name = name
        self.selects = selects
        """Returns whether (robot link, other body, other link) belongs to this view."""
        self.force_max_n = Buffer(np.zeros(()), tags=["interval"])
        self.force_mean_n = Buffer(np.zeros(()), tags=["interval"])
        self._frame: list[float] = []
        self._threshold_n: float | None = None
        self.violation: Violation | None = None
        """The first force above the threshold since `watch`; it stays until the next `watch`."""
        self.zero_force_points = 0
        """Number of contacts without force since `watch`; they are only reported."""

    def watch(self, threshold_n: float | None) -> None:
        """Starts to watch for a force above a threshold [N]; None stops it."""
        self._threshold_n = threshold_n
        self.violation = None
        self.zero_force_points = 0

    def sample(self, forces: dict[Pair, float], *, step: int, time_s: float) -> None:
        """Adds the forces [N] by pair of one physics step."""
        self._frame.append(max(forces.values(), default=0.0))
        for pair, force_n in forces.items():
            if force_n <= 0.0:
                self.zero_force_points += 1
            elif self._threshold_n is not None and self.violation is None and force_n > self._threshold_n:
                self.violation = Violation(self.name, pair, force_n, step, time_s)

    def end_frame(self) -> None:
        """Writes the frame's largest and mean force to the buffers."""
        largest = max(self._frame, default=0.0)
        self.force_max_n.set_value(largest)
        self.force_mean_n.set_value(float(np.mean(self._frame)) if largest else 0.0)
        self._frame.clear()


def touching_pairs(world: World, body: Body) -> set[frozenset[str]]:
    """Returns the pairs of links of a body that overlap now, unless their contacts are switched off."""
    p.performCollisionDetection(physicsClientId=world.client)
    points = p.getContactPoints(body.body_id, body.body_id, physicsClientId=world.client)
    return {frozenset((body.link_names[point[3]], body.link_names[point[4]])) for point in points if point[8] < 0.0}


class ContactMonitor:
    """All contact views of one robot: one query a physics step, split by link."""

    def __init__(self, world: World, robot: Body, *, ignored_self_pairs: Collection[frozenset[str]] = ()) -> None:
        self._world = world
        self._robot = robot
        self._ignored = frozenset(ignored_self_pairs)
        self.views: dict[str, ContactView] = {}
        self._known_contacts: dict[tuple[int, int, int], tuple[Pair, list[str]]] = {}
        """The pair of each contact and the names of its views, by Bullet's numbers of link, other body and its link.
        Valid for one record frame, since the acted-on object changes only between frames."""

    def add(self, view: ContactView) -> ContactView:
        """Adds a view; it is sampled from the next physics step on."""
        self.views[view.name] = view
        self._known_contacts.clear()
        return view

    def sample(self) -> None:
        """Reads the contacts of the last physics step into all views."""
        found: dict[str, dict[Pair, float]] = {}
        for point in p.getContactPoints(bodyA=self._robot.body_id, physicsClientId=self._world.client):
            key = (point[3], point[2], point[4])
            if key not in self._known_contacts:
                self._known_contacts[key] = self._describe_contact(*key)
            pair, names = self._known_contacts[key]
            for name in names:
                forces = found.setdefault(name, {})
                forces[pair] = forces.get(pair, 0.0) + point[9]
        step, time_s = self._world.steps, self._world.time_s
        for name, view in self.views.items():
            view.sample(found.get(name, {}), step=step, time_s=time_s)

    def _describe_contact(self, link_a: int, body_b: int, link_b: int) -> tuple[Pair, list[str]]:
        """Returns the pair of a contact, and the names of the views that it belongs to."""
        robot = self._robot
        name_a = robot.link_names[link_a]
        if body_b == robot.body_id:
            other_body, name_b = robot.name, robot.link_names[link_b]
            label = name_b
            if frozenset((name_a, name_b)) in self._ignored:
                return (name_a, label), []
        else:
            other_body = self._world.name_of(body_b)
            other = self._world.bodies[other_body]
            name_b, label = other.link_names[link_b], other.label(link_b)
        return (name_a, label), [n for n, view in self.views.items() if view.selects(name_a, other_body, name_b)]

    def end_frame(self) -> None:
        """Closes the record frame in all views."""
        self._known_contacts.clear()
        for view in self.views.values():
            view.end_frame()
