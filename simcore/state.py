"""The tree of all state: modules with buffers read the simulation, and write recorded values back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import RecordingError, close_matches

Array = np.ndarray


class Buffer:
    """Holds one array of simulation data (a joint state, a pose, an image) and its tags.

    The array is copied and read-only, so results of `state_dict` never change.
    """

    def __init__(self, value: ArrayLike | None = None, *, tags: Iterable[str] = ()) -> None:
        """Makes a buffer.

        Args:
            value: First value; None until something is written.
            tags: Names that `Module.state_dict` filters by, such as "rgb".
        """
        if isinstance(tags, str):
            raise RecordingError(f"Tags of a buffer are a list of names, got the text {tags!r}. Write [{tags!r}].")
        self.tags = frozenset(tags)
        self._value: Array | None = None
        self.set_value(value)

    def get_value(self) -> Array | None:
        """Returns the last value, or None before the first; read-only."""
        return self._value

    def set_value(self, value: ArrayLike | None) -> None:
        """Writes a copy of a value.

        Raises:
            RecordingError: The value is not an array of booleans, numbers or text.
        """
        if value is None:
            self._value = None
            return
        try:
            array = np.array(value)
        except ValueError as exc:
            raise RecordingError(f"A buffer holds one array: {exc}. Give rows of equal length.") from exc
        if array.dtype == object:
            raise RecordingError(
                f"A buffer holds an array of booleans, numbers or text, got a {type(value).__name__} that NumPy "
                "keeps as objects. Convert it to an array first."
            )
        array.setflags(write=False)
        self._value = array

    def hold(self, array: Array) -> None:
        """Takes over an array of booleans or numbers without copying it; nobody may change it from then on."""
        array.setflags(write=False)
        self._value = array

    def __repr__(self) -> str:
        shape = "empty" if self._value is None else f"{self._value.dtype}{list(self._value.shape)}"
        return f"Buffer({shape}, tags={sorted(self.tags)})"


KEY_WORD = re.compile(r"[A-Za-z0-9_-]+\Z")
"""One word of a record key."""


class Rendering(Enum):
    """Kinds of images that a sensor may have."""

    rgb = auto()
    """Colours."""
    depth = auto()
    """Distance to the image plane [m]."""
    distance = auto()
    """Distance to the camera's centre [m]."""
    segmentation = auto()
    """Class of the visible body."""
    instance_id_segmentation = auto()
    """Visible link and its body."""
    normals = auto()
    """Normals of visible surfaces."""


class Module:
    """Owns buffers and child modules; each is an attribute or added by `add_child`.

    A subclass overrides some of these methods, which do nothing by default:

    - `_read_state` reads the simulation into buffers;
    - `_write_state` writes buffers into the simulation;
    - `_switch_rendering` switches a kind of image on or off.

    `update_state`, `write_replay_data` and the switches call them on the module itself first, and then on its children
    in the order in which they were added.

    Images cost far more than all other state together and are off by default. The `enable_..._rendering` methods switch
    a kind on, for this module and all modules below it; from then on `update_state` fills its buffers.
    """

    _changes: ClassVar[int] = 0
    """Number of changes of all module trees together: a module does not know to which tree it belongs."""

    def __init__(self) -> None:
        self._buffers: dict[str, Buffer] = {}
        self._children: dict[str, Module] = {}
        self._selected: dict[tuple[frozenset[str] | None, frozenset[str]], tuple[int, list[tuple[str, Buffer]]]] = {}
        """What `_select_buffers` has found by tags, after the value of `_changes` for which it is valid."""
        self._readers: tuple[int, list[Module]] = (-1, [])
        """The modules of the tree that read the simulation, after the value of `_changes` for which it is valid."""

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            buffers: dict[str, Buffer] | None = self.__dict__.get("_buffers")
            if buffers is not None:
                # the name may have held a buffer or a module before
                _remove_member(name, buffers, self._children)
            if isinstance(value, Buffer | Module):
                if buffers is None:
                    raise RecordingError(
                        f"'{name}' is set on {type(self).__name__} before its Module part exists. "
                        "Call super().__init__() first.",
                        name=name,
                    )
                Module._changes += 1
                if isinstance(value, Buffer):
                    buffers[name] = value
                else:
                    self._children[name] = value
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _remove_member(name, self._buffers, self._children)
        object.__delattr__(self, name)

    def add_child(self, name: str, child: Module) -> None:
        """Adds a child under a name that need not be an attribute.

        Raises:
            RecordingError: The name is taken, or has other characters than letters, digits, `_` and `-`.
        """
        taken = sorted({*self._children, *self._buffers})
        if not KEY_WORD.match(name) or name in taken:
            raise RecordingError(
                f"Module name '{name}' is taken or has other characters than letters, digits, '_' and '-'. "
                f"Taken: {', '.join(taken) or 'none'}. Choose another name.",
                name=name,
            )
        Module._changes += 1
        self._children[name] = child

    @property
    def children(self) -> Mapping[str, Module]:
        """Child modules by name."""
        return self._children

    def update_state(self) -> None:
        """Reads the simulation into the buffers of this module and of all modules below it."""
        if self._readers[0] != Module._changes:
            self._readers = Module._changes, list(self._find_readers())
        for module in self._readers[1]:
            module._read_state()

    def _find_readers(self) -> Iterator[Module]:
        """Yields the modules of the tree that have a `_read_state` of their own."""
        if type(self)._read_state is not Module._read_state:
            yield self
        for child in self._children.values():
            yield from child._find_readers()

    def write_replay_data(self) -> None:
        """Writes the buffers of this module and of all modules below it into the simulation."""
        self._write_state()
        for child in self._children.values():
            child.write_replay_data()

    def _read_state(self) -> None:
        """Reads the simulation into this module's own buffers; nothing by default."""

    def _hold(self, **values: Array) -> None:
        """Lets buffers take over arrays by name, see `Buffer.hold`."""
        for name, value in values.items():
            self._buffers[name].hold(value)

    def _write_state(self) -> None:
        """Writes this module's own buffers into the simulation; nothing by default."""

    def switch_rendering(self, kind: Rendering, *, on: bool) -> None:
        """Switches a kind of image on or off, for this module and all modules below it."""
        self._switch_rendering(kind, on=on)
        for child in self._children.values():
            child.switch_rendering(kind, on=on)

    def _switch_rendering(self, kind: Rendering, *, on: bool) -> None:
        """Switches a kind of image of this module alone; nothing by default."""

    def enable_rgb_rendering(self) -> None:
        """Switches colour images on (tag `rgb`)."""
        self.switch_rendering(Rendering.rgb, on=True)

    def enable_depth_rendering(self) -> None:
        """Switches depth images on (tag `depth`)."""
        self.switch_rendering(Rendering.depth, on=True)

    def enable_distance_rendering(self) -> None:
        """Switches images of the distance to the camera on (tag `depth`)."""
        self.switch_rendering(Rendering.distance, on=True)

    def enable_segmentation_rendering(self) -> None:
        """Switches images of classes on (tag `segmentation`)."""
        self.switch_rendering(Rendering.segmentation, on=True)

    def enable_instance_id_segmentation_rendering(self) -> None:
        """Switches images of single links on (tag `segmentation`)."""
        self.switch_rendering(Rendering.instance_id_segmentation, on=True)

    def enable_normals_rendering(self) -> None:
        """Switches images of surface normals on (tag `normals`)."""
        self.switch_rendering(Rendering.normals, on=True)

    def disable_rendering(self) -> None:
        """Switches all images off and empties their buffers."""
        for kind in Rendering if type(self)._switch_rendering is not Module._switch_rendering else ():
            self._switch_rendering(kind, on=False)
        for child in self._children.values():
            child.disable_rendering()

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """Yields every buffer of the tree with its path relative to this module."""
        yield from self._buffers.items()
        for name, child in self._children.items():
            for path, buffer in child.named_buffers():
                yield f"{name}.{path}", buffer

    def _select_buffers(self, include: frozenset[str] | None, exclude: frozenset[str]) -> list[tuple[str, Buffer]]:
        """Returns the buffers with such tags, with their paths; searched again only after a tree has changed."""
        changes, found = self._selected.get((include, exclude), (-1, []))
        if changes != Module._changes:
            found = [
                (path, buffer)
                for path, buffer in self.named_buffers()
                if not buffer.tags & exclude and (include is None or buffer.tags & include)
            ]
            self._selected[include, exclude] = (Module._changes, found)
        return found

    def state_dict(
        self, include_tags: Collection[str] | None = None, exclude_tags: Collection[str] = ()
    ) -> dict[str, Array]:
        """Returns the values of the tree by path, without empty buffers.

        Args:
            include_tags: Only buffers with one of these tags; None for all.
            exclude_tags: No buffers with one of these tags, even if another tag is included.

        Raises:
            RecordingError: Tags are given as one text instead of a list.
        """
        for name, tags in (("include_tags", include_tags), ("exclude_tags", exclude_tags)):
            if isinstance(tags, str):
                raise RecordingError(f"{name}={tags!r} is a text, expected a list of tags. Write [{tags!r}].")
        included = None if include_tags is None else frozenset(include_tags)
        chosen = self._select_buffers(included, frozenset(exclude_tags))
        return {path: value for path, buffer in chosen if (value := buffer.get_value()) is not None}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Writes values into the buffers of the tree.

        Raises:
            RecordingError: A path names no buffer of this tree; then nothing is written.
        """
        buffers = dict(self._select_buffers(None, frozenset()))
        for path in state:
            if path not in buffers:
                raise RecordingError(
                    f"State '{path}' has no buffer in {type(self).__name__}.{close_matches(path, buffers)} "
                    "Load a record of the same scene.",
                    path=path,
                )
        for path, value in state.items():
            buffers[path].set_value(value)


def _remove_member(name: str, buffers: dict[str, Buffer], children: dict[str, Module]) -> None:
    """Removes the buffer or child of a name."""
    if name in buffers or name in children:
        Module._changes += 1
        buffers.pop(name, None)
        children.pop(name, None)
