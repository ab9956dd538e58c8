"""Seeds and streams: the same everywhere, and independent of one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.rng import STREAMS, EpisodeStreams, episode_seed, stream, sum_in_order

SEEDS = st.integers(min_value=0, max_value=2**63 - 1)


def test_seeds_and_draws_are_those_of_earlier_records():
    # pinned: a change here makes every recorded episode unrepeatable
    assert episode_seed(7, 3) == episode_seed(np.int64(7), np.int32(3)) == 4548238426091069580
    assert stream(123, "layout").integers(0, 2**32) == 2200560085
    assert stream(2**63 - 1, "planner").integers(0, 2**32) == 1926186055


@pytest.mark.property
@given(seed=SEEDS)
def test_a_stream_depends_on_seed_and_name_only(seed):
    assert stream(seed, "layout").random() == stream(seed, "layout").random()
    draws = {name: stream(seed, name).random() for name in STREAMS}
    assert len(set(draws.values())) == len(STREAMS)


@pytest.mark.property
@given(seed=SEEDS, extra=st.integers(min_value=1, max_value=50), drawn=st.sampled_from(STREAMS))
def test_draws_in_one_stream_do_not_change_others(seed, extra, drawn):
    plain, busy = EpisodeStreams(seed), EpisodeStreams(seed)
    busy[drawn].random(extra)
    for name in STREAMS:
        if name != drawn:
            assert busy[name].random() == plain[name].random()


def test_a_stream_continues_after_earlier_draws():
    streams = EpisodeStreams(5)
    assert streams["layout"] is streams["layout"]
    assert streams["layout"].random() != streams["layout"].random()


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match=r"seed=-1 is out of range\. Expected 0 or more\."):
        stream(-1, "layout")


def test_rounding_errors_are_kept_as_in_a_loop():
    total = 0.0
    for _ in range(10):
        total += 0.1
    assert sum_in_order([0.1] * 10) == total == 0.9999999999999999
    assert sum_in_order([]) == 0.0
