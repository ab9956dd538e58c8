"""An `error` notes the code that made it, and a change of that code is seen."""

import json
import os
import shutil
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.builders import episode
from unlatch.workflows.policies.catalog import policy_module
from unlatch.workflows.runs.code_versions import MADE_WITH, CodeVersions
from unlatch.workflows.runs.earlier_code import (
    changes_since,
    describe_mixed_code,
    frames_to_show,
    library_folders,
    user_frames,
)
from unlatch.workflows.runs.progress import RUNS, RunTime, read_run_times

CONFIG = {"skills": [{"name": "press"}], "object": {"category": "toaster"}}


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """A folder of installed packages, with the plugin `press_kit` 1.0, whose skill is `press`."""
    folder = tmp_path / "site"
    write_plugin(folder, "press_kit", version="1.0", entry="unlatch.skills", name="press")
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return folder


def write_plugin(folder: Path, package: str, *, version: str, entry: str, name: str) -> None:
    (folder / package).mkdir(parents=True, exist_ok=True)
    (folder / package / "__init__.py").write_text("")
    (folder / package / "skill.py").write_text("class Press: ...\n")
    about = folder / f"{package}-0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (about / "entry_points.txt").write_text(f"[{entry}]\n{name} = {package}.skill:Press\n")


def failed_record(code: CodeVersions, *, trace: str = "") -> dict[str, Any]:
    record = episode("error", evidence={"traceback": trace})
    code.note_in(record)
    return record.evidence


def test_a_change_of_a_plugin_that_the_configuration_names_is_seen(site):
    write_plugin(site, "wiggle_kit", version="1.0", entry="unlatch.skills", name="wiggle")
    write_plugin(site, "other_kit", version="1.0", entry="other.skills", name="press")
    code = CodeVersions.of(CONFIG)
    assert set(code.packages) == {"unlatch", "press_kit"}
    evidence, changed = failed_record(code), ["the code of press_kit has changed"]
    assert changes_since(evidence, CodeVersions.of(CONFIG)) == []
    (site / "press_kit" / "deep").mkdir()
    (site / "press_kit" / "deep" / "more.py").write_text("x = 1\n")
    assert changes_since(evidence, CodeVersions.of(CONFIG)) == changed
    shutil.rmtree(site / "press_kit" / "deep")
    (site / "press_kit" / "skill.py").write_text("x = 1\n")
    assert changes_since(evidence, CodeVersions.of(CONFIG)) == changed
    write_plugin(site, "press_kit", version="1.1", entry="unlatch.skills", name="press")
    assert changes_since(evidence, CodeVersions.of(CONFIG)) == ["press_kit 1.0 is 1.1 now"]
    slipped = episode("slipped")
    code.note_in(slipped)
    assert slipped.evidence == {}, "only an error notes its code"


def test_a_changed_file_of_unlatch_is_a_change(tmp_path, monkeypatch):
    evidence = failed_record(CodeVersions.of({}))
    (tmp_path / "changed.py").write_text("x = 1\n")
    monkeypatch.setattr("unlatch.workflows.runs.code_versions.find_places", lambda module: [tmp_path])
    assert changes_since(evidence, CodeVersions.of({})) == ["the code of unlatch has changed"]


def test_the_code_of_unlatch_is_that_of_all_its_folders(monkeypatch):
    from unlatch.workflows.runs import code_versions

    (place,) = code_versions.find_places("unlatch")
    names = {path.relative_to(place).as_posix() for path in code_versions._files_in(place)}
    assert {"simcore/errors.py", "workflows/runs/run.py", "skills/open.py", "command_table.py"} <= names


@pytest.mark.parametrize("spec", ["my_policy:act", "nets.pull:Net"])
def test_a_changed_policy_is_a_change(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = spec.partition(":")[0]
    path = tmp_path / f"{module.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text("x = 1\n")

    def versions() -> CodeVersions:
        return CodeVersions.of({}, policy=policy_module(spec))

    evidence, before, name = failed_record(versions()), failed_record(CodeVersions.of({})), module.partition(".")[0]
    assert changes_since(evidence, versions()) == []
    path.write_text("x = 2\n")
    assert changes_since(evidence, versions()) == [f"the code of {name} has changed"]
    assert changes_since(evidence, CodeVersions.of({})) == [f"{name} is not used now"]
    assert changes_since(before, versions()) == [f"{name} was not used then"]
    for other in (None, "random", "tcp://localhost:1", "recorded:data/demo", "recorded:data"):
        assert set(CodeVersions.of({}, policy=policy_module(other)).packages) == {"unlatch"}


def test_the_code_of_a_policy_object_is_that_of_its_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_net.py").write_text("class Net: ...\n\ndef act(observation): ...\n")
    import own_net  # type: ignore[import-not-found]

    by_class, by_object, by_function = (
        CodeVersions.of({}, policy=policy_module(policy)) for policy in (own_net.Net, own_net.Net(), own_net.act)
    )
    assert set(by_class.packages) == {"unlatch", "own_net"}
    assert by_class == by_object == by_function
    (tmp_path / "own_net.py").write_text("class Net: ...\n")
    changes = changes_since(failed_record(by_class), CodeVersions.of({}, policy=policy_module(own_net.Net)))
    assert changes == ["the code of own_net has changed"]


def make_trace(path: Path) -> str:
    """Returns the traceback of an error in a file, called through a file of Unlatch and one of Python."""
    import unlatch.simcore.errors

    first = f'Traceback (most recent call last):\n  File "{unlatch.simcore.errors.__file__}", line 1, in run\n'
    second = f'  File "{traceback.__file__}", line 3, in format\n  File "<stdin>", line 1, in <module>\n'
    return f'{first}{second}  File "{path}", line 2, in help\n    1 / 0\nZeroDivisionError: division by zero\n'


def test_a_changed_file_of_the_traceback_is_a_change(tmp_path):
    path = tmp_path / "helper.py"
    path.write_text("1 / 0\n")
    os.utime(path, (1e9, 1e9))
    code = CodeVersions.of({})
    evidence = failed_record(code, trace=make_trace(path))
    assert list(evidence[MADE_WITH]["files"]) == [str(path)]
    assert changes_since(evidence, code) == []
    path.write_text("1 / 1\n")
    assert changes_since(evidence, code) == ["helper.py has changed"]
    path.unlink()
    assert changes_since(evidence, code) == []  # the episode may come from another computer


def test_a_file_of_the_traceback_counts_as_changed_if_it_was_saved_during_the_run(site, tmp_path, monkeypatch):
    path = tmp_path / "helper.py"
    path.write_text("1 / 0\n")  # after this process began, as an edit during a run
    saved, code = path.stat().st_mtime, CodeVersions.of({})
    assert changes_since(failed_record(code, trace=make_trace(path)), code) == ["helper.py has changed"]
    began_early = saved - 0.9  # the process began right after that; psutil says up to a second less on Linux
    monkeypatch.setattr("psutil.Process.create_time", lambda process: began_early)
    assert changes_since(failed_record(code, trace=make_trace(path)), code) == []
    of_a_package = make_trace(site / "press_kit" / "skill.py")
    assert failed_record(CodeVersions.of(CONFIG), trace=of_a_package)[MADE_WITH]["files"] == {}


def test_a_foreign_note_is_read_without_harm():
    code, damaged = CodeVersions.of({}), {"packages": [], "files": {}}
    for evidence in ({}, {MADE_WITH: 3}, {MADE_WITH: {"packages": {}}}, {MADE_WITH: damaged}):
        assert changes_since(evidence, code) == ["it is not known which code made them"]
    files = {"/dev/zero": "0", "x" * 9999: "0", "a\0b": "0"}
    assert changes_since({MADE_WITH: {"packages": {**code.packages}, "files": files}}, code) == []
    changes = changes_since({MADE_WITH: {"packages": {"unlatch": 3}, "files": {}}}, code)
    assert changes == ["unlatch was not used then"]


def run_of(episodes: int = 1, **packages: tuple[str, str]) -> RunTime:
    noted = {name: {"version": version, "sha256": digest} for name, (version, digest) in packages.items()}
    return RunTime(0.0, 0.0, 1.0, episodes, noted)


def write_runs(folder: Path, *runs: RunTime) -> Path:
    (folder / RUNS).mkdir()
    for number, run in enumerate(runs):
        (folder / RUNS / f"host-{number}.json").write_text(json.dumps(asdict(run)))
    return folder


def test_only_packages_that_differ_are_named(tmp_path):
    one, other = run_of(unlatch=("1", "a"), kit=("1.0", "b")), run_of(unlatch=("1", "c"), kit=("1.1", "d"))
    data = write_runs(tmp_path, one, one)
    assert describe_mixed_code(data) == describe_mixed_code(data, one.packages) == ""
    assert describe_mixed_code(data, other.packages) == "kit 1.0 and 1.1, unlatch"
    silent = [run_of(), run_of(0, unlatch=("1", "other"))]  # no code is noted, or no episode was made
    (tmp_path / "other").mkdir()
    assert describe_mixed_code(write_runs(tmp_path / "other", run_of(unlatch=("1", "a")), *silent)) == ""


@pytest.mark.parametrize("packages", [["unlatch"], {"unlatch": "1"}, None])
def test_a_note_of_another_form_is_left_out_like_any_run_that_cannot_be_read(tmp_path, packages):
    (tmp_path / RUNS).mkdir()
    noted = {"startup_s": 0.0, "began": 0.0, "ended": 1.0, "episodes": 1, "packages": packages}
    (tmp_path / RUNS / "host-1.json").write_text(json.dumps(noted))
    assert read_run_times(tmp_path) == []


def traceback_of(code: str, file: Path, **names: object) -> str:
    """Runs the code of a file, which raises an exception; returns its traceback as Python prints it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    try:
        exec(compile(code, file, "exec"), names)
    except Exception:  # noqa: BLE001 - any exception has a traceback
        return traceback.format_exc()
    raise AssertionError(code)


def test_the_last_three_frames_of_the_user_are_shown_and_not_those_of_python(tmp_path):
    code = "import json\n" + "".join(f"def f{n}():\n    f{n + 1}()\n" for n in range(4)) + "def f4():\n"
    code += "    json.loads(\n        'no json'\n    )\nf0()\n"
    file = tmp_path / "skill.py"
    assert user_frames(traceback_of(code, file), ()) == [
        f'  File "{file}", line 7, in f2',
        "    f3()",
        f'  File "{file}", line 9, in f3',
        "    f4()",
        f'  File "{file}", line 11, in f4',
        "    json.loads(",
    ]
    assert json.__file__ in traceback_of(code, file)


def test_an_installed_package_counts_only_if_it_is_a_plugin(tmp_path, monkeypatch):
    monkeypatch.setattr("unlatch.workflows.runs.earlier_code.library_folders", lambda: [tmp_path, Path(__file__)])
    package = tmp_path / "some_plugin_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    trace = traceback_of("1 / 0\n", package / "skill.py")
    assert user_frames(trace, ()) == []
    assert user_frames(trace, ["some_plugin_of_mine"])[0].startswith(f'  File "{package / "skill.py"}", line 1, in ')


def test_a_package_that_a_virtual_environment_shares_with_its_system_is_no_code_of_a_user(tmp_path, monkeypatch):
    shared, own = tmp_path / "lib" / "site-packages", tmp_path / "project"
    monkeypatch.setattr(f"{user_frames.__module__}.library_folders", library_folders.__wrapped__)  # without its cache
    monkeypatch.setattr("sys.path", [str(own), str(shared), *sys.path])
    hidden = [frame for frame in user_frames(traceback_of("1 / 0\n", shared / "hydra.py"), ()) if "hydra.py" in frame]
    shown = [frame for frame in user_frames(traceback_of("1 / 0\n", own / "skill.py"), ()) if "skill.py" in frame]
    assert hidden == []
    assert len(shown) == 1


def test_a_syntax_error_is_shown_with_its_line(tmp_path):
    file = tmp_path / "policy.py"
    file.write_text("def act(:\n")
    try:
        compile(file.read_text(), file, "exec")
    except SyntaxError:
        trace = traceback.format_exc()
    assert user_frames(trace, ())[-2:] == [f'  File "{file}", line 1', "    def act(:"]


def test_without_a_frame_of_the_user_the_innermost_one_is_shown_and_none_of_no_traceback():
    trace = f'Traceback (most recent call last):\n  File "{json.__file__}", line 3, in a\n    b()\nTypeError: no\n'
    record = episode("error", evidence={"traceback": trace})
    assert frames_to_show(record) == [f'  File "{json.__file__}", line 3, in a', "    b()"]
    for evidence in ({}, {"traceback": "", MADE_WITH: None}, {"traceback": 3, MADE_WITH: []}):
        assert frames_to_show(episode("error", evidence=evidence)) == []
