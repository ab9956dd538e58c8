"""Mutated URDFs: converted or refused with an error of ours, never anything else, and always soon."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.simcore.errors import AssetError

CASES = 600
CHUNK = 60
LIMIT_S = 240.0
"""A chunk takes seconds; one that hangs is ended, and fails."""

_VALUES = (
    "", "nan", "inf", "-1", "0", "1e308", "-1e308", "1e-320", "1e999", "0 0 0", "1 2", "a b c", "\u202e\u0660",
    "../../x", "angle.obj", "body", "door", "world", "fixed_base", "revolute", "continuous", "prismatic", "floating",
    "\uffff", "1" * 400, "' or 1=1", "%s%n", "1 1 1 1 1 1 1", "-0.5 -0.5 -0.5",
)  # fmt: skip
_PIECES = (
    "<link/>", "<link name='door'/>", "<joint/>", "</robot>", "<robot>", "<mimic joint='hinge'/>", "<!-- ", "-->", "<",
    "<![CDATA[", "]]>", "&amp;", "&x;", "<!DOCTYPE a>", "\x00", "<visual/>", "<collision/>",
    "<inertial/>", "<geometry/>", "<inertial><mass value='1'/></inertial>",
    "<link name='n'><visual><geometry><sphere radius='1'/></geometry></visual></link>",
)  # fmt: skip


def mutated(text, rng):
    """A URDF with one to four changes: values, removed or doubled lines, inserted pieces, flipped bytes, a cut."""
    for _ in range(int(rng.integers(1, 5))):
        lines = text.split("\n")
        kind = int(rng.integers(7))
        n = int(rng.integers(len(lines)))
        if kind == 0:
            del lines[n]
        elif kind == 1:
            lines.insert(n, lines[int(rng.integers(len(lines)))])
        elif kind == 2:
            lines.insert(n, _PIECES[int(rng.integers(len(_PIECES)))])
        elif kind == 3 and len(lines) > 2:
            other = int(rng.integers(len(lines)))
            lines[n], lines[other] = lines[other], lines[n]
        text = "\n".join(lines)
        quotes = [k for k, character in enumerate(text) if character == '"']
        if kind in (4, 5) and len(quotes) >= 2:
            k = 2 * int(rng.integers(len(quotes) // 2))
            text = text[: quotes[k] + 1] + _VALUES[int(rng.integers(len(_VALUES)))] + text[quotes[k + 1] :]
        elif kind == 6 and text:
            k = int(rng.integers(len(text)))
            text = text[:k] if rng.random() < 0.2 else text[:k] + chr(int(rng.integers(1, 300))) + text[k + 1 :]
    return text.encode("utf-8", errors="surrogatepass")


def run_cases(path, start):
    """Converts the cases of one chunk in this process; what is converted must load in Bullet. Returns the counts."""
    text = path.read_text()
    counts = {"converted": 0, "refused": 0}
    client = p.connect(p.DIRECT)
    for seed in range(start, start + CHUNK):
        rng = np.random.default_rng([20, seed])
        case, out = path.with_name("case.urdf"), path.parents[1] / f"out{seed}"
        case.write_bytes(mutated(text, rng))
        cfg = UrdfConverterCfg(
            asset_path=str(case), out_dir=str(out), fix_base=bool(seed % 2), merge_fixed_joints=bool(seed % 3)
        )
        try:
            made = UrdfConverter(cfg)
        except AssetError:
            counts["refused"] += 1
            if out.exists() or list(out.parent.glob(".writing-*")):
                raise RuntimeError(f"case {seed} was refused and left something behind") from None
            continue
        p.resetSimulation(physicsClientId=client)
        if p.loadURDF(made.urdf_path, flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client) < 0:
            raise RuntimeError(f"case {seed} does not load")
        for _ in range(3):
            p.stepSimulation(physicsClientId=client)
        counts["converted"] += 1
    p.disconnect(client)
    return f"{counts['converted']} {counts['refused']}"


@pytest.mark.slow
def test_mutated_urdfs_are_converted_or_refused(cabinet):
    converted = refused = 0
    for start in range(0, CASES, CHUNK):
        # in a process of its own: a crash of native code is a failure of this test, not the end of all tests
        child = subprocess.run(
            [sys.executable, __file__, str(cabinet), str(start)],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert child.returncode == 0, f"cases from {start}: {child.stderr[-2000:]}"
        good, bad = map(int, child.stdout.split()[-2:])
        converted, refused = converted + good, refused + bad
    assert converted + refused == CASES >= 500
    assert converted > 50
    assert refused > 100


if __name__ == "__main__":
    sys.stdout.write("\n" + run_cases(Path(sys.argv[1]), int(sys.argv[2])) + "\n")
