"""Catch and gasket: the forces at the handle that hold a part at its closed stop.

An annotation states them at the part (docs/annotation.md, "Catches and gaskets"):

    closing_forces:
      catch: {leave_n: 25.0, enter_n: 12.0, reach_m: 0.005}
      gasket: {pull_n: 20.0, reach_m: 0.006}

`closing_forces: {}` says that the part has neither. Without the key, the part gets values of its category, see
`closing_force_values`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unlatch.objects.mapping_reader import MappingReader, rounded
from unlatch.simcore.closing_profile import catch_force, gasket_force
from unlatch.simcore.errors import AssetError, close_matches

_SAMPLES = 400
"""Openings at which the largest forces are looked for; the profiles have no feature as narrow as their distance."""


@dataclass(frozen=True)
class Catch:
    """A catch: a magnet, a ball, a latch with a hook, or the spring of a drawer that closes itself."""

    leave_n: float
    """Force at the handle that must be exceeded to open the part [N]."""
    reach_m: float
    """Distance that the handle moves from closed while the catch pulls the part closed [m]."""
    enter_n: float = 0.0
    """Force at the handle that must be exceeded to close the part again [N]; 0: the catch pulls it in."""

    def __post_init__(self) -> None:
        for name in ("leave_n", "enter_n", "reach_m"):
            _check_at_least_zero("catch", name, getattr(self, name))
        if self.leave_n > 0.0 and self.reach_m == 0.0:
            raise AssetError(
                "catch.reach_m is 0, expected more. Write how far the handle moves from closed while it acts [m]."
            )
        if self.enter_n > 0.0 and self.leave_n == 0.0:
            raise AssetError(
                f"catch.enter_n is {self.enter_n:g}, but leave_n is 0: it would hold nothing. Raise leave_n."
            )


@dataclass(frozen=True)
class Gasket:
    """A seal between the part and its body: a magnetic strip, or rubber that is compressed."""

    pull_n: float
    """Force at the handle of the closed part [N]: positive pulls it closed (a magnet), negative pushes it open
    (compressed rubber)."""
    reach_m: float
    """Distance that the handle moves from closed while the gasket acts [m]."""

    def __post_init__(self) -> None:
        _check_at_least_zero("gasket", "reach_m", self.reach_m)
        if self.pull_n != 0.0 and self.reach_m == 0.0:
            raise AssetError(
                "gasket.reach_m is 0, expected more. Write how far the handle moves from closed while it acts [m]."
            )


@dataclass(frozen=True)
class ClosingForces:
    """The forces at the closed stop of a part, at its handle; None: it has no such thing."""

    catch: Catch | None = None
    gasket: Gasket | None = None

    def __post_init__(self) -> None:
        if self.force_n(0.0) < 0.0:
            raise AssetError(
                f"the gasket pushes the closed part open with {-self.force_n(0.0):g} N more than the catch holds. "
                "Raise catch.leave_n or gasket.pull_n."
            )

    def force_n(self, opening_m: float) -> float:
        """Returns the force at the handle that has moved by `opening_m` from closed [N]; positive pulls it closed."""
        force = 0.0
        if self.catch is not None:
            catch = self.catch
            force += catch_force(opening_m, leave=catch.leave_n, enter=catch.enter_n, reach=catch.reach_m)
        if self.gasket is not None:
            force += gasket_force(opening_m, pull=self.gasket.pull_n, reach=self.gasket.reach_m)
        return force

    @property
    def reach_m(self) -> float:
        """Distance that the handle moves from closed until no closing force acts [m]."""
        catch, gasket = self.catch, self.gasket
        of_catch = 0.0 if catch is None or catch.leave_n == 0.0 else catch.reach_m * (2.0 if catch.enter_n else 1.0)
        return max(of_catch, 0.0 if gasket is None or gasket.pull_n == 0.0 else gasket.reach_m)

    @property
    def peak_opening_force_n(self) -> float:
        """Largest force at the handle that must be exceeded to open the part, without friction [N]."""
        return float(max(0.0, *self._forces()))

    @property
    def peak_closing_force_n(self) -> float:
        """Largest force at the handle that must be exceeded to close the part, without friction [N]."""
        return float(max(0.0, *(-force for force in self._forces())))

    def _forces(self) -> list[float]:
        return [self.force_n(float(opening)) for opening in np.linspace(0.0, self.reach_m, _SAMPLES + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`; numbers are rounded to a nanonewton or nanometre."""
        entries = {"catch": self.catch, "gasket": self.gasket}
        return {
            name: {key: rounded(value) for key, value in asdict(entry).items()}
            for name, entry in entries.items()
            if entry is not None
        }

    def record(self, part: str) -> dict[str, float | str]:
        """Returns the values as a flat record, with the name of the part before each key."""
        return {
            f"{part}_{name}_{key}": value for name, values in self.to_dict().items() for key, value in values.items()
        }


NO_CLOSING_FORCES = ClosingForces()
"""A part without catch and gasket."""


def read_closing_forces(part: MappingReader) -> ClosingForces:
    """Reads the entry `closing_forces` of a part, from the reader of the part.

    Raises:
        AssetError: A key is missing or unknown, or a value cannot be.
    """
    reader = part.section("closing_forces")
    _refuse_unknown(reader, ("catch", "gasket"))
    try:
        return ClosingForces(
            catch=_read_catch(reader.section("catch")) if "catch" in reader.data else None,
            gasket=_read_gasket(reader.section("gasket")) if "gasket" in reader.data else None,
        )
    except AssetError as exc:
        if hasattr(exc, "path"):
            raise  # the reader's own, which names the file
        raise part.fail("closing_forces", f"is not possible: {exc.message}") from exc


def _read_catch(reader: MappingReader) -> Catch:
    _refuse_unknown(reader, ("leave_n", "enter_n", "reach_m"))
    return Catch(reader.number("leave_n"), reader.number("reach_m"), reader.number("enter_n", 0.0))


def _read_gasket(reader: MappingReader) -> Gasket:
    _refuse_unknown(reader, ("pull_n", "reach_m"))
    return Gasket(reader.number("pull_n"), reader.number("reach_m"))


def _refuse_unknown(reader: MappingReader, known: tuple[str, ...]) -> None:
    for key in reader.data:
        if key not in known:
            raise reader.fail(
                str(key), f"is not a known key.{close_matches(str(key), known)} Known: {', '.join(known)}."
            )


def _check_at_least_zero(what: str, name: str, value: float) -> None:
    if not 0.0 <= value < np.inf:
        raise AssetError(f"{what}.{name} is {value:g}, expected 0 or more. Correct it.")
