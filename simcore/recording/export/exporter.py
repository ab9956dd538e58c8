"""What an exporter is: it writes trajectories, one by one, into a draft that is put into place when it is whole.

To add one: a file here with a class derived from `Exporter`, a line in `catalog.py` (or an entry point of the group
`unlatch.exporters` of a distribution of your own), a test. Calls, in order: the constructor; `taken`; `write`, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.source import Source
from unlatch.simcore.recording.export.trajectory import Trajectory


class Exporter(ABC):
    """One format."""

    cfg_type: ClassVar[type[ExportCfg]] = ExportCfg
    """Dataclass of its configuration: its fields are keys of `unlatch export`."""
    suffix: ClassVar[str] = ""
    """Ending of the file that it writes; empty where it writes a folder."""

    def __init__(self, source: Source, cfg: Any) -> None:
        """Takes what is exported; nothing is written yet.

        Args:
            source: The episodes.
            cfg: A `cfg_type`.

        Raises:
            SimCoreError: The configuration cannot be done with these episodes, or an extra is missing.
        """
        self.source = source
        self.cfg = cfg

    def taken(self, target: Path) -> set[int] | None:
        """Numbers of the episodes that an existing target has of this data set; None where it cannot be extended.

        Args:
            target: What is there.

        Raises:
            SimCoreError: It is of this format and has other columns or conventions.
        """
        return None

    @abstractmethod
    def write(self, draft: Path, trajectories: Iterator[Trajectory], *, parts: Path, base: Path | None) -> None:
        """Writes all trajectories.

        Args:
            draft: Where to: a new empty folder, or a file that is not there yet.
            trajectories: The episodes; read as they are taken.
            parts: A folder that outlives a killed run: what is finished in it need not be made again.
            base: What is extended: it is replaced by the draft afterwards. None for a new export.

        Raises:
            SimCoreError: An episode cannot be written.
        """
