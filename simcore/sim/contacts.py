"""Contact views: which bodies touch, and with how much force, at every physics step."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pybullet as p

from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.core import ContactTable
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Module

Array = np.ndarray
Pair = tuple[str, str]
Link = tuple[int, int]
"""Bullet's numbers of a body and of one of its links."""
PairsIn = Callable[[str, int], tuple[dict[Pair, float], int, float]]
"""Takes the name of a view and the place of a physics step among those that are sampled together; returns the forces of
the view's pairs in it [N], its number in the world, and its time [s]."""

_NO_FORCE = np.zeros(())
"""The value of buffers of forces in a frame without any, like most."""
SUSTAINED_S = 0.02
"""A force is sustained if it lasts for longer than this without a break [s]; our own. Shorter forces are impacts: how
high they are depends on the solver and on the stiffness of two faces, which nobody has measured."""


def count_sustained_steps(physics_hz: float) -> int:
    """Returns the least number of physics steps that take longer than `SUSTAINED_S` together: 5 at 240 Hz."""
    return math.floor(SUSTAINED_S * physics_hz + 1e-9) + 1


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
        self.threshold_n: float | None = None
        """Force above which a contact is a violation [N]; None: no contact is."""
        self.violation: Violation | None = None
        """The first force above the threshold since `watch`; it stays until the next `watch`."""
        self.exceeded_n = math.nan
        """The force that `violation` exceeds [N]."""
        self.zero_force_points = 0
        """Number of contacts without force since `watch`; they are only reported."""
        self.touching_links: frozenset[str] = frozenset()
        """Links of the robot that bore a force in the last record frame."""
        self._links: set[str] = set()

    def watch(self, threshold_n: float | None) -> None:
        """Starts to watch for a force above a threshold [N]; None stops it."""
        self.threshold_n = threshold_n
        self.violation = None
        self.zero_force_points = 0

    def sample(self, forces_n: Sequence[float], pairs_in: PairsIn) -> None:
        """Adds the largest force of a pair in each of some physics steps [N]; `pairs_in` tells the forces of a step."""
        self._frame.extend(forces_n)
        if self.threshold_n is None or self.violation is not None or max(forces_n) <= self.threshold_n:
            return
        index = next(index for index, force_n in enumerate(forces_n) if force_n > self.threshold_n)
        forces, step, time_s = pairs_in(self.name, index)
        pair = next(pair for pair, force_n in forces.items() if force_n > self.threshold_n)
        self.violation, self.exceeded_n = Violation(self.name, pair, forces[pair], step, time_s), self.threshold_n

    def note_pair(self, link: str, *, bears_force: bool, without_force: int) -> None:
        """Notes whether a pair with this link of the robot bore a force in this frame, and in how many steps none."""
        self.zero_force_points += without_force
        if bears_force:
            self._links.add(link)

    def end_frame(self) -> None:
        """Writes the frame's largest and mean force to the buffers."""
        frame = self._frame
        is_touched = any(frame)
        self.force_max_n.hold(np.array(max(frame)) if is_touched else _NO_FORCE)
        self.force_mean_n.hold(np.array(np.add.reduce(frame) / len(frame)) if is_touched else _NO_FORCE)
        frame.clear()
        if self._links != self.touching_links:
            self.touching_links = frozenset(self._links)
        self._links.clear()


class ObjectView(ContactView):
    """Normal force between an object and other bodies, without the robot.

    An object bears its own weight, and one that is set down or dropped bears an impact. So a force is a violation only
    if it is sustained, longer than `SUSTAINED_S` without a break, and exceeds by more than the threshold what the
    object bore at rest, in the frame before the first `watch`. `force_sustained_n` has the largest sustained force up
    to a step of the frame; its time may begin in an earlier frame.
    """

    def __init__(self, name: str, selects: Callable[[str, str, str], bool], *, physics_hz: float) -> None:
        """Makes a view of an object.

        Args:
            name: Full name, `<object>.furniture` and so on.
            selects: Whether (object's link, other body, other link) belongs to this view.
            physics_hz: Physics steps in a second [Hz].
        """
        super().__init__(name, selects)
        self.force_sustained_n = Buffer(np.zeros(()), tags=["interval"])
        self._sustained_steps = count_sustained_steps(physics_hz)
        self._last_n: deque[float] = deque(maxlen=self._sustained_steps)
        """Largest force of a pair in each of the last physics steps with contact, without a break [N]."""
        self._sustained_n = 0.0
        """Largest sustained force of this frame [N]."""
        self._rest_n: float | None = None
        """Sustained force in the last frame before the first `watch` [N]."""
        self._touch_n = math.inf

    def watch(self, threshold_n: float | None, *, touch_n: float = math.inf) -> None:
        """Starts to watch for a sustained force that exceeds that at rest by more than a threshold [N]; None stops it.

        The force at rest is that of the last frame before the first call. If there was none, any force above `touch_n`
        [N] is a violation, too: nothing may touch the object.
        """
        if self._rest_n is None:
            self._rest_n = float(np.asarray(self.force_sustained_n.get_value()))
        self._touch_n = touch_n if threshold_n is not None and self._rest_n == 0.0 else math.inf
        super().watch(None if threshold_n is None else threshold_n + self._rest_n)

    def sample(self, forces_n: Sequence[float], pairs_in: PairsIn) -> None:
        """Adds the largest force of a pair in each of some physics steps [N]; `pairs_in` tells the forces of a step."""
        self._frame.extend(forces_n)
        if not any(forces_n):
            self._last_n.clear()
            return
        for index, force_n in enumerate(forces_n):
            self._last_n.append(force_n)
            sustained_n = min(self._last_n) if len(self._last_n) == self._sustained_steps else 0.0
            self._sustained_n = max(self._sustained_n, sustained_n)
            if self.threshold_n is None or self.violation is not None:
                continue
            for found_n, limit_n in ((force_n, self._touch_n), (sustained_n, self.threshold_n)):
                if found_n > limit_n and self.violation is None:
                    forces, step, time_s = pairs_in(self.name, index)
                    pair = max(forces, key=forces.__getitem__)
                    self.violation, self.exceeded_n = Violation(self.name, pair, found_n, step, time_s), limit_n

    def end_frame(self) -> None:
        """Writes the frame's forces to the buffers."""
        super().end_frame()
        self.force_sustained_n.hold(np.array(self._sustained_n) if self._sustained_n else _NO_FORCE)
        self._sustained_n = 0.0


class FingerLoads(Module):
    """Force that each finger of an arm bears, sampled at every physics step.

    The force on a finger is the largest of two: the sum of all its contact forces, and the largest sum from one link
    that it touches. Sums are of vectors, of normal forces and friction. The second one counts a finger that two links
    squeeze from opposite sides. Two opposite forces from the same link cancel in both.

    The buffers describe one record frame and are tagged `interval`, like those of a `ContactView`. Only `end_frame`
    fills them:

    - `force_max_n`, `force_mean_n`: largest and mean over the frame's physics steps, each time of the finger that bears
      most in the step;
    - `force_sustained_n`: the largest force that a finger has borne or exceeded for longer than `SUSTAINED_S` without a
      break, up to a step of this frame. The time may begin in an earlier frame.
    """

    def __init__(self, name: str, fingers: Sequence[frozenset[str]], *, physics_hz: float) -> None:
        """Makes the loads of an arm's fingers.

        Args:
            name: Full name, `<robot>.<arm>.fingers`.
            fingers: Names of the links of each finger; links of one finger do not move relative to each other.
            physics_hz: Physics steps in a second [Hz].
        """
        super().__init__()
        self.name = name
        self.fingers = tuple(fingers)
        """Names of the links of each finger."""
        self.sustained_steps = count_sustained_steps(physics_hz)
        """See `count_sustained_steps`."""
        self.force_max_n = Buffer(np.zeros(()), tags=["interval"])
        self.force_mean_n = Buffer(np.zeros(()), tags=["interval"])
        self.force_sustained_n = Buffer(np.zeros(()), tags=["interval"])
        self.sustained_on = 0
        """Place in `fingers` of the finger that bore `force_sustained_n`."""
        self._steps: list[Sequence[float]] = []
        """Force on each finger in the last steps of earlier frames and in the steps of this frame [N]."""
        self._earlier_steps = 0

    def sample(self, forces_n: Sequence[Sequence[float]]) -> None:
        """Adds the force on each of `fingers` in each of some physics steps [N]."""
        self._steps.extend(forces_n)

    @property
    def frame_forces_n(self) -> list[Sequence[float]]:
        """Force on each of `fingers` in each sampled physics step of this record frame [N]."""
        return self._steps[self._earlier_steps :]

    def end_frame(self) -> None:
        """Writes the frame's forces to the buffers."""
        n = self.sustained_steps
        in_frame = [max(forces_n, default=0.0) for forces_n in self.frame_forces_n]
        largest, by_finger = max(in_frame, default=0.0), [0.0]
        if largest > 0.0 and len(self._steps) >= n:
            starts = range(len(self._steps) - n + 1)
            by_finger = [max(min(borne[k : k + n]) for k in starts) for borne in zip(*self._steps, strict=True)]
        sustained = max(by_finger)
        self.force_max_n.hold(np.array(largest) if largest else _NO_FORCE)
        self.force_mean_n.hold(np.array(sum_in_order(in_frame) / len(in_frame)) if largest else _NO_FORCE)
        self.force_sustained_n.hold(np.array(sustained) if sustained else _NO_FORCE)
        if (finger := by_finger.index(sustained)) != self.sustained_on:  # to set an attribute of a module takes long
            self.sustained_on = finger
        del self._steps[: max(0, len(self._steps) - n + 1)]
        self._earlier_steps = len(self._steps)


def touching_pairs(world: World, body: Body, *, within_m: float = 0.0) -> set[frozenset[str]]:
    """Returns the pairs of links of a body that overlap now or are nearer than `within_m`, at most 0.02 m.

    Pairs whose contacts are switched off are left out.
    """
    p.performCollisionDetection(physicsClientId=world.client)
    points = p.getContactPoints(body.body_id, body.body_id, physicsClientId=world.client)
    return {
        frozenset((body.link_names[point[3]], body.link_names[point[4]])) for point in points if point[8] < within_m
    }


class ContactMonitor:
    """All contact views and finger loads of one robot and the objects: one query a physics step, split by link."""

    def __init__(self, world: World, robot: Body, *, ignored_self_pairs: Collection[frozenset[str]] = ()) -> None:
        self._world = world
        self._robot = robot
        self._ignored = frozenset(ignored_self_pairs)
        self.views: dict[str, ContactView] = {}
        """All views, by name: those of the robot and those of objects."""
        self._robot_views: list[ContactView] = []
        self._object_views: dict[int, list[ObjectView]] = {}
        """By Bullet's number of the object's body."""
        self._loads: list[FingerLoads] = []
        self._table: ContactTable | None = None
        """What the core knows of contacts; None: it must be made anew."""
        self._pairs: list[tuple[Pair, list[ContactView]]] = []
        """By the core's number: the pair of links and its views."""
        self._numbers: dict[tuple[Pair, tuple[str, ...]], int] = {}
        self._sums: dict[tuple[int, Link], int] = {}
        """The core's number of the sum of forces on a finger from a link, by Bullet's numbers of body and link."""

    def add(self, view: ContactView) -> ContactView:
        """Adds a view of the robot; it is sampled from the next physics step on."""
        self.views[view.name] = view
        self._robot_views.append(view)
        self._table = None
        return view

    def add_object_view(self, view: ObjectView, body: Body) -> ObjectView:
        """Adds a view of an object's body; it is sampled from the next physics step on."""
        self.views[view.name] = view
        self._object_views.setdefault(body.body_id, []).append(view)
        self._table = None
        return view

    def add_loads(self, loads: FingerLoads) -> FingerLoads:
        """Adds the loads of an arm's fingers; they are sampled from the next physics step on."""
        self._loads.append(loads)
        self._table = None
        return loads

    def forget_contacts(self) -> None:
        """Lets contacts be sorted into views anew, since another object or part is acted on."""
        self._table = None

    def sample(self) -> None:
        """Reads the contacts of the physics steps since the last call of `World.step` with `first=0`."""
        core = self._world.core
        views = list(self.views.values())
        if not core.has_contacts:
            still = [0.0] * core.steps
            for view in views:
                view.sample(still, self._pairs_in)
            for loads in self._loads:
                loads.sample([[0.0] * len(loads.fingers)] * core.steps)
            return
        if self._table is None:
            self._pairs, self._numbers, self._sums = [], {}, {}
            self._table = ContactTable(len(views), sum(len(loads.fingers) for loads in self._loads))
        table = self._table
        while not core.measure(table):
            for row in core.rows().tolist():
                if row[5] < 0 and not table.knows(row[1:5]):
                    self._add_contact(table, row[1:5])
        for (pair, seen_by), in_steps in zip(self._pairs, table.pair_force.T.tolist(), strict=True):
            bears_force, without_force = max(in_steps) > 0.0, in_steps.count(0.0)
            if bears_force or without_force:
                for view in seen_by:
                    view.note_pair(pair[0], bears_force=bears_force, without_force=without_force)
        for view, forces_n in zip(views, table.view_force.T.tolist(), strict=True):
            view.sample(forces_n, self._pairs_in)
        forces_of_fingers, at = table.finger_force.tolist(), 0
        for loads in self._loads:
            end = at + len(loads.fingers)
            loads.sample([forces_n[at:end] for forces_n in forces_of_fingers])
            at = end

    def _pairs_in(self, view: str, index: int) -> tuple[dict[Pair, float], int, float]:
        """Returns the forces of the pairs of a view in one of the sampled steps, and its number and time [s]."""
        world, table = self._world, self._table
        step = world.steps - world.core.steps + index + 1
        row = [] if table is None else table.pair_force[index].tolist()
        forces = {
            pair: force_n
            for (pair, seen_by), force_n in zip(self._pairs, row, strict=True)
            if force_n >= 0.0 and any(each.name == view for each in seen_by)
        }
        return forces, step, step * world.dt

    def _add_contact(self, table: ContactTable, contact: tuple[int, int, int, int]) -> None:
        """Describes a contact to the core: the views of the robot or of two other bodies, and the fingers."""
        robot, (body_a, body_b, link_a, link_b) = self._robot, contact
        a, b = (body_a, link_a), (body_b, link_b)
        sides = [
            (robot.link_names[own[1]], other, sign)
            for own, other, sign in ((a, b, 1.0), (b, a, -1.0))
            if own[0] == robot.body_id
        ]
        seen = self._views_of_robot(sides) if sides else self._views_of_objects(a, b)
        fingers = [finger for loads in self._loads for finger in loads.fingers]
        sums = []
        for place, finger in enumerate(fingers):
            for name, other, sign in sides:
                if name in finger:
                    if (place, other) not in self._sums:
                        self._sums[place, other] = table.add_sum(place)
                    sums.append((self._sums[place, other], sign))
        table.add(contact, [self._number_of(table, pair, views) for pair, views in seen if views], sums)

    def _number_of(self, table: ContactTable, pair: Pair, views: list[ContactView]) -> int:
        """Returns the core's number of a pair that some views see."""
        key = pair, tuple(view.name for view in views)
        if key not in self._numbers:
            places = {name: place for place, name in enumerate(self.views)}
            self._numbers[key] = table.add_pair([places[view.name] for view in views])
            self._pairs.append((pair, views))
        return self._numbers[key]

    def _views_of_robot(self, sides: Sequence[tuple[str, Link, float]]) -> list[tuple[Pair, list[ContactView]]]:
        """Returns the pair of names of a contact of the robot, and its views; none for links that may touch."""
        name_a, other_body = sides[0][0], self._robot.name
        if len(sides) == 2:
            name_b = label = sides[1][0]
            if frozenset((name_a, name_b)) in self._ignored:
                return []
        else:
            other_id, other_link = sides[0][1]
            other_body = self._world.name_of(other_id)
            other = self._world.bodies[other_body]
            name_b, label = other.link_names[other_link], other.label(other_link)
        return [((name_a, label), [view for view in self._robot_views if view.selects(name_a, other_body, name_b)])]

    def _views_of_objects(self, a: Link, b: Link) -> list[tuple[Pair, list[ContactView]]]:
        """Returns the pairs of names of a contact of two links, neither of the robot: for the views of each body."""
        found: list[tuple[Pair, list[ContactView]]] = []
        for (own_id, own_link), (other_id, other_link) in ((a, b), (b, a)) if a[0] != b[0] else ():
            own, other = (self._world.bodies[self._world.name_of(body_id)] for body_id in (own_id, other_id))
            links = own.link_names[own_link], other.name, other.link_names[other_link]
            views: list[ContactView] = [v for v in self._object_views.get(own_id, ()) if v.selects(*links)]
            found.append(((own.label(own_link), other.label(other_link)), views))
        return found

    def end_frame(self) -> None:
        """Closes the record frame in all views and loads."""
        for view in self.views.values():
            view.end_frame()
        for loads in self._loads:
            loads.end_frame()


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
