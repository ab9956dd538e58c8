"""Files that commands write for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import report_unwritable, write_whole_file


def check_suffix(out: str | None, *suffixes: str, formats: Sequence[str] = ()) -> None:
    """Raises unless `out` is None or ends in one of some suffixes.

    Args:
        out: The file.
        *suffixes: Endings with their dot.
        formats: Names that `format` may have; the error suggests the one that `out` ends in.

    Raises:
        ConfigError: It ends otherwise.
    """
    if out is None or Path(out).suffix in suffixes:
        return
    meant = Path(out).suffix.removeprefix(".")
    advice = f"Add format={meant}" if meant in formats else "Rename it"
    expected = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
    written = "the format that is" if len(suffixes) == 1 else "the formats that are"
    raise ConfigError(f"out={out} does not end in {expected}, {written} written. {advice}.", key="out")


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
