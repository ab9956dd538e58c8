"""Images of the episodes of a data set: `renders/<render name>/`, made from its records.

    renders/<name>/render.json                                        cameras, modalities, renderer, visuals, versions
    renders/<name>/<number // 1000>/<number>/frames.json              labels, files with checksums
    renders/<name>/<number // 1000>/<number>/<camera>.<modality>.mp4  frames 0 to T; lossless ones end in `.mkv`
    renders/<name>/<number // 1000>/<number>/cameras.npz              pose and intrinsics of every camera in every frame

An episode's folder is complete or does not exist: it is written under `.tmp/` and renamed into its place.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import path_word, report_unwritable, sync_path, write_durably
from unlatch.simcore.locked_area import clean_areas
from unlatch.simcore.recording.data_set.episode_folders import AREAS, EpisodeFolders
from unlatch.simcore.recording.data_set.location import check_same_header
from unlatch.simcore.recording.images.modality import ImageStream
from unlatch.simcore.recording.images.rendered_episode import (
    FORMAT_VERSION,
    FRAMES_FILE,
    FRAMES_FORMAT,
    MAX_JSON_BYTES,
    RenderedEpisode,
    file_sha256,
)
from unlatch.simcore.recording.json_values import encode_sealed, plain, read_sealed

RENDERS = "renders"
"""Folder of all render sets of a data set."""
RENDER_FILE = "render.json"
RENDER_FORMAT = "unlatch-render"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


class RenderSet(EpisodeFolders):
    """One render set of a data set; make it with `create_or_resume` or `open`."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        """Use `create_or_resume` or `open`."""
        super().__init__(path, root=path)
        self.header = header
        """Cameras, modalities, renderer, visuals and versions; what must be equal on resume."""

    @classmethod
    def create_or_resume(cls, data_set: Path, name: str, header: Mapping[str, Any]) -> RenderSet:
        """Makes a render set in the folder of a data set, or opens an existing one with the same header.

        The name has letters, digits, `_` and `-`. `cameras` of the header is a list of maps with `name` and `streams`.

        Raises:
            RecordingError: The name cannot name a folder, the set has another header, or it cannot be written.
        """
        folder = render_folder(data_set, name)
        wanted = plain(header, where="header")
        with report_unwritable(folder):
            folder.mkdir(parents=True, exist_ok=True)
            clean_areas(folder / AREAS)
            with cls(folder, wanted) as render_set:
                content = {"format": RENDER_FORMAT, "format_version": FORMAT_VERSION, "header": wanted}
                render_set.publish(RENDER_FILE, content)
        existing = cls.open(data_set, name)
        advice = "Choose another name=, or remove the folder."
        check_same_header(existing.header, wanted, folder, what="Render set", advice=advice)
        return existing

    @classmethod
    def open(cls, data_set: str | Path, name: str = "default") -> RenderSet:
        """Opens a render set of the data set in a folder.

        Raises:
            RecordingError: It does not exist, is damaged or not ours.
        """
        folder = render_folder(Path(data_set), name)
        if not (folder / RENDER_FILE).is_file():
            there = ", ".join(render_names(Path(data_set))) or "none"
            raise RecordingError(
                f"'{data_set}' has no render set '{name}'. It has: {there}. Name one of them, or make it: "
                f"unlatch render {path_word(data_set)} name={name}",
                path=str(folder),
            )
        file = folder / RENDER_FILE
        content = read_sealed(file, expected=RENDER_FORMAT, versions=(FORMAT_VERSION,), limit=MAX_JSON_BYTES)
        return cls(folder, dict(content["header"]))

    @property
    def name(self) -> str:
        """Its name."""
        return self.path.name

    @cached_property
    def cameras(self) -> dict[str, dict[str, Any]]:
        """Every camera by name: `width`, `height`, `model`, `intrinsics`, `rate_hz` and the configuration it had."""
        return {str(camera["name"]): dict(camera) for camera in self.header["cameras"]}

    @property
    def modalities(self) -> list[str]:
        """Kinds of images; every camera has all of them."""
        return [str(modality) for modality in self.header["modalities"]]

    @property
    def rate_hz(self) -> int:
        """Frames in a second."""
        return int(self.header["rate_hz"])

    @cached_property
    def streams(self) -> dict[str, dict[str, ImageStream]]:
        """How images are stored, by camera and modality."""
        return {
            name: {item["modality"]: ImageStream.read(item) for item in camera["streams"]}
            for name, camera in self.cameras.items()
        }

    def episode(self, number: int) -> RenderedEpisode:
        """Returns the images of an episode.

        Raises:
            RecordingError: It was not rendered, or is damaged.
        """
        folder = self.folder_of(number)
        if not folder.is_dir():
            raise RecordingError(
                f"Episode {number} is not in render set '{self.path}', which has {len(self.numbers())}. Render it: "
                f"unlatch render {path_word(self.path.parents[1])} name={self.name} only=[{number}]",
                number=number,
            )
        return RenderedEpisode(folder, self.streams, self.cameras)

    def frames(self, number: int, camera: str, modality: str) -> Iterator[np.ndarray]:
        """Yields the images of an episode; see `RenderedEpisode.frames`."""
        return self.episode(number).frames(camera, modality)

    def write(self, number: int, fill: Callable[[Path], dict[str, Any]]) -> bool:
        """Writes the images of an episode in one step.

        Args:
            number: Episode number.
            fill: Writes all files into the folder that it is given, and returns the content of `frames.json`:
                `n_frames`, `state_sha256`, `labels`.

        Returns:
            Whether they were written; False if another writer was faster.

        Raises:
            RecordingError: The disk cannot be written.
        """

        def fill_folder(draft: Path) -> None:
            content = fill(draft)
            files = {path.name: _digest_file(path) for path in sorted(draft.iterdir())}
            head = {"format": FRAMES_FORMAT, "format_version": FORMAT_VERSION, "number": number, "files": files}
            write_durably(draft / FRAMES_FILE, encode_sealed({**content, **head}))

        with report_unwritable(self.path):
            return self.write_folder(number, fill_folder)

    def remove(self, number: int) -> None:
        """Removes the images of an episode."""
        shutil.rmtree(self.folder_of(number), ignore_errors=True)

    def __repr__(self) -> str:
        return f"RenderSet({str(self.path)!r})"


def render_folder(data_set: Path, name: str) -> Path:
    """Returns the folder of a render set, whether it exists or not.

    Raises:
        RecordingError: The name cannot name a folder.
    """
    if not _NAME.match(name):
        raise RecordingError(
            f"name='{name}' cannot name a render set. Expected 1 to 64 letters, digits, '_' and '-'. Change it.",
            name=name,
        )
    return data_set / RENDERS / name


def render_names(data_set: Path) -> list[str]:
    """Returns the names of the render sets of a data set, sorted."""
    return sorted(path.parent.name for path in (data_set / RENDERS).glob(f"*/{RENDER_FILE}"))


def _digest_file(path: Path) -> dict[str, Any]:
    sync_path(path)
    return {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
