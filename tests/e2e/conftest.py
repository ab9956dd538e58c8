import subprocess
import sys
from pathlib import Path

import pytest

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
