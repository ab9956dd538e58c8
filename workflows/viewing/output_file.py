"""Files that commands write for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import report_unwritable, write_whole_file


def check_suffix(out: str | None, suffix: str, *, formats: Sequence[str] = ()) -> None:
    """Raises unless `out` is None or ends in a suffix; the error suggests the format whose name `out` ends in.

    Raises:
        ConfigError: It ends otherwise.
    """
    if out is None or Path(out).suffix == suffix:
        return
    meant = Path(out).suffix.removeprefix(".")
    advice = f"Add format={meant}" if meant in formats else "Rename it"
    raise ConfigError(f"out={out} does not end in {suffix}, the format that is written. {advice}.", key="out")


def output_path(out: str | None, default: Path) -> Path:
    """Returns the absolute path of an output file; None: the default."""
    return (default if out is None else Path(out).expanduser()).absolute()


def write_output(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all.

    Raises:
        RecordingError: It cannot be written.
    """
    with report_unwritable(path.parent):
        write_whole_file(path, content)
