"""Keeps CasADi functions that were built, so that later processes read them: building the expressions takes a second.

A function follows from numbers (the arm's chain, the counts of rows) and from code. The name of its file is a hash of
all of these, so another arm, another shape and any change of the solver's code make another file. A function that is
read back consists of the same operations in the same order.
"""

from __future__ import annotations

import hashlib
import platform
import zlib
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import casadi as ca

from unlatch.simcore.cache import cache_root
from unlatch.simcore.kept.files import read_kept, write_kept
from unlatch.simcore.kept.own_files import is_own
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
            _write_file(self._file, function)
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
    """Returns the key of a function of an arm.

    Args:
        kinematics: The chain whose numbers it holds.
        parts: Whatever else it depends on, such as counts of rows; their `repr` must state all of it.
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


def _write_file(path: Path, function: Any) -> None:
    """Stores a function for `_read_file`."""
    text = zlib.compress(function.serialize().encode("ascii"), 1)
    write_kept(path, digest_of_code(function).encode() + text, most=MOST_FILES)
