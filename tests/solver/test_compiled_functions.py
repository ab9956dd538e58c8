"""Stored and compiled functions: read back and as machine code they are the same, and no cache is trusted."""

import os
import stat
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest

from unlatch.solver import compiled_functions
from unlatch.solver.compiled_functions import (
    COMPILE_VARIABLE,
    CompiledFunction,
    StoredFunction,
    compile_stored,
    digest_of_code,
    find_compiler,
    function_key,
)
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import ParameterLayout, RowCounts
from unlatch.solver.path_with_goal import PathProgram, PathShape
from unlatch.solver.program import REFINING_STEPS, Program, program_key
from unlatch.solver.term import RowKind

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
KEYED = {"key": "0" * 32}
SHAPE = PathShape(approach=1, waypoints=2, held=2, slides=True, points=1, axes=2, planes=1)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    return tmp_path / "programs"


def double():
    x = ca.SX.sym("x", 2)
    return ca.Function("double", [x], [2.0 * x])


def never():
    raise AssertionError("the function was built although the cache holds it")


def used(build, name="double", **key):
    """A stored function that was used: the first use stores it."""
    stored = StoredFunction(name, build, **key)
    assert stored.function is not None
    return stored


def only(folder, pattern):
    (path,) = folder.glob(pattern)
    return path


def test_a_stored_function_is_not_built_again_and_one_without_a_key_not_stored(store):
    assert StoredFunction("double", double).function([1.0, 3.0])[1] == 6.0
    assert not store.exists()
    first, again = used(double, **KEYED), StoredFunction("double", never, **KEYED)
    assert again.code_digest == first.code_digest
    assert again.function([1.0, 3.0]).toarray().ravel().tolist() == [2.0, 6.0]


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"x" + content[1:], lambda _: b""])
def test_a_damaged_file_is_built_and_written_again(store, damage):
    whole = used(double, **KEYED)
    path = only(store, "*.casadi")
    content = path.read_bytes()
    path.write_bytes(damage(content))
    assert StoredFunction("double", double, **KEYED).code_digest == whole.code_digest
    assert path.read_bytes() == content


def test_the_functions_that_were_not_used_for_longest_are_removed(store, monkeypatch):
    monkeypatch.setattr(compiled_functions, "MOST_FILES", 2)
    for k in range(3):
        used(double, key=str(k))
        os.utime(store / f"double-{k}.casadi", (k, k))
    used(never, key="1")
    used(double, key="3")
    assert sorted(path.stem for path in store.glob("*.casadi")) == ["double-1", "double-3"]


@pytest.mark.slow
def test_programs_of_an_arm_read_back_are_the_same_code(panda, store):
    layout = ParameterLayout(RowCounts(1, 2, 0, 1), 7, True)
    program = Program(panda, layout.row_counts, pose=True)
    program._compiled_function("refine", (REFINING_STEPS,))
    again = StoredFunction("refine", never, key=program_key(panda, layout, (REFINING_STEPS,)))
    assert (
        again.code_digest == digest_of_code(again.function) == digest_of_code(program._build("refine", REFINING_STEPS))
    )


def test_a_path_problem_read_back_gives_the_same_bits(panda, store):
    built = PathProgram(panda, SHAPE)._build(panda)
    read = StoredFunction("path_problem", never, key=function_key(panda, SHAPE)).function
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=built.size1_in(i)) for i in range(2)]
    for mine, theirs in zip(built.call(inputs), read.call(inputs), strict=True):
        assert mine.toarray().tobytes() == theirs.toarray().tobytes()


def test_the_pose_function_gives_the_bits_of_the_expressions(panda):
    q = ca.SX.sym("q", 7)
    direct = ca.Function("direct", [q], panda.expressions(q)[:2])
    joints = np.random.default_rng(0).normal(size=7)
    for mine, theirs in zip(panda.pose_function()(joints), direct(joints), strict=True):
        assert mine.toarray().tobytes() == theirs.toarray().tobytes()


def test_the_key_states_arm_sizes_and_code_and_rows_of_foreign_terms_have_none(panda, monkeypatch):
    joints, tip, names = panda.joints, panda.T_last_tip, {"base_link": "a", "tip_link": "b"}
    other = Kinematics(list(joints), tip + np.eye(4, k=3) * 1e-15, **names)
    shorter = Kinematics(list(joints[1:]), tip, **names)
    keys = {function_key(arm, SHAPE) for arm in (panda, other, shorter)} | {function_key(panda, 1)}
    monkeypatch.setattr(compiled_functions, "_code_identity", lambda: "other code")
    assert len({*keys, function_key(panda, SHAPE)}) == 5
    kind = RowKind("height", "m", 1, lambda R, p, numbers: p[2] - numbers[0])
    assert program_key(panda, ParameterLayout(RowCounts(1, 0, 0, 0, (kind,)), 7)) is None
    assert program_key(panda, ParameterLayout(RowCounts(1, 0, 0, 0), 7)) is not None


def test_a_function_that_others_can_have_written_is_built_and_written_again(store):
    used(double, **KEYED)
    only(store, "*.casadi").chmod(0o666)
    assert StoredFunction("double", double, **KEYED)._stored is None
    used(double, **KEYED)
    assert StoredFunction("double", never, **KEYED).function([1.0, 3.0])[1] == 6.0
    store.chmod(0o777)
    assert StoredFunction("double", double, **KEYED)._stored is None  # nothing is read from such a folder
    assert StoredFunction("double", double, **KEYED).function([1.0, 3.0])[1] == 6.0


def simple(name="simple"):
    x = ca.SX.sym("x", 3)
    return ca.Function(name, [x], [ca.vertcat(ca.sin(x[0]) * x[1] / (x[2] * x[2] + 0.1), ca.sqrt(ca.fabs(x[0])))])


@pytest.fixture
def cache(store, monkeypatch):
    monkeypatch.setenv(COMPILE_VARIABLE, "now")
    return store


def compiled(build=simple):
    """The machine code of a function, or None."""
    return compile_stored(StoredFunction("simple", build))


def is_machine_code(function):
    return "External" in str(function)


@needs_compiler
@pytest.mark.slow
def test_the_programs_of_an_arm_give_the_same_bits_as_casadi(arm, cache, monkeypatch):
    row_counts, rng = RowCounts(1, 2, 2, 1), np.random.default_rng(0)
    layout = ParameterLayout(row_counts, 7, True)
    q, P = rng.uniform(arm.q_lower, arm.q_upper, (6, 7)), rng.normal(size=layout.size)
    schedules = np.abs(rng.normal(size=(6, 12, 4))) + 0.1

    def answers(mode):
        monkeypatch.setenv(COMPILE_VARIABLE, mode)
        program = Program(arm.kinematics, row_counts, pose=True)
        found = (*program.descend(q, arm.q_home, P, schedules), *program.refine(q, arm.q_home, P))
        return found, program._compiled_function("descend", (12,)).is_machine_code

    (first, machine), (second, interpreted) = answers("now"), answers("0")
    assert (machine, interpreted) == (True, False)
    for a, b in zip(first, second, strict=True):
        assert a.tobytes() == b.tobytes()


@needs_compiler
def test_a_program_is_compiled_once_and_another_of_the_same_name_apart(cache):
    assert is_machine_code(compiled())
    library = only(cache, "*.so")
    written = library.stat().st_mtime_ns
    assert is_machine_code(compiled())
    assert library.stat().st_mtime_ns == written
    assert not list(cache.glob(".writing-*"))
    x = ca.SX.sym("x", 3)
    other = compiled(lambda: ca.Function("simple", [x], [2.0 * x]))
    assert len(list(cache.glob("*.so"))) == 2
    assert other([1.0, 2.0, 3.0]).toarray().ravel().tolist() == [2.0, 4.0, 6.0]


@needs_compiler
@pytest.mark.parametrize(
    "spoil", [lambda path: path.write_bytes(path.read_bytes()[:5000]), lambda path: path.chmod(0o777)]
)
def test_a_program_that_is_damaged_or_that_others_can_have_written_is_compiled_anew(cache, spoil):
    compiled()
    library = only(cache, "*.so")
    before = library.stat()
    spoil(library)
    again = compiled()
    assert is_machine_code(again)
    after = only(cache, "*.so").stat()
    assert after.st_ino != before.st_ino
    assert after.st_size > 5000
    assert stat.S_IMODE(after.st_mode) & 0o022 == 0
    np.testing.assert_array_equal(again([0.3, 0.2, 0.1]).toarray(), simple()([0.3, 0.2, 0.1]).toarray())


@needs_compiler
@pytest.mark.parametrize("level", ["folder", "cache directory"])
def test_no_program_is_loaded_from_a_folder_that_others_may_write(cache, level):
    assert compiled() is not None
    (cache if level == "folder" else cache.parent).chmod(0o777)
    assert compiled() is None


def test_the_switch_keeps_to_the_virtual_machine(cache, monkeypatch):
    monkeypatch.setenv(COMPILE_VARIABLE, "0")
    assert compiled() is None
    assert not cache.exists()


REAL = next((p for p in ("/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang") if os.path.exists(p)), "")  # noqa: PTH110 (a path of the system)
COMPILERS = {
    "fails": "exit 1",
    "writes rubbish": 'while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done\nexit 0',
    "changes results": f'for f in "$@"; do case $f in *.c) sed -i "s/sin(/cos(/g" $f;; esac; done\nexec {REAL} "$@"',
}


@pytest.mark.parametrize("fault", COMPILERS)
def test_a_compiler_that_cannot_be_trusted_costs_nothing_but_speed(cache, tmp_path, monkeypatch, caplog, fault):
    if fault == "changes results" and not REAL:
        pytest.skip("no C compiler on this machine")
    path = tmp_path / "cc"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {fault} 1.0 && exit 0\n{COMPILERS[fault]}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert compiled() is None
    assert ("gives other numbers than CasADi" in caplog.text) == (fault == "changes results")
    assert not list(cache.glob("*.so"))


def test_without_a_compiler_or_a_cache_the_function_itself_runs(cache, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "file"))  # it cannot be written
        assert StoredFunction("double", double, **KEYED).function([1.0, 3.0])[1] == 6.0
        assert compiled() is None
    monkeypatch.setenv("PATH", str(cache))
    assert find_compiler() is None
    assert compiled() is None


@needs_compiler
def test_a_program_is_compiled_when_it_has_run_long_enough(cache, monkeypatch):
    monkeypatch.setenv(COMPILE_VARIABLE, "1")
    program, x = CompiledFunction("simple", simple), np.array([[0.3, 0.2, 0.1]])
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
        "import casadi as ca\nfrom unlatch.solver.compiled_functions import StoredFunction, compile_stored\n"
        "x = ca.SX.sym('x', 2)\n"
        "f = compile_stored(StoredFunction('both', lambda: ca.Function('both', [x], [ca.sin(x)])))\n"
        "print('External' in str(f), f([0.5, 1.0])[1])"
    )
    env = {**os.environ, "UNLATCH_CACHE_DIR": str(tmp_path), COMPILE_VARIABLE: "now"}
    start = {"env": env, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([sys.executable, "-c", code], **start) for _ in range(4)]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == ["True 0.841471"] * 4
