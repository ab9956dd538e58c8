"""What files, pictures, tables and episodes hold, as text that is the same in every run of the same code."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

DIGITS = 14
"""Hexadecimal digits of a hash."""
Mask = Callable[[str], str]
"""Replaces what depends on the place of folders in a text."""
PICTURES = (".png", ".webp", ".gif", ".mp4", ".mkv")
VOLATILE = {
    *("began", "bytes", "command", "created", "ended", "host", "packages", "platform", "python", "sha256"),
    *("pace", "startup_s", "state_sha256", "timings_ms", "versions", "wall_time_ms"),
}
"""Keys of JSON files that tell when, where and with which versions something was made, or repeat what is hashed."""


def checksum(content: str | bytes) -> str:
    """Returns the first digits of a SHA-256."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:DIGITS]


def mask_places(places: Mapping[str, str], text: str) -> str:
    """Replaces folders by their names, in the order of `places`, and leaves out the lines of tracebacks."""
    for name, path in places.items():
        text = text.replace(path, name)
    return re.sub(r'  File ".*", line \d+, in .*\n(?:    .*\n)*', "", text)


def without_times(text: str) -> str:
    """Replaces times, rates, sizes and the blanks that align them in what a command prints; drops lines of progress."""
    text = re.sub(r"^unlatch: \d+/\d+ episodes after .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"http://127\.0\.0\.1:\d+/\?token=\S+", "http://127.0.0.1:#", text)
    text = re.sub(r"(\w_ms=)[\d.]+|(timings \[ms\]: ).*", r"\1\2#", text)
    text = re.sub(r"\b\d[\d,.]*(?= ?(?:s|ms|min|MB|kB|an hour)\b)", "#", text)
    text = re.sub(r"\b(preplan|plan|reset|execute|write|replay) \d[\d,.]*", r"\1 #", text)
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines()) + "\n"


def describe_files(folder: Path, changed: list[Path], mask: Mask, *, each: bool) -> dict[str, str]:
    """Returns what is hashed of the files that a job wrote: episodes by group of arrays, pictures, all others.

    Args:
        folder: Folder of the job.
        changed: Files that were written there.
        mask: Replaces places in a text.
        each: Whether every file is an item, not all together.
    """
    found: dict[str, str] = {}
    sets = [path.parent for path in folder.rglob("dataset.json")]
    for path in (place for place in sets if place / "dataset.json" in changed):
        label = "" if path.name == "set" else f"{path.relative_to(folder).as_posix()}/"
        found |= {f"{label}{name}": mask(text) for name, text in _describe_data_set(path).items()}
    others: defaultdict[str, list[str]] = defaultdict(list)
    for path in changed:
        if any(path.is_relative_to(place) and not path.is_relative_to(place / "renders") for place in sets):
            continue
        name, content = path.relative_to(folder).as_posix(), describe_file(path, mask)
        if each and path.suffix not in (".obj", ".mtl", *PICTURES):
            found[name] = content
        else:
            kind = "pictures" if path.suffix in PICTURES else "files"
            others[kind].append(f"{name} {checksum(content)}\n")
    return found | {kind: "".join(lines) for kind, lines in others.items()}


def _describe_data_set(path: Path) -> dict[str, str]:
    """Returns the header of a data set, and the arrays and the other values of each episode."""
    import unlatch

    header = json.loads((path / "dataset.json").read_text(encoding="utf-8"))["header"]
    found = {"header": plain(header)}
    data = unlatch.open_dataset(path)
    for number in sorted(data.numbers()):
        label = f"{number}/" if len(data.numbers()) > 1 else ""
        groups: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key, array in data[number].arrays.items():
            groups[key.partition(".")[0]][key] = array
        found |= {f"{label}{group}": describe_arrays(arrays) for group, arrays in groups.items()}
    for file in sorted(path.glob("episodes/*/*/episode.json")):
        label = f"{int(file.parent.name)}/" if len(data.numbers()) > 1 else ""
        found[f"{label}json"] = plain(json.loads(file.read_text(encoding="utf-8")))
    return found


def plain(content: Any) -> str:
    """Returns JSON as text, one key a line, without what differs between two runs."""

    def keep(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("Traceback"):
            return value.splitlines()[-1]
        if isinstance(value, dict):
            return {key: keep(each) for key, each in value.items() if key not in VOLATILE}
        return [keep(each) for each in value] if isinstance(value, list) else value

    return json.dumps(keep(content), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def describe_arrays(arrays: Mapping[str, Any]) -> str:
    """Returns name, type, shape and hash of each array."""
    import numpy as np

    lines = []
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        content = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
        lines.append(f"{key} {array.dtype} {array.shape} {checksum(content)}\n")
    return "".join(lines)


def describe_file(path: Path, mask: Mask) -> str:
    """Returns what a file holds, as text: decoded where its bytes depend on times or versions."""
    reader = READERS.get(path.name, READERS.get(path.suffix))
    if reader is not None:
        return reader(path, mask)
    content = path.read_bytes()
    try:
        return mask(content.decode("utf-8"))
    except UnicodeDecodeError:
        return f"{len(content)} bytes {checksum(content)}\n"


def _read_json(path: Path, mask: Mask) -> str:
    lines = path.read_text(encoding="utf-8")
    try:
        return mask(plain(json.loads(lines)))
    except json.JSONDecodeError:  # JSON Lines
        return mask("".join(plain(json.loads(line)) for line in lines.splitlines()))


def _read_report(path: Path, mask: Mask) -> str:
    """Returns the text of a page without numbers and drawings: many of them are times. Its JSON has all numbers."""
    text = re.sub(r"<svg.*?</svg>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"# (?:ms|s|min)\b", "#", re.sub(r"\d[\d.,]*", "#", mask(text)))


def _read_npz(path: Path, mask: Mask) -> str:
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        return describe_arrays(dict(arrays))


def _read_picture(path: Path, mask: Mask) -> str:
    import numpy as np
    from PIL import Image, ImageSequence

    with Image.open(path) as picture:
        frames = ImageSequence.Iterator(picture)
        return describe_arrays({f"{k:04d} {frame.mode}": np.asarray(frame) for k, frame in enumerate(frames)})


def _read_video(path: Path, mask: Mask) -> str:
    import av

    with av.open(str(path)) as video:
        frames = {f"{number:04d} {frame.format.name}": frame for number, frame in enumerate(video.decode(video=0))}
        # NumPy has no layout for a pixel of three bytes and a blank one
        formats = {name: {"format": "rgb24"} if name.endswith("bgr0") else {} for name in frames}
        return describe_arrays({name: frame.to_ndarray(**formats[name]) for name, frame in frames.items()})


def _read_hdf5(path: Path, mask: Mask) -> str:
    import h5py

    lines: list[str] = []

    def visit(name: str, node: Any) -> None:
        attributes = plain({key: str(value) for key, value in sorted(node.attrs.items())})
        lines.append(f"{name} {checksum(mask(attributes))}\n")
        if isinstance(node, h5py.Dataset):
            lines.append(describe_arrays({name: node[()]}))

    with h5py.File(path) as file:
        visit("/", file)
        file.visititems(visit)
    return "".join(lines)


def _read_parquet(path: Path, mask: Mask) -> str:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return f"{table.schema.to_string(show_schema_metadata=False)}\n{table.to_pylist()!r}\n"


READERS: dict[str, Callable[[Path, Mask], str]] = {
    **dict.fromkeys((".json", ".jsonl"), _read_json),
    **dict.fromkeys((".png", ".webp", ".gif"), _read_picture),
    **dict.fromkeys((".mp4", ".mkv"), _read_video),
    **dict.fromkeys((".h5", ".hdf5"), _read_hdf5),
    "report.html": _read_report,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
}
"""Functions that say what a file holds, by its name or the ending of its name."""
