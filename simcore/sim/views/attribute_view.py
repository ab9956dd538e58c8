"""The base of all views. A view has one member per environment, and named quantities of each that can be randomized."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, close_matches

Array = np.ndarray


@dataclass(frozen=True)
class ViewAttribute:
    """A quantity of every member of a view."""

    name: str
    width: int
    """Values per member."""
    unit: str
    components: str
    """Meaning of the values, such as `x, y, z` or `one per joint: panda_joint1, ...`."""
    read: Callable[[int], Array]
    """Returns the present values (width,) of a member, by its environment."""
    write: Callable[[int, Array], None]
    """Writes (width,) values of a member."""
    least: float | None = None
    """Smallest meaningful value; smaller ones are raised to it. None: any."""
    most: float | Array | None = None
    """Largest meaningful value, or (width,) one for each; larger ones are lowered to it. None: any."""
    repeat: int | None = None
    """A shorter width that is accepted, too, and repeated: 3 values of a material for all links."""
    lasts_one_step: bool = False
    """Whether values of `on_interval` act only until the next `step_randomization`: forces and efforts."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Accepted numbers of values, the full one first."""
        return (self.width,) if self.repeat in (None, self.width) else (self.width, int(self.repeat or 0))

    def bounded(self, values: Array) -> Array:
        """Returns values clipped to the meaningful range."""
        return values if self.least is None and self.most is None else np.clip(values, self.least, self.most)


class AttributeView:
    """Members in the environments of a world, and attributes of each; a subclass adds the attributes."""

    kind = "view"
    """Kind of view, for messages."""

    def __init__(self, name: str, *, count: int = 1) -> None:
        """Makes a view without attributes; `count` is the number of members, one per environment."""
        self.name = name
        self.count = count
        self._attributes: dict[str, ViewAttribute] = {}
        self._missing: dict[str, str] = {}

    @property
    def attributes(self) -> Mapping[str, ViewAttribute]:
        """Attributes by name."""
        return self._attributes

    def attribute(self, name: str) -> ViewAttribute:
        """Returns an attribute by name.

        Raises:
            ConfigError: It has no attribute of that name.
        """
        if name in self._missing:
            raise ConfigError(
                f"View '{self.name}' ({self.kind}) has no '{name}': {self._missing[name]}.", key="attribute"
            )
        if name not in self._attributes:
            raise ConfigError(
                f"View '{self.name}' ({self.kind}) has no attribute '{name}'."
                f"{close_matches(name, self._attributes)} Known: {', '.join(self._attributes)}. Name one of them.",
                key="attribute",
                available=list(self._attributes),
            )
        return self._attributes[name]

    def get(self, name: str) -> Array:
        """Returns the present values (N, width) of an attribute of all members."""
        attribute = self.attribute(name)
        return np.array([attribute.read(env) for env in range(self.count)]).reshape(self.count, attribute.width)

    def include_attributes(self, other: AttributeView) -> None:
        """Adds the attributes of another view, so that messages name all of them."""
        self._attributes.update(other.attributes)
        self._missing.update(other._missing)

    def _add_attribute(
        self,
        name: str,
        width: int,
        unit: str,
        components: str,
        read: Callable[[int], Array],
        write: Callable[[int, Array], None],
        **options: Any,
    ) -> None:
        """Adds an attribute; the arguments are those of `ViewAttribute`."""
        self._attributes[name] = ViewAttribute(name, width, unit, components, read, write, **options)

    def _add_field(
        self,
        field: str,
        width: int,
        unit: str,
        components: str,
        owner: Any,
        holder: str,
        convert: Callable[[Array], Any],
        **options: Any,
    ) -> None:
        """Adds a field of a frozen dataclass as an attribute of the only member.

        `owner` holds the dataclass in its attribute `holder`, which every write replaces. `convert` turns the
        written values into the field's type.
        """

        def read(_env: int) -> Array:
            return np.atleast_1d(np.array(getattr(getattr(owner, holder), field), dtype=float))

        def write(_env: int, values: Array) -> None:
            setattr(owner, holder, replace(getattr(owner, holder), **{field: convert(values)}))

        self._add_attribute(field, width, unit, components, read, write, **options)

    def _add_array(
        self,
        name: str,
        owner: Any,
        field: str,
        unit: str,
        components: str,
        *,
        convert: Callable[[Array], Array] = np.array,
        after: Callable[[], None] | None = None,
        **options: Any,
    ) -> None:
        """Adds an array field of an object as an attribute of the only member.

        Args:
            name: Name of the attribute.
            owner: The object.
            field: Name of its field; every write replaces the array.
            unit: Unit of the values.
            components: Meaning of the values.
            convert: Converts written values.
            after: Called after every write.
            options: Further arguments of `ViewAttribute`.
        """
        shape = np.shape(getattr(owner, field))

        def read(_env: int) -> Array:
            return np.array(getattr(owner, field), dtype=float).ravel()

        def write(_env: int, values: Array) -> None:
            setattr(owner, field, convert(np.reshape(values, shape)))
            if after is not None:
                after()

        self._add_attribute(name, int(np.prod(shape)), unit, components, read, write, **options)
