import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.warm_process import WarmProcess

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment of its own, which sees what is installed beside the tests and adds nothing to it.

    Its pip is also the one beside the tests; it installs into the environment.
    """
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)  # to install pip takes 6 s
    (site,) = (folder / "lib").glob("python*/site-packages")
    places = [path for path in sys.path if "site-packages" in path]
    (site / "beside.pth").write_text("\n".join([*places, str(ROOT)]) + "\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmProcess]:
    """Runs commands without their start, which takes longer than what most of them do.

    A process of its own, its workers, and how it ends are what some tests are about: those start one.
    """
    made = WarmProcess(tmp_path_factory.mktemp("commands"))
    yield made
    made.close()
