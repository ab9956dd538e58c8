"""TOPP-RA is imported without matplotlib, and other code finds matplotlib unchanged."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

THERE = (
    "import sys; from unlatch.solver.timing import load_toppra; toppra = load_toppra(); "
    "print('matplotlib.figure' in sys.modules)"
)


def printed_words(text):
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(("before", "printed"), [("", ["False"]), ("import matplotlib.pyplot; ", ["True"])])
def test_loading_toppra_leaves_other_packages_unchanged(before, printed):
    after = "import matplotlib.pyplot as plt; print(callable(plt.figure))"
    assert printed_words(f"{before}{THERE}; {after}") == [*printed, "True"]


def test_other_code_may_use_the_splines_of_toppra():
    after = (
        "import numpy as np; line = np.array([[0.0], [1.0]]); "
        "print(toppra.SplineInterpolator([0, 1], line)([0.5])[0, 0]); "
        "print(toppra.SimplePath(np.array([0.0, 1.0]), line)(0.25)[0])"
    )
    assert printed_words(f"{THERE}; {after}")[1:] == ["0.5", "0.15625"]  # as without our loading
