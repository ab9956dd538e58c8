"""Distributions of random values. They hold only parameters: the random generator is passed to each draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import ConfigError, check_range, unknown_entry, unknown_name

Array = np.ndarray


def read_numbers(value: Any, where: str) -> Array:
    """Returns a finite number () or row of numbers (w,).

    Raises:
        ConfigError: It is something else.
    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros((0, 0))
    is_flag = isinstance(value, bool | str) or value is None
    if is_flag or array.ndim > 1 or (array.ndim == 1 and not array.size) or not np.all(np.isfinite(array)):
        raise ConfigError(
            f"{where}={value!r} is not a number. Expected a finite number, or a list of one per component. Change it.",
            key=where,
        )
    return array


def read_rows(value: Any, where: str) -> Array:
    """Returns (k,) numbers or (k, w) rows.

    Raises:
        ConfigError: It is empty, or its entries have different lengths.
    """
    rows = [read_numbers(row, f"{where}[{i}]") for i, row in enumerate(value)] if isinstance(value, Iterable) else []
    if not rows or len({row.shape for row in rows}) != 1:
        raise ConfigError(
            f"{where} has {len(rows)} entries of {len({row.shape for row in rows})} different lengths. Expected at "
            "least one, all numbers or all lists of one length. Change them.",
            key=where,
        )
    return np.array(rows)


def check_order(kind: str, values: Mapping[str, Array]) -> None:
    """Checks that `lower` is not above `upper`.

    Raises:
        ConfigError: It is, in at least one component.
    """
    lower, upper = values["lower"], values["upper"]
    if np.ndim(lower) == np.ndim(upper) == 1 and len(lower) != len(upper):
        return  # the check of the number of components has a better message
    if not np.all(lower <= upper):
        raise ConfigError(
            f"{kind}: lower={format_value(lower)} is above upper={format_value(upper)} in a component. Swap them.",
            key=f"{kind}.lower",
        )


def format_value(value: Any) -> str:
    """Returns a value as text for a message."""
    return str(value.tolist()) if isinstance(value, np.ndarray) else str(value)


_SIGMAS = 2.0
"""Half width of the range of a normal distribution, in standard deviations."""


class Distribution(ABC):
    """A distribution; its parameters may change at any time and apply from the next draw on.

    A parameter is a number for all components, each drawn independently, or one number per component.
    """

    type: ClassVar[str]
    """Name in a YAML."""
    parameters: ClassVar[tuple[str, ...]]
    """Names of the parameters."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Names of the optional parameters."""

    def __init__(self, **values: Any) -> None:
        self._values = self._check_values(values)
        self.width = self._count_components(self._values)
        """Number of components; None: any number."""
        self._users: WeakSet[Any] = WeakSet()

    def get(self, name: str) -> Any:
        """Returns a parameter's value.

        Raises:
            ConfigError: There is no parameter of that name.
        """
        self._check_name(name)
        value = self._values[name]
        return value.copy() if isinstance(value, np.ndarray) else value

    def set(self, values: Mapping[str, Any]) -> None:
        """Changes parameters, all or none.

        Raises:
            ConfigError: A name is unknown, a value is out of range, the number of components changes, or a
                rule that draws from it refuses the change.
        """
        for name in values:
            self._check_name(name)
        changed = self._check_values({**self._values, **values})
        width = self._count_components(changed)
        if width != self.width and width is not None:
            raise ConfigError(
                f"{self.type}: {', '.join(values)} would change the number of components to {width} from "
                f"{'one for all' if self.width is None else self.width}. Give as many as before.",
                key=next(iter(values), self.type),
            )
        before, self._values = self._values, changed
        try:
            self.check_distribution()
        except ConfigError:
            self._values = before
            raise

    def watch(self, user: Any) -> None:
        """Registers an object whose `check_distribution` runs after every change, and raises if it does not fit."""
        self._users.add(user)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state of a copy: the parameters without the registered objects."""
        return {key: value for key, value in vars(self).items() if key != "_users"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _users=WeakSet())

    def check_distribution(self) -> None:
        """Lets all registered objects check the parameters, as far as they still exist."""
        for user in list(self._users):
            user.check_distribution()

    def _check_name(self, name: str) -> None:
        if name not in self.parameters:
            said, advice = f"{self.type} has no parameter '{name}'.", "Name one of them."
            raise unknown_entry(said, name, self.parameters, advice=advice, error=ConfigError, key=name)

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        """Checks parameters and returns them as arrays (w,) or ()."""
        return {name: read_numbers(value, f"{self.type}.{name}") for name, value in values.items()}

    def _count_components(self, values: Mapping[str, Any]) -> int | None:
        widths = {np.shape(value)[0] for value in values.values() if np.ndim(value) == 1}
        if len(widths) > 1:
            raise ConfigError(
                f"{self.type} has parameters of {' and '.join(str(w) for w in sorted(widths))} components: "
                f"{', '.join(f'{n} {np.size(v)}' for n, v in values.items())}. Give each one number per component.",
                key=self.type,
            )
        return widths.pop() if widths else None

    @abstractmethod
    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """Draws values (n, width); `counts` (n,) are the numbers of earlier draws of each environment."""

    @abstractmethod
    def range(self) -> tuple[Array, Array]:
        """Returns the smallest and the largest value, each a number or one per component; mean -+ 2 std if normal."""

    def lowest(self) -> Array:
        """Returns the smallest value that must be accepted, a number or one per component; the mean if normal."""
        return self.range()[0]

    def bucketed(self, values: Array, num_buckets: int) -> Array:
        """Rounds values (n, w) to the nearest of `num_buckets` evenly spaced ones; one bucket is the middle."""
        lower, upper = self.range()
        if num_buckets == 1:
            return np.broadcast_to(0.5 * (lower + upper), values.shape).copy()
        step = np.where(upper > lower, (upper - lower) / (num_buckets - 1), 1.0)
        snapped: Array = lower + step * np.clip(np.round((values - lower) / step), 0, num_buckets - 1)
        return np.where(upper > lower, snapped, np.broadcast_to(lower, values.shape))

    def to_dict(self) -> dict[str, Any]:
        """Returns its YAML form."""
        plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in self._values.items() if v is not None}
        return {"type": self.type, **plain}

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(f'{name}={format_value(value)}' for name, value in self._values.items())})"


class Uniform(Distribution):
    """Uniform between `lower` and `upper`."""

    type = "uniform"
    parameters = ("lower", "upper")

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        checked = super()._check_values(values)
        check_order(self.type, checked)
        return checked

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`."""
        return rng.uniform(self._values["lower"], self._values["upper"], (len(counts), width))

    def range(self) -> tuple[Array, Array]:
        """See `Distribution`."""
        return self._values["lower"], self._values["upper"]


class LogUniform(Uniform):
    """Log-uniform between `lower` and `upper`, both above 0."""

    type = "log_uniform"

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        checked = super()._check_values(values)
        check_range("log_uniform.lower", checked["lower"].min(), 0.0, above=True)
        return checked

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`."""
        lower, upper = self._values["lower"], self._values["upper"]
        drawn: Array = np.exp(rng.uniform(np.log(lower), np.log(upper), (len(counts), width)))
        return np.clip(drawn, lower, upper)  # exp(log(x)) may round beyond x


class Normal(Distribution):
    """Gaussian about `mean` with standard deviation `std`."""

    type = "normal"
    parameters = ("mean", "std")

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        checked = super()._check_values(values)
        check_range("normal.std", checked["std"].min(), 0.0)
        return checked

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`."""
        return rng.normal(self._values["mean"], self._values["std"], (len(counts), width))

    def range(self) -> tuple[Array, Array]:
        """See `Distribution`."""
        mean, std = self._values["mean"], self._values["std"]
        return mean - _SIGMAS * std, mean + _SIGMAS * std

    def lowest(self) -> Array:
        """See `Distribution`: the attribute's bounds cut off the lower tail."""
        return self._values["mean"]


class Constant(Distribution):
    """Always the same `value`."""

    type = "constant"
    parameters = ("value",)

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`."""
        return np.broadcast_to(self._values["value"], (len(counts), width)).copy()

    def range(self) -> tuple[Array, Array]:
        """See `Distribution`."""
        return self._values["value"], self._values["value"]


class _ListedValues(Distribution):
    """A distribution over a list of values, its first parameter. Each value is a number or a row."""

    @property
    def _rows(self) -> Array:
        return self._values[self.parameters[0]]

    def _count_components(self, values: Mapping[str, Any]) -> int | None:
        rows = values[self.parameters[0]]
        return rows.shape[1] if rows.ndim == 2 else None

    def range(self) -> tuple[Array, Array]:
        """See `Distribution`."""
        return self._rows.min(axis=0), self._rows.max(axis=0)


class Choice(_ListedValues):
    """One of `choices`, each a number or a row, with `weights` that need not add up to 1."""

    type = "choice"
    parameters = ("choices", "weights")
    optional = ("weights",)

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        rows = read_rows(values["choices"], "choice.choices")
        weights = values.get("weights")
        if weights is not None:
            weights = read_numbers(weights, "choice.weights")
            if weights.shape != (len(rows),) or not np.all(weights >= 0.0) or not weights.sum() > 0.0:
                raise ConfigError(
                    f"choice.weights={format_value(weights)} do not fit. Expected {len(rows)} numbers of 0 or more, "
                    "one per choice, not all 0. Change them.",
                    key="choice.weights",
                )
        return {"choices": rows, "weights": weights}

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`: a row gives all components of an environment; single numbers are drawn per component."""
        rows, weights = self._rows, self._values["weights"]
        p = None if weights is None else weights / weights.sum()
        shape = (len(counts), width) if rows.ndim == 1 else (len(counts),)
        return rows[rng.choice(len(rows), size=shape, p=p)]


class Sequential(_ListedValues):
    """The `items` in order, repeatedly, each a number or a row; every environment has its own position."""

    type = "sequence"
    parameters = ("items",)

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        return {"items": read_rows(values["items"], "sequence.items")}

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`."""
        rows = self._rows[counts % len(self._rows)]
        return rows if rows.ndim == 2 else np.repeat(rows[:, None], width, axis=1)


class Combine(Distribution):
    """The components of several distributions side by side; a part with scalar parameters has one component."""

    type = "combine"
    parameters = ("distributions",)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._watch_parts()

    @property
    def _parts(self) -> tuple[Distribution, ...]:
        return self._values["distributions"]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._watch_parts()

    def _check_values(self, values: dict[str, Any]) -> dict[str, Any]:
        parts = [as_distribution(part) for part in values["distributions"]]
        if not parts:
            raise ConfigError("combine.distributions is empty. Expected at least one. Add it.", key="combine")
        return {"distributions": tuple(parts)}

    def _count_components(self, values: Mapping[str, Any]) -> int | None:
        return sum(part.width or 1 for part in values["distributions"])

    def sample(self, rng: np.random.Generator, counts: Array, width: int) -> Array:
        """See `Distribution`."""
        return np.concatenate([part.sample(rng, counts, part.width or 1) for part in self._parts], axis=1)

    def range(self) -> tuple[Array, Array]:
        """See `Distribution`."""
        ranges = [[np.broadcast_to(end, part.width or 1) for end in part.range()] for part in self._parts]
        return np.concatenate([r[0] for r in ranges]), np.concatenate([r[1] for r in ranges])

    def lowest(self) -> Array:
        """See `Distribution`."""
        return np.concatenate([np.broadcast_to(part.lowest(), part.width or 1) for part in self._parts])

    def set(self, values: Mapping[str, Any]) -> None:
        """See `Distribution`."""
        super().set(values)
        self._watch_parts()

    def _watch_parts(self) -> None:
        """Registers a check on every part: a change of a part changes the whole."""
        for part in self._parts:
            part.watch(self)

    def to_dict(self) -> dict[str, Any]:
        """See `Distribution`."""
        return {"type": self.type, "distributions": [part.to_dict() for part in self._parts]}


def uniform(lower: ArrayLike, upper: ArrayLike) -> Uniform:
    """Uniform between `lower` and `upper`, each a number for all components or one number per component."""
    return Uniform(lower=lower, upper=upper)


def normal(mean: ArrayLike, std: ArrayLike) -> Normal:
    """Normal with `mean` and standard deviation `std`, each a number for all components or one number per component."""
    return Normal(mean=mean, std=std)


def log_uniform(lower: ArrayLike, upper: ArrayLike) -> LogUniform:
    """Log-uniform between `lower` and `upper`, both above 0."""
    return LogUniform(lower=lower, upper=upper)


def choice(choices: Sequence[Any], weights: Sequence[float] | None = None) -> Choice:
    """One of several numbers or rows, by weight."""
    return Choice(choices=choices, weights=weights)


def sequence(items: Sequence[Any]) -> Sequential:
    """Numbers or rows in order, repeatedly, independently in each environment."""
    return Sequential(items=items)


def combine(distributions: Iterable[Any]) -> Combine:
    """The components of several distributions or constants side by side."""
    return Combine(distributions=list(distributions))


DISTRIBUTIONS: dict[str, type[Distribution]] = {
    kind.type: kind for kind in (Choice, Combine, Constant, LogUniform, Normal, Sequential, Uniform)
}
"""Distributions by their names in a YAML."""


def as_distribution(value: Any) -> Distribution:
    """Returns a distribution unchanged; turns a number or a list of numbers into a constant.

    Raises:
        ConfigError: It is neither.
    """
    return value if isinstance(value, Distribution) else Constant(value=value)


def read_distribution(raw: Any, where: str) -> Distribution:
    """Makes a distribution from a map with `type` and parameters, or from a number or list of numbers.

    Raises:
        ConfigError: The type or a parameter is unknown, missing or out of range.
    """
    try:
        return _read_map(raw, where) if isinstance(raw, Mapping) else as_distribution(raw)
    except ConfigError as exc:
        if exc.message.startswith(where):
            raise
        raise ConfigError(f"{where}: {exc.message}", **{**exc.values, "key": where}) from exc


def _read_map(raw: Mapping[str, Any], where: str) -> Distribution:
    kind = raw.get("type")
    if not isinstance(kind, str) or kind not in DISTRIBUTIONS:
        raise unknown_name(str(kind), "a known distribution", where=f"{where}.type", known=DISTRIBUTIONS)
    parameters = {str(name): value for name, value in raw.items() if name != "type"}
    known = DISTRIBUTIONS[kind].parameters
    for name in parameters:
        if name not in known:
            raise unknown_entry(
                f"{where}.{name} is unknown.",
                name,
                ("type", *known),
                error=ConfigError,
                heading="Keys there",
                advice="Remove or rename it.",
                key=f"{where}.{name}",
            )
    required = [name for name in known if name not in DISTRIBUTIONS[kind].optional]
    for name in required:
        if name not in parameters:
            raise ConfigError(
                f"{where}.{name} is missing. {kind} expects {', '.join(required)}. Give it.", key=f"{where}.{name}"
            )
    if kind == "combine":
        parts = parameters["distributions"]
        if not isinstance(parts, list):
            raise ConfigError(f"{where}.distributions is no list. Expected the parts. Change it.", key=where)
        parameters["distributions"] = [
            read_distribution(part, f"{where}.distributions[{index}]") for index, part in enumerate(parts)
        ]
    return DISTRIBUTIONS[kind](**parameters)
