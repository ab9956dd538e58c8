"""A tree of buffers: reading the simulation in, writing recorded values back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from simcore.errors import RecordingError, close_matches
from simcore.state.buffer import Buffer

Array = np.ndarray


class Module:
    """Owns buffers and child modules; both are found by attribute name or by `add_child`.

    A subclass overrides `_read_state` (simulation into buffers) and `_write_state` (buffers into the simulation).
    `update_state` and `write_replay_data` call them on the module itself first, then on its children in the order in
    which they were added.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Buffer] = {}
        self._children: dict[str, Module] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            if isinstance(value, Buffer):
                self._buffers[name] = value
            elif isinstance(value, Module):
                self._children[name] = value
        object.__setattr__(self, name, value)

    def add_child(self, name: str, child: Module) -> None:
        """Adds a child under a name that need not be an attribute.

        Raises:
            RecordingError: The name is taken or contains a dot.
        """
        if "." in name or name in self._children:
            raise RecordingError(
                f"Module name '{name}' has a dot or is taken. Taken: {sorted(self._children)}. Choose another name.",
                name=name,
            )
        self._children[name] = child

    @property
    def children(self) -> Mapping[str, Module]:
        """Child modules by name."""
        return self._children

    def update_state(self) -> None:
        """Reads the simulation into the buffers of this module and of all below it."""
        self._read_state()
        for child in self._children.values():
            child.update_state()

    def write_replay_data(self) -> None:
        """Pushes the buffers of this module and of all below it back into the simulation."""
        self._write_state()
        for child in self._children.values():
            child.write_replay_data()

    def _read_state(self) -> None:
        """Reads the simulation into this module's own buffers; nothing by default."""

    def _write_state(self) -> None:
        """Writes this module's own buffers into the simulation; nothing by default."""

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """Every buffer of the tree with its path relative to this module."""
        yield from self._buffers.items()
        for name, child in self._children.items():
            for path, buffer in child.named_buffers():
                yield f"{name}.{path}", buffer

    def state_dict(
        self, *, include_tags: Collection[str] | None = None, exclude_tags: Collection[str] = ()
    ) -> dict[str, Array]:
        """Values of the tree by path; empty buffers are left out.

        Args:
            include_tags: Only buffers with one of these tags; None for all.
            exclude_tags: No buffers with one of these tags.
        """
        state: dict[str, Array] = {}
        for path, buffer in self.named_buffers():
            value = buffer.get_value()
            if value is None or buffer.tags.intersection(exclude_tags):
                continue
            if include_tags is not None and not buffer.tags.intersection(include_tags):
                continue
            state[path] = value
        return state

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Writes values into the buffers of the tree.

        Raises:
            RecordingError: A path names no buffer of this tree.
        """
        buffers = dict(self.named_buffers())
        for path, value in state.items():
            if path not in buffers:
                raise RecordingError(
                    f"State '{path}' has no buffer in {type(self).__name__}.{close_matches(path, buffers)} "
                    "Load a record of the same scene.",
                    path=path,
                )
            buffers[path].set_value(value)
