"""Where in a region layouts plan: which places are tried next, and what is known so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.jobs import ReachResult

COARSE_M, FINE_M = 0.10, 0.05
"""Distances between the places of the first round, and of the last one [m]."""
MOST_PLACES = 400
"""Most places of one round."""

Place = tuple[int, int]
"""A place as whole multiples of `FINE_M` in x and y: the same places for every region that holds them."""


@dataclass
class ReachMap:
    """What is known about the region of one object, for one task."""

    found: dict[Place, ReachResult] = field(default_factory=dict)

    def next_place(self, region: RegionCfg) -> Place | None:
        """Returns the place to try next, from coarse to fine; None: all are known.

        In the second round, only places beside a change are tried: between two of which one plans and the other does
        not, or at the edge, where the coarse places around them are not all known.
        """
        for step in (round(COARSE_M / FINE_M), 1):
            places = list(places_in(region, step))
            for place in places:
                if place not in self.found and (step > 1 or self._is_unsure(place)):
                    return place
        return None

    def _is_unsure(self, place: Place) -> bool:
        """Whether the coarse places around a place differ, or some are unknown."""
        (i, j), step = place, round(COARSE_M / FINE_M)
        rows, columns = ({k - k % step, k if k % step == 0 else k - k % step + step} for k in (i, j))
        around = [self.found.get((row, column)) for row in rows for column in columns]
        return len({None if result is None else result.plans for result in around}) != 1 or None in around

    def colour_of(self, place: Place) -> bool | None:
        """Returns whether a place plans; of one that was left out, what its coarse neighbours say; None: unknown."""
        if place in self.found:
            return self.found[place].plans
        (i, j), step = place, round(COARSE_M / FINE_M)
        near = self.found.get((i - i % step, j - j % step))
        return None if near is None or self._is_unsure(place) else near.plans

    def known_places(self, region: RegionCfg) -> list[Place]:
        """Returns the places that were tried, and those of a region, in order."""
        return sorted({*self.found, *places_in(region, 1)})

    def share(self, region: RegionCfg) -> tuple[int, int]:
        """Returns how many places of a region plan, and how many are known."""
        known = [self.colour_of(place) for place in places_in(region, 1)]
        return sum(value is True for value in known), sum(value is not None for value in known)


def places_in(region: RegionCfg, step: int) -> Iterator[Place]:
    """Yields the places inside a region, every `step`-th one in x and y; at least the one nearest to its middle."""
    ranges = []
    for middle, half in zip(region.center_m, region.half_extent_m, strict=True):
        low, high = (middle - half) / FINE_M, (middle + half) / FINE_M
        inside = [k for k in range(round(low - 0.5), round(high + 0.5) + 1) if low - 1e-9 <= k <= high + 1e-9]
        chosen = [k for k in inside if k % step == 0]
        ranges.append(chosen or inside[:1] or [round(middle / FINE_M)])
    yield from [(i, j) for i in ranges[0] for j in ranges[1]][:MOST_PLACES]


def place_m(place: Place) -> tuple[float, float]:
    """Returns x and y of a place in the world frame [m]."""
    return round(place[0] * FINE_M, 6), round(place[1] * FINE_M, 6)


def region_at(region: RegionCfg, place: Place) -> RegionCfg:
    """Returns a region that holds one place only: facing the robot, at the middle of the heights."""
    height = 0.5 * sum(region.height_m)
    return replace(
        region, center_m=list(place_m(place)), half_extent_m=[0.0, 0.0], yaw_deg=0.0, height_m=[height, height]
    )
