from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import ROOT, Commands


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment of its own, which sees what is installed beside the tests and adds nothing to it.

    Its pip is also the one beside the tests; it installs into the environment.
    """
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)  # to install pip takes 6 s
    (site,) = (folder / "lib").glob("python*/site-packages")
    places = [path for path in sys.path if "site-packages" in path]
    (site / "beside.pth").write_text("\n".join([*places, str(ROOT / "src")]) + "\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def commands() -> Commands:
    """Runs commands in this process. A process of its own, and how it ends, are what `test_processes.py` is about."""
    return Commands()
