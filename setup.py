"""The physics loop in C; all else is in pyproject.toml.

Python loads it as a library, so one file fits every version of Python. The flags keep sums equal between compilers.
"""

from setuptools import Extension, setup

CORE = Extension(
    "unlatch.simcore.sim.native._core",
    sources=["src/unlatch/simcore/sim/native/core.c"],
    depends=["src/unlatch/simcore/sim/native/core.h", "src/unlatch/simcore/sim/native/bullet.h"],
    extra_compile_args=[
        "-std=c99",
        "-D_GNU_SOURCE",
        "-O2",
        "-fvisibility=hidden",
        "-ffp-contract=off",
        "-fno-fast-math",
    ],
    libraries=["m", "dl"],
    py_limited_api=True,
)
setup(ext_modules=[CORE], options={"bdist_wheel": {"py_limited_api": "cp310"}})
