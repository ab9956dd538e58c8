"""TOPP-RA is imported without matplotlib."""

import subprocess
import sys

import pytest

THERE = (
    "import sys; from unlatch.solver.planning.timing import load_toppra; load_toppra(); "
    "print('matplotlib.figure' in sys.modules)"
)


@pytest.mark.parametrize(("before", "printed"), [("", "False"), ("import matplotlib.pyplot; ", "True")])
def test_loading_toppra_leaves_matplotlib_unchanged(before: str, printed: str):
    text = f"{before}{THERE}; import matplotlib.pyplot as plt; print(callable(plt.figure))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [printed, "True"]
