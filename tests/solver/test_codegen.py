"""Compiled programs: the same bits as the virtual machine, and never an error for want of a compiler."""

import os
import stat
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

from unlatch.solver.compiled_functions import (
    COMPILE_VARIABLE,
    CompiledFunction,
    StoredFunction,
    compile_stored,
    has_compiler,
)
from unlatch.solver.parameter_layout import ParameterLayout, RowCounts
from unlatch.solver.program import Program, Refiner

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="no C compiler on this machine")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv(COMPILE_VARIABLE, "now")
    return tmp_path / "programs"


def simple(name="simple"):
    x = ca.SX.sym("x", 3)
    return ca.Function(name, [x], [ca.vertcat(ca.sin(x[0]) * x[1] / (x[2] * x[2] + 0.1), ca.sqrt(ca.fabs(x[0])))])


def compiled(build=simple):
    """The machine code of a function, or None."""
    return compile_stored(StoredFunction("simple", build))


def is_machine_code(function):
    return "External" in str(function)


@needs_compiler
@pytest.mark.slow
def test_the_programs_of_an_arm_give_the_same_bits_as_casadi(arm, cache, monkeypatch):
    row_counts = RowCounts(1, 2, 2, 1)
    layout = ParameterLayout(row_counts, 7, True)
    rng = np.random.default_rng(0)
    q = rng.uniform(arm.q_lower, arm.q_upper, (6, 7))
    P = rng.normal(size=layout.size)
    schedules = np.abs(rng.normal(size=(6, 12, 4))) + 0.1
    answers = []
    for mode in ("now", "0"):
        monkeypatch.setenv(COMPILE_VARIABLE, mode)
        program, refiner = Program(arm.kinematics, row_counts, pose=True), Refiner(arm.kinematics, layout)
        ends = program.descend(q, arm.q_home, P, schedules)
        finished = refiner.run(q, arm.q_home, P)
        function = program._compiled_function("descend", (12,), lambda: None)
        answers.append((*ends, *finished, np.array(function.is_machine_code)))
    *first, machine = answers[0]
    *second, interpreted = answers[1]
    assert (bool(machine), bool(interpreted)) == (True, False)
    for a, b in zip(first, second, strict=True):
        assert a.tobytes() == b.tobytes()


@needs_compiler
def test_a_program_is_compiled_once_and_found_again(cache):
    assert is_machine_code(compiled())
    (library,) = cache.glob("*.so")
    written = library.stat().st_mtime_ns
    assert is_machine_code(compiled())
    assert library.stat().st_mtime_ns == written
    assert not list(cache.glob(".writing-*"))


@needs_compiler
def test_another_function_of_the_same_name_is_another_program(cache):
    compiled()
    x = ca.SX.sym("x", 3)
    other = compiled(lambda: ca.Function("simple", [x], [2.0 * x]))
    assert len(list(cache.glob("*.so"))) == 2
    assert other([1.0, 2.0, 3.0]).toarray().ravel().tolist() == [2.0, 4.0, 6.0]


@needs_compiler
def test_a_damaged_program_is_compiled_anew_and_never_loaded(cache):
    compiled()
    (library,) = cache.glob("*.so")
    whole = library.read_bytes()
    library.write_bytes(whole[: len(whole) // 2])
    again = compiled()
    assert is_machine_code(again)
    assert library.read_bytes() == whole or len(library.read_bytes()) > len(whole) // 2
    np.testing.assert_array_equal(again([0.3, 0.2, 0.1]).toarray(), simple()([0.3, 0.2, 0.1]).toarray())


def test_without_a_compiler_the_function_itself_runs(cache, monkeypatch):
    monkeypatch.setenv("PATH", str(cache))
    assert not has_compiler()
    assert compiled() is None


def test_the_switch_keeps_to_the_virtual_machine(cache, monkeypatch):
    monkeypatch.setenv(COMPILE_VARIABLE, "0")
    assert compiled() is None
    assert not cache.exists()


def fake_compiler(folder, script):
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_compiler_that_fails_costs_nothing_but_speed(cache, tmp_path, monkeypatch):
    fake_compiler(tmp_path, '[ "$1" = --version ] && echo broken 1.0 && exit 0\nexit 1')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compiled() is None


@needs_compiler
def test_a_compiler_that_changes_results_is_not_used(cache, tmp_path, monkeypatch, caplog):
    real = next(p for p in ("/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang") if os.path.exists(p))  # noqa: PTH110 (a path of the system)
    fake_compiler(
        tmp_path,
        f'[ "$1" = --version ] && echo wrong 1.0 && exit 0\n'
        f'for f in "$@"; do case $f in *.c) sed -i "s/sin(/cos(/g" $f;; esac; done\nexec {real} "$@"',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compiled() is None
    assert "gives other numbers than CasADi" in caplog.text
    assert not list(cache.glob("*.so"))


def test_a_compiler_that_writes_rubbish_costs_nothing_but_speed(cache, tmp_path, monkeypatch):
    fake_compiler(
        tmp_path,
        '[ "$1" = --version ] && echo empty 1.0 && exit 0\n'
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done\nexit 0',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compiled() is None


@needs_compiler
def test_an_unwritable_cache_costs_nothing_but_speed(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "file"))
    assert compiled() is None


@needs_compiler
def test_a_program_is_compiled_when_it_has_run_long_enough(cache, monkeypatch):
    monkeypatch.setenv(COMPILE_VARIABLE, "1")
    program = CompiledFunction("simple", simple)
    x = np.array([[0.3, 0.2, 0.1]])
    before = program("one", lambda f: f, x)
    assert not program.is_machine_code
    monkeypatch.setattr("unlatch.solver.compiled_functions._COMPILE_AFTER_S", 0.0)
    program("one", lambda f: f, x)
    assert program.is_machine_code
    assert program("one", lambda f: f, x).tobytes() == before.tobytes()
    assert CompiledFunction("simple", simple).is_machine_code  # the next process has it from the first call


@needs_compiler
@pytest.mark.slow
def test_processes_that_compile_the_same_at_once_all_get_it(tmp_path):
    code = (
        "import casadi as ca\nfrom unlatch.solver.compiled_functions import compile_stored\n"
        "from unlatch.solver.compiled_functions import StoredFunction\nx = ca.SX.sym('x', 2)\n"
        "f = compile_stored(StoredFunction('both', lambda: ca.Function('both', [x], [ca.sin(x)])))\n"
        "print('External' in str(f), f([0.5, 1.0])[1])"
    )
    env = {**os.environ, "UNLATCH_CACHE_DIR": str(tmp_path), COMPILE_VARIABLE: "now"}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    answers = [process.communicate(timeout=120)[0].strip() for process in running]
    assert answers == ["True 0.841471"] * 4


@needs_compiler
def test_a_program_that_others_can_have_written_is_compiled_anew(cache):
    assert compiled() is not None
    (library,) = cache.glob("*.so")
    before = library.stat().st_ino
    library.chmod(0o777)
    assert is_machine_code(compiled())
    (library,) = cache.glob("*.so")
    assert library.stat().st_ino != before
    assert stat.S_IMODE(library.stat().st_mode) & 0o022 == 0


@needs_compiler
@pytest.mark.parametrize("level", ["folder", "cache directory"])
def test_no_program_is_loaded_from_a_folder_that_others_may_write(cache, level):
    assert compiled() is not None
    (cache if level == "folder" else cache.parent).chmod(0o777)
    assert compiled() is None
