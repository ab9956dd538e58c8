"""Files that commands write for people to look at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import report_unwritable, user_path, write_whole_file


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
    """Returns the absolute path of an output file; None: the default. Called before the work whose result it takes.

    Raises:
        ConfigError: It is a folder, or this user cannot write there.
    """
    path = (default if out is None else user_path(out)).absolute()
    if path.is_dir():
        raise ConfigError(f"out={path} is a folder. Expected a file, such as {path / default.name}.", key="out")
    there = path if path.exists() else next(place for place in path.parents if place.exists())
    writable = os.access(there, os.W_OK) and (there == path or there.is_dir())
    if not writable:
        raise ConfigError(
            f"'{path}' cannot be written: this user cannot write to '{there}'. Expected a file in a folder that can be "
            f"written. Name one with out=FOLDER/{path.name}.",
            key="out",
        )
    return path


def write_output(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all.

    Raises:
        RecordingError: It cannot be written.
    """
    with report_unwritable(path.parent):
        write_whole_file(path, content)
