"""Locked areas in a folder that becomes read-only."""

from pathlib import Path

import pytest

from unlatch.simcore.locked_area import LockedArea, clean_areas


def test_an_area_is_closed_even_if_its_files_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    area = LockedArea(tmp_path)

    def refuse(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        area.close()
    assert clean_areas(tmp_path) == 1
    assert not list(tmp_path.iterdir())
