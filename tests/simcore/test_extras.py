"""The command that installs an extra works wherever Unlatch was installed from, and never asks an index for Unlatch."""

import shlex
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from unlatch.simcore import registry as extras
from unlatch.simcore.errors import PluginError
from unlatch.simcore.registry import clone_folder, extra_packages, import_extra, install_command

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = sorted({part.split('"')[1] for text in requires("unlatch") or [] for part in text.split("extra ==")[1:]})


def test_in_a_clone_the_command_names_its_folder():
    assert clone_folder() == ROOT
    assert shlex.split(install_command("gym")) == ["pip", "install", "-e", f"{ROOT}[gym]"]


def test_a_folder_with_spaces_is_quoted(monkeypatch):
    monkeypatch.setattr(extras, "clone_folder", lambda: Path("/my robots/Ann's clone"))
    assert shlex.split(install_command("gym")) == ["pip", "install", "-e", "/my robots/Ann's clone[gym]"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_elsewhere_the_command_names_the_packages_of_the_extra(monkeypatch, extra):
    monkeypatch.setattr(extras, "clone_folder", lambda: None)
    pip, install, *packages = shlex.split(install_command(extra))
    assert [pip, install] == ["pip", "install"]
    names = {Requirement(text).name for text in packages}
    assert names
    assert "unlatch" not in names


def test_extras_of_a_package_and_its_versions_are_kept_and_markers_are_not(monkeypatch):
    monkeypatch.setattr(extras, "requires", lambda _: [
        "numpy>=1",
        'lerobot[diffusion,training]<0.7,>=0.6; extra == "far"',
        'old; python_version < "3" and extra == "far"',
        'other; extra == "near"',
    ])  # fmt: skip
    assert extra_packages("any", "far") == ["lerobot[diffusion,training]<0.7,>=0.6"]


def test_code_outside_of_a_clone_knows_no_clone(tmp_path, monkeypatch):
    copied = tmp_path / "site-packages" / "unlatch" / "simcore" / "extras.py"
    copied.parent.mkdir(parents=True)
    copied.write_text("")
    monkeypatch.setattr(extras, "__file__", str(copied))
    assert clone_folder() is None


def test_a_missing_package_is_an_error_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(PluginError) as caught:
        import_extra("h5py", extra="hdf5")
    assert caught.value.message.endswith(f"It comes with the extra 'hdf5'. Install it: {install_command('hdf5')}")
