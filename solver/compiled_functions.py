"""CasADi functions that are built once: kept for later processes, and compiled to machine code if that saves time.

A function follows from numbers (the arm's chain, the counts of rows) and from code. The name of its file is a hash of
all of these. Compiled code does the same operations in the same order as CasADi's virtual machine, and the compiler
options keep results equal (no fused multiply-add, no fast-math, no machine-specific code). Both give the same bits; a
trial checks that before a program is kept. Without a compiler or a writable cache the virtual machine runs: slower,
never different.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from unlatch.simcore.cache import (
    OWN_MODE,
    cache_root,
    close_to_others,
    is_own,
    make_cache_folder,
    read_kept,
    write_kept,
)
from unlatch.solver.kinematics import Kinematics

SUFFIX = ".casadi"
MOST_FILES = 400
"""Number of files above which the ones that were not used for longest are removed; each has about 0.1 MB."""
_DIGEST = 64
"""Characters of a SHA-256."""


class StoredFunction:
    """A CasADi Function that is read from the cache or built, once it is needed."""

    def __init__(self, name: str, build: Callable[[], Any], *, key: str | None = None) -> None:
        """Makes a function of a name; `key` is the one of `function_key`, None: it is built in every process."""
        self.name = name
        self._build = build
        self._file = None if key is None else store_folder() / f"{name}-{key}{SUFFIX}"

    @cached_property
    def function(self) -> Any:
        """The function."""
        if self._stored is not None:
            return ca.Function.deserialize(zlib.decompress(self._stored[1]).decode("ascii"))
        function = self._build()
        if self._file is not None:
            # stores a function for `_read_file`
            text = zlib.compress(function.serialize().encode("ascii"), 1)
            write_kept(self._file, digest_of_code(function).encode() + text, most=MOST_FILES)
        return function

    @cached_property
    def code_digest(self) -> str:
        """SHA-256 of the C code of the function."""
        return digest_of_code(self.function) if self._stored is None else self._stored[0]

    @cached_property
    def _stored(self) -> tuple[str, bytes] | None:
        """The digest of its C code, and its compressed text; None if the cache does not hold it."""
        return None if self._file is None else _read_file(self._file)


def store_folder() -> Path:
    """Returns the folder of the stored functions and of the compiled programs."""
    return cache_root() / "programs"


def function_key(kinematics: Kinematics, *parts: Any) -> str:
    """Returns the key of a function of an arm, whose numbers it holds.

    `parts` are whatever else it depends on, such as counts of rows; their `repr` must state all of it.
    """
    digest = hashlib.sha256(_code_identity().encode())
    digest.update(repr((kinematics.n_q, *parts)).encode())
    for joint in kinematics.joints:
        digest.update(b"slide" if joint.prismatic else b"turn")
        digest.update(joint.T_previous_joint.tobytes() + joint.axis.tobytes())
    digest.update(kinematics.T_last_tip.tobytes())
    return digest.hexdigest()[:32]


def digest_of_code(function: Any) -> str:
    """Returns the SHA-256 of the C code of a function."""
    return hashlib.sha256(c_code(function).encode()).hexdigest()


def c_code(function: Any) -> str:
    """Returns a function as C code."""
    generator = ca.CodeGenerator(function.name())
    generator.add(function)
    return str(generator.dump())


@cache
def _code_identity() -> str:
    """Returns a hash of all code of this package and of CasADi's version: the code that builds functions."""
    digest = hashlib.sha256(f"{ca.CasadiMeta.version()} {platform.machine()}".encode())
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_file(path: Path) -> tuple[str, bytes] | None:
    """Returns the digest of the C code and the compressed text of a stored function; None if it is not intact.

    A function of CasADi may load libraries. So one that somebody else can have written is not read either.
    """
    content = read_kept(path) if is_own(path) else None
    return None if content is None else (content[:_DIGEST].decode("ascii"), content[_DIGEST:])


Array = np.ndarray

logger = logging.getLogger(__name__)

COMPILE_VARIABLE = "UNLATCH_COMPILE"
"""Environment variable: `0` never compiles, `now` compiles before the first call."""
FLAGS = ("-O2", "-fPIC", "-shared", "-ffp-contract=off", "-fno-fast-math")
_COMPILERS = ("cc", "gcc", "clang")
_TIMEOUT_S = 300
"""Time limit of the compiler; results do not depend on it."""
_TRIALS = 3
_COMPILE_AFTER_S = 0.5
"""Time of calls after which a program is compiled; compiling takes one to five seconds [s]."""


class CompiledFunction:
    """A CasADi Function that is compiled to machine code when that saves time.

    A program that an earlier process compiled is used from the first call. Otherwise the virtual machine runs until it
    has taken about as long as compiling: a short command waits for no compiler, and a long run has machine code for all
    but its first seconds. The moment of the change affects no result.
    """

    def __init__(self, name: str, build: Callable[[], Any], *, key: str | None = None) -> None:
        """Makes a program of the CasADi Function that `build` returns.

        With a key, see `function_key`, `build` is only called if the cache holds neither the function nor its program.
        """
        self._stored = StoredFunction(name, build, key=key)
        self._machine_code: Any = None
        self.is_machine_code = False
        """Whether calls run machine code."""
        self._is_decided = find_compiler() is None
        self._spent_s = 0.0
        self._variants: dict[Any, Any] = {}
        if not self._is_decided:
            self._use_compiled_program(build=os.environ.get(COMPILE_VARIABLE) == "now")

    def __call__(self, variant: Any, make_variant: Callable[[Any], Any], *arguments: Array) -> Array:
        """Calls a variant of the function, such as its map over 16 columns.

        Args:
            variant: Key of the variant, such as the size of the map.
            make_variant: Makes the variant from the function, such as `lambda f: f.map(16)`.
            arguments: Inputs of the variant, a row for each of its columns, or one row for all.

        Returns:
            The first output, a row for each of its columns.
        """
        if variant not in self._variants:
            function = self._machine_code if self.is_machine_code else self._stored.function
            self._variants[variant] = _BufferedFunction(make_variant(function))
        if self._is_decided:
            return self._variants[variant](arguments)
        began = time.perf_counter()
        answer = self._variants[variant](arguments)
        self._spent_s += time.perf_counter() - began
        if self._spent_s > _COMPILE_AFTER_S:
            self._use_compiled_program(build=True)
        return answer

    def _use_compiled_program(self, *, build: bool) -> None:
        """Uses the compiled program if the cache holds it; with `build`, compiles it first."""
        found = compile_stored(self._stored, build=build)
        if found is not None:
            self._machine_code, self.is_machine_code = found, True
            self._variants.clear()
        self._is_decided = build or self.is_machine_code


class _BufferedFunction:
    """A CasADi Function with fixed memory for inputs and outputs, which saves a third of a short call."""

    def __init__(self, function: Any) -> None:
        self._buffer, self._trigger = function.buffer()
        # CasADi stores column by column: what it sees as columns are the rows of these arrays
        self._inputs = [np.zeros((function.size2_in(i), function.size1_in(i))) for i in range(function.n_in())]
        self._output = np.zeros((function.size2_out(0), function.size1_out(0)))
        for i, array in enumerate(self._inputs):
            self._buffer.set_arg(i, memoryview(array.reshape(-1)))
        self._buffer.set_res(0, memoryview(self._output.reshape(-1)))

    def __call__(self, arguments: Sequence[Array]) -> Array:
        for place, array in zip(self._inputs, arguments, strict=True):
            place[...] = array
        self._trigger()
        return self._output.copy()


def compile_stored(stored: StoredFunction, *, build: bool = True) -> Any:
    """Returns a CasADi Function of SX or MX operations as machine code.

    Returns None if it cannot be compiled, or if `build` is False and the cache has no program.
    """
    compiler = find_compiler()
    if compiler is None:
        return None
    key = hashlib.sha256("\0".join((stored.code_digest, *FLAGS, compiler[1], platform.machine())).encode()).hexdigest()
    library = store_folder() / f"{stored.name}-{key[:32]}.so"
    if not _is_intact(library) and not (build and _build_library(library, compiler[0], stored.function)):
        return None
    if not is_own(library):  # others may write to its folder
        return None
    try:
        return ca.external(stored.name, str(library))
    except RuntimeError as exc:  # CasADi's: such as a cache on a file system that runs no programs
        logger.info("%s runs uncompiled, which is slower: %s", stored.name, exc)
        return None


def find_compiler() -> tuple[str, str] | None:
    """Returns path and version of the compiler, or None."""
    return None if os.environ.get(COMPILE_VARIABLE, "1") == "0" else _find_compiler(os.environ.get("PATH", ""))


@lru_cache(maxsize=4)
def _find_compiler(search_path: str) -> tuple[str, str] | None:
    for name in _COMPILERS:
        path = shutil.which(name, path=search_path)
        if path is None:
            continue
        try:
            answer = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError):
            continue  # a name without a working compiler behind it
        return path, answer.stdout
    return None


def _checksum_of(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _is_intact(library: Path) -> bool:
    """Returns whether the cache holds a whole program that nobody but this user can have written."""
    if not is_own(library):
        return False
    try:
        written = _checksum_of(library).read_text(encoding="ascii")
        return hashlib.sha256(library.read_bytes()).hexdigest() == written
    except (OSError, ValueError):
        return False


def _build_library(library: Path, compiler: str, function: Any) -> bool:
    """Compiles, tries and stores a program; the checksum is moved into place last."""
    if not is_own(library.parent):
        return False
    try:
        make_cache_folder(library.parent, mode=OWN_MODE)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=library.parent) as folder:
            source, built = Path(folder) / "program.c", Path(folder) / library.name
            source.write_text(c_code(function), encoding="ascii")
            subprocess.run(
                [compiler, *FLAGS, str(source), "-o", str(built), "-lm"],
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=True,
            )
            if not _same_bits(function, ca.external(function.name(), str(built))):
                logger.warning(
                    "Compiled by %s, %s gives other numbers than CasADi. It runs uncompiled, which is slower. Set %s=0 "
                    "to skip the attempt, or use another compiler.",
                    compiler,
                    function.name(),
                    COMPILE_VARIABLE,
                )
                return False
            checksum = Path(folder) / "checksum"
            checksum.write_text(hashlib.sha256(built.read_bytes()).hexdigest(), encoding="ascii")
            close_to_others(built)
            built.replace(library)
            checksum.replace(_checksum_of(library))
    except (OSError, RuntimeError, subprocess.SubprocessError) as exc:
        logger.info("%s runs uncompiled, which is slower: %s", function.name(), exc)
        return False
    return True


def _same_bits(function: Any, other: Any) -> bool:
    rng = np.random.default_rng(0)
    for _ in range(_TRIALS):
        inputs = [rng.normal(size=(function.size1_in(i), function.size2_in(i))) for i in range(function.n_in())]
        answers = ([part.toarray() for part in f.call(inputs)] for f in (function, other))
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*answers, strict=True)):
            return False
    return True
