"""The interface of exporters: they write trajectories one by one into a draft of the target.

To add one: a file here with a class derived from `Exporter`, a line in `catalog.py` (or an entry point of the group
`unlatch.exporters` in your own distribution), and a test. Methods are called in this order: the constructor, `taken` if
the target exists, `write` once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.source import ExportSource
from unlatch.simcore.recording.export.trajectory import Trajectory


class Exporter(ABC):
    """Base class of exporters, one per format."""

    cfg_type: ClassVar[type[ExportCfg]] = ExportCfg
    """Dataclass of its options; the fields are keys of `unlatch export`."""
    suffix: ClassVar[str] = ""
    """Suffix of the file that it writes; empty if it writes a folder."""

    def __init__(self, source: ExportSource, cfg: Any) -> None:
        """Stores the episodes and options; writes nothing yet.

        Args:
            source: The episodes.
            cfg: A `cfg_type`.

        Raises:
            UnlatchError: The options do not fit these episodes, or an extra is missing.
        """
        self.source = source
        self.cfg = cfg

    def taken(self, target: Path) -> set[int] | None:
        """Returns the episodes of this data set that an existing target has; None if the target cannot be extended.

        Args:
            target: The existing target.

        Raises:
            UnlatchError: The target has this format but other columns or conventions.
        """
        return None

    @abstractmethod
    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """Writes all trajectories.

        Args:
            draft: A new empty folder, or the path of a file that does not exist yet.
            trajectories: The episodes; each is read when the iterator reaches it.
            parts: A folder that survives a killed run; finished files in it need not be made again.
            base: The target to extend, which the draft replaces afterwards; None for a new export.

        Raises:
            UnlatchError: An episode cannot be written.
        """
