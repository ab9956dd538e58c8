"""Files that commands write for people to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import not_writable, write_whole_file


def check_suffix(out: str | None, suffix: str, *, formats: Sequence[str] = ()) -> None:
    """Raises unless a file that the user named ends in a suffix.

    Args:
        out: The file, as the user wrote it; None: a default name.
        suffix: The ending, with its dot.
        formats: Names of formats; the error suggests one of them if the file ends in its name.

    Raises:
        ConfigError: It ends otherwise.
    """
    if out is None or Path(out).suffix == suffix:
        return
    meant = Path(out).suffix.removeprefix(".")
    advice = f"Add format={meant}" if meant in formats else "Rename it"
    raise ConfigError(f"out={out} does not end in {suffix}, the format that is written. {advice}.", key="out")


def output_path(out: str | None, default: Path) -> Path:
    """Returns the absolute path of an output file.

    Args:
        out: The file, as the user wrote it; None: the default.
        default: The default.
    """
    return (default if out is None else Path(out).expanduser()).absolute()


def write_output(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all.

    Raises:
        RecordingError: It cannot be written.
    """
    try:
        write_whole_file(path, content)
    except OSError as exc:
        raise not_writable(path.parent, exc) from exc
