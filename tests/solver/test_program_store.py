"""Stored functions: read back they are the same operations, and nothing that changes them leaves their key alone."""

import os

import casadi as ca
import numpy as np
import pytest

from unlatch.solver import compiled_functions as program_store
from unlatch.solver.compiled_functions import StoredFunction, digest_of_code, function_key
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import ParameterLayout, RowCounts
from unlatch.solver.path_with_goal import PathProgram, PathShape
from unlatch.solver.program import Refiner, program_key
from unlatch.solver.term import RowKind

KEY = "0" * 32
SHAPE = PathShape(approach=1, waypoints=2, held=2, slides=True, points=1, axes=2, planes=1)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path))
    return tmp_path / "programs"


def build():
    x = ca.SX.sym("x", 2)
    return ca.Function("double", [x], [2.0 * x])


def never():
    raise AssertionError("the function was built although the cache holds it")


def test_a_stored_function_is_not_built_again(store):
    first = StoredFunction("double", build, key=KEY)
    first.function  # noqa: B018 - the first use stores it
    again = StoredFunction("double", never, key=KEY)
    assert again.code_digest == first.code_digest
    assert again.function([1.0, 3.0]).toarray().ravel().tolist() == [2.0, 6.0]


def test_a_function_without_a_key_is_not_stored(store):
    assert StoredFunction("double", build).function([1.0, 3.0])[1] == 6.0
    assert not store.exists()


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"x" + content[1:], lambda _: b""])
def test_a_damaged_file_is_built_and_written_again(store, damage):
    whole = StoredFunction("double", build, key=KEY)
    whole.function  # noqa: B018
    (path,) = store.glob("*.casadi")
    content = path.read_bytes()
    path.write_bytes(damage(content))
    again = StoredFunction("double", build, key=KEY)
    assert again.code_digest == whole.code_digest
    assert path.read_bytes() == content


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "file"))
    assert StoredFunction("double", build, key=KEY).function([1.0, 3.0])[1] == 6.0


def test_the_functions_that_were_not_used_for_longest_are_removed(store, monkeypatch):
    monkeypatch.setattr(program_store, "MOST_FILES", 2)
    for k in range(3):
        StoredFunction("double", build, key=str(k)).function  # noqa: B018
        os.utime(store / f"double-{k}.casadi", (k, k))
    StoredFunction("double", never, key="1").function  # noqa: B018 - used now
    StoredFunction("double", build, key="3").function  # noqa: B018
    assert sorted(path.stem for path in store.glob("*.casadi")) == ["double-1", "double-3"]


@pytest.mark.slow
def test_programs_of_an_arm_read_back_are_the_same_code(panda, store):
    layout = ParameterLayout(RowCounts(1, 2, 0, 1), 7, True)
    refiner = Refiner(panda, layout)
    key = program_key(panda, layout)
    again = StoredFunction("refine", never, key=key)
    assert again.code_digest == digest_of_code(again.function) == digest_of_code(refiner._build())


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


def test_the_key_states_arm_sizes_and_code(panda, monkeypatch):
    joints, tip = panda.joints, panda.T_last_tip
    moved = tip + np.eye(4, k=3) * 1e-15
    other = Kinematics(list(joints), moved, base_link="a", tip_link="b")
    shorter = Kinematics(list(joints[1:]), tip, base_link="a", tip_link="b")
    keys = {
        function_key(panda, SHAPE),
        function_key(other, SHAPE),
        function_key(shorter, SHAPE),
        function_key(panda, 1),
    }
    monkeypatch.setattr(program_store, "_code_identity", lambda: "other code")
    keys.add(function_key(panda, SHAPE))
    assert len(keys) == 5


def test_rows_of_foreign_terms_have_no_key(panda):
    kind = RowKind("height", "m", 1, lambda R, p, numbers: p[2] - numbers[0])
    assert program_key(panda, ParameterLayout(RowCounts(1, 0, 0, 0, (kind,)), 7)) is None
    assert program_key(panda, ParameterLayout(RowCounts(1, 0, 0, 0), 7)) is not None


def test_a_function_that_others_can_have_written_is_built_and_written_again(store):
    StoredFunction("double", build, key=KEY).function  # noqa: B018
    (path,) = store.glob("*.casadi")
    path.chmod(0o666)
    assert StoredFunction("double", build, key=KEY)._stored is None
    StoredFunction("double", build, key=KEY).function  # noqa: B018 - written anew
    assert StoredFunction("double", never, key=KEY).function([1.0, 3.0])[1] == 6.0


def test_nothing_is_read_from_a_folder_that_others_may_write(store):
    StoredFunction("double", build, key=KEY).function  # noqa: B018
    store.chmod(0o777)
    assert StoredFunction("double", build, key=KEY)._stored is None
    assert StoredFunction("double", build, key=KEY).function([1.0, 3.0])[1] == 6.0
