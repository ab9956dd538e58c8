"""`unlatch doctor`: what it says of an installation, and when it ends with 1."""

import sys
from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from unlatch.simcore import process
from unlatch.simcore.cache import CACHE_VARIABLE
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.process import load_library
from unlatch.simcore.sim import core
from unlatch.workflows.cli import installation
from unlatch.workflows.cli.installation import (
    CATALOGS,
    Finding,
    describe_cache,
    describe_compiler,
    describe_engine,
    describe_packages,
    describe_plugins,
    describe_renderer,
)
from unlatch.workflows.commands.information import doctor_command as main

Install = Callable[..., dict[str, Finding]]


@pytest.fixture
def put_distribution(tmp_path, monkeypatch) -> Callable[..., None]:
    """Puts a distribution of version 1.0 on the path."""

    def put(name: str, *metadata: str, entry_points: str = "", **modules: str) -> None:
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        head = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0"]
        (folder / "METADATA").write_text("\n".join([*head, *metadata]) + "\n")
        (folder / "entry_points.txt").write_text(entry_points)
        for module, text in modules.items():
            (tmp_path / f"{module}.py").write_text(text)
            monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(tmp_path)

    return put


@pytest.fixture
def installed(put_distribution) -> Install:
    """Installs a distribution with the given lines of metadata; returns what is found, by name."""

    def install(*lines: str) -> dict[str, Finding]:
        put_distribution("invented_robot", *lines)
        return {item.name: item for item in describe_packages("invented_robot")}

    return install


def test_an_installation_that_fits_needs_nothing(installed):
    found = installed("Requires-Python: >=3.10", "Requires-Dist: numpy>=1.26")
    assert found["packages"] == Finding("packages", f"numpy {version('numpy')}")
    assert not any(item.broken or item.advice for item in found.values())


def test_missing_and_old_packages_and_another_python_are_broken_and_named_with_what_to_install(installed):
    found = installed("Requires-Python: <3.4", "Requires-Dist: numpy>=99", "Requires-Dist: not-there-at-all>=2")
    assert (found["packages"].broken, found["Python"].broken) == (True, True)
    assert f"numpy {version('numpy')} is not >=99, not-there-at-all is missing" in found["packages"].advice
    assert "pip install 'numpy>=99' 'not-there-at-all>=2'" in found["packages"].advice
    assert "needs Python <3.4" in found["Python"].advice


def test_extras_come_from_the_metadata_and_are_never_broken(installed, monkeypatch):
    monkeypatch.setattr(installation.sys, "version_info", (3, 11, 7))
    found = installed(
        *(f"Provides-Extra: {name}" for name in ("quick", "far", "lerobot")),
        'Requires-Dist: numpy>=1; extra == "quick"',
        'Requires-Dist: not-there-at-all; extra == "far"',
        'Requires-Dist: not-there-either; python_version < "3" and extra == "quick"',
        'Requires-Dist: not-there-at-all; extra == "lerobot"',
    )
    assert found["extra quick"].value == f"numpy {version('numpy')}"
    assert found["extra far"] == Finding("extra far", "not installed", "pip install not-there-at-all")
    assert "needs Python 3.12 or later" in found["extra lerobot"].advice
    assert found["packages"].value == ""


@pytest.mark.parametrize(("built_with", "advice"), [(1, ""), (0, "images are slow")])
def test_an_engine_without_numpy_is_named_with_what_to_do(built_with, advice, monkeypatch):
    monkeypatch.setattr("pybullet.isNumpyEnabled", lambda: built_with)
    found = describe_engine()
    assert found.value == f"PyBullet {version('pybullet')}, {'with' if built_with else 'without'} NumPy"
    assert advice in found.advice
    assert (bool(found.advice), found.broken) == (bool(advice), False)


def test_a_missing_engine_and_a_missing_distribution_are_broken(monkeypatch):
    (packages,) = [item for item in describe_packages("not-there-at-all") if item.name == "packages"]
    monkeypatch.setattr(installation, "_installed", lambda name: None)
    assert packages.broken
    assert describe_engine().broken


def test_a_cache_that_cannot_be_written_is_broken(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "not" / "yet"))
    assert not describe_cache().broken
    assert not (tmp_path / "not").exists()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    found = describe_cache()
    assert found.broken
    assert CACHE_VARIABLE in found.advice


def test_without_a_compiler_the_advice_says_how_to_get_one(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert describe_compiler().advice.endswith("install gcc or clang")
    monkeypatch.setenv(installation.COMPILE_VARIABLE, "0")
    assert describe_compiler().advice.endswith(f"unset {installation.COMPILE_VARIABLE}")
    assert not describe_compiler().broken


@pytest.mark.parametrize(("broken", "code"), [(False, 0), (True, 1)])
def test_the_exit_code_is_1_only_if_something_is_broken(broken, code, monkeypatch, capsys):
    found = [Finding("compiler", "none", "install gcc"), Finding("cache", "there", "do this", broken=broken)]
    monkeypatch.setattr("unlatch.workflows.commands.information.describe_installation", lambda: iter(found))
    assert main([]) == code
    printed = capsys.readouterr().out
    assert "-> install gcc" in printed
    assert ("to repair" in printed) is broken


def test_a_graphics_card_that_is_not_there_is_broken(monkeypatch):
    def find_no_card() -> str:
        raise ConfigError("UNLATCH_CARD='9' is not the number of a graphics card.")

    monkeypatch.setattr(installation, "choose_renderer", find_no_card)
    found = describe_renderer()
    assert found.broken
    assert "UNLATCH_CARD='9'" in found.advice


@pytest.fixture
def plugins(put_distribution, monkeypatch) -> Install:
    """Installs a distribution with entry points and modules; returns what is found of plugins, by name."""

    def install(entry_points: str, **modules: str) -> dict[str, Finding]:
        put_distribution("press", entry_points=entry_points, **modules)
        for catalog in CATALOGS.values():
            monkeypatch.setattr(catalog, "_all", None)
        return {item.name: item for item in describe_plugins()}

    return install


def test_a_plugin_that_loads_is_named_with_its_distribution(plugins):
    text = "from unlatch.skills.open import Open\nclass Press(Open): pass\n"
    found = plugins("[unlatch.skills]\npress = doctor_press:Press\n", doctor_press=text)
    assert found["skill press"] == Finding("skill press", "press 1.0: unlatch.skills press = doctor_press:Press")


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("x = 1\nimport not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all'", 2),
        ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError: division by zero", 2),
        ("\n\nclass Press(:\n", "SyntaxError: invalid syntax", 3),
        ("import sys\nsys.exit('no licence')\n", "it ends Python when it is imported: SystemExit('no licence')", 2),
        ("import json\njson.loads('x')\n", "JSONDecodeError", 2),
        ("raise RuntimeError('a\\nb')\n", "RuntimeError: a b", 1),
    ],
    ids=["import", "call", "syntax", "exit", "in a library", "two lines"],
)
def test_a_plugin_that_cannot_be_imported_is_named_with_file_and_line(plugins, tmp_path, text, problem, line):
    broken = plugins("[unlatch.skills]\npress = doctor_press:Press\n", doctor_press=text)["skill press"]
    assert (broken.broken, broken.value) == (True, "press 1.0: unlatch.skills press = doctor_press:Press")
    assert problem in broken.advice
    assert f"{tmp_path / 'doctor_press.py'}, line {line}" in broken.advice


@pytest.mark.parametrize(
    ("entry", "text", "problem"),
    [
        ("[unlatch.skills]\npress = doctor_none:Press", "", "No module named 'doctor_none'"),
        ("[unlatch.skills]\npress = doctor_press:Pres", "Press = 1", "no attribute 'Pres'"),
        ("[unlatch.skills]\npress = doctor_press:Press", "Press = 1", "Expected a subclass of unlatch.skills."),
        ("[unlatch.tasks]\npress = doctor_press:make", "def make(): return 3", "Expected a Mapping"),
        ("[unlatch.robots]\npress = doctor_press:make", "def make():\n    raise KeyError('x')", "KeyError"),
        ("[unlatch.skill]\npress = doctor_press:Press", "", "no group 'unlatch.skill'. Did you mean 'unlatch.skills'?"),
        ("[unlatch.configs]\npress = doctor_none", "", "there is no package 'doctor_none' with its YAML files"),
        ("[unlatch.skills]\nopen = doctor_press:Press", "", "'open' is registered twice"),
    ],
)
def test_other_mistakes_of_a_plugin_are_named(plugins, entry, text, problem):
    (broken,) = [item for item in plugins(f"{entry}\n", doctor_press=text).values() if item.broken]
    assert problem in broken.advice


def test_one_broken_plugin_hides_no_other_and_makes_the_exit_code_1(plugins, monkeypatch, capsys):
    entries = "[unlatch.skills]\nbad = doctor_none:Press\n[unlatch.viewers]\ngood = doctor_press:to_good\n"
    found = plugins(entries, doctor_press="def to_good(scene): return b''\n")
    assert [item.broken for item in found.values()] == [True, False]
    monkeypatch.setattr("unlatch.workflows.commands.information.describe_installation", lambda: iter(found.values()))
    assert main([]) == 1
    assert "1 to repair: skill bad" in capsys.readouterr().out


def test_without_plugins_one_line_says_so(monkeypatch):
    monkeypatch.setattr(installation, "entry_points", lambda **_: SimpleNamespace(groups=[]))
    assert [*describe_plugins()] == [Finding("plugins", "none")]


def test_a_physics_loop_that_is_not_compiled_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(process, "__file__", str(tmp_path / "process.py"))
    for library in (load_library, core.bound_library):
        library.cache_clear()
    found = describe_engine()
    monkeypatch.undo()
    for library in (load_library, core.bound_library):
        library.cache_clear()
    assert found.broken
    assert "compiled part of Unlatch is missing" in found.advice
