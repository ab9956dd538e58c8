"""Starts are the configurations of the lowest score that keep a distance from each other."""

import numpy as np

from unlatch.solver.start_library import start_library_of


def test_a_configuration_is_left_out_only_where_a_better_one_that_is_picked_is_near(arm):
    library = start_library_of(arm)
    score = np.linalg.norm(library.p - [0.5, 0.1, 0.4], axis=1)
    picked = library.pick(score, count=40)
    gaps = np.linalg.norm(picked[:, None] - picked[None], axis=-1)
    assert len(picked) == 40
    assert gaps[~np.eye(40, dtype=bool)].min() >= 0.8
    better = 0
    for q in library.q[np.argsort(score)][:100]:
        if better < len(picked) and np.array_equal(q, picked[better]):
            better += 1
        elif better < len(picked):
            assert np.linalg.norm(picked[:better] - q, axis=1).min() < 0.8, better
    assert better > 20
