"""The physics loop and the software renderer in C; all else is in pyproject.toml.

Python loads it as a library, so one file fits every version of Python. The flags keep sums equal between compilers.
"""

import hashlib
from pathlib import Path

from setuptools import Extension, setup

NATIVE = "src/unlatch/simcore/sim/native"
SOURCES = sorted(path for path in Path(NATIVE).iterdir() if path.suffix in (".c", ".h"))
DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()
"""Compiled into the library, so that one that is older than its sources is noticed."""
CORE = Extension(
    "unlatch.simcore.sim.native._core",
    sources=[f"{NATIVE}/{name}.c" for name in ("core", "raster", "starts", "timing")],
    depends=[f"{NATIVE}/{name}.h" for name in ("bullet", "core", "raster")],
    extra_compile_args=[
        "-std=c99",
        "-D_GNU_SOURCE",
        "-O2",
        "-fvisibility=hidden",
        "-ffp-contract=off",
        "-fno-fast-math",
        "-fno-math-errno",  # square roots are one instruction; it changes no value
        f'-DSOURCES_SHA256="{DIGEST}"',
    ],
    libraries=["m", "dl"],
    py_limited_api=True,
)
setup(ext_modules=[CORE], options={"bdist_wheel": {"py_limited_api": "cp310"}})
