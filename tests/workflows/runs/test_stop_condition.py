"""Tests of stop conditions and of shards."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.executors import Outcome
from unlatch.workflows.runs.run import StopCondition
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg, ExecutorCfg, LauncherCfg


def made(stop: StopCondition, fails: set[int], most: int = 1000) -> list[int]:
    """Returns the numbers that one worker makes."""
    numbers = []
    for number in stop.until(range(most)):
        numbers.append(number)
        stop.count(Outcome(number, number not in fails, "slipped" if number in fails else None))
    return numbers


@pytest.mark.parametrize(
    ("condition", "fails", "count"),
    [
        ({}, range(1000), 1000),
        ({"successes": 3}, [0, 2, 3], 6),
        ({"give_up_after": 50}, range(1000), 50),
        ({"give_up_after": 50}, [n for n in range(200) if n != 49], 1000),  # one early success
    ],
)
def test_a_run_ends_when_its_condition_is_met(condition, fails, count):
    stop = StopCondition(**condition)
    assert made(stop, fails=set(fails)) == list(range(count))
    assert (stop.has_enough, stop.is_hopeless) == ("successes" in condition, count == 50)
    if stop.is_hopeless:
        said = "given up: the first 50 attempts all failed (slipped 50). Look at one with"
        assert stop.hopeless_text().startswith(said)


def test_shards_split_the_episodes_and_attempts_limit_those_of_successes():
    whole = CollectCfg(episodes=37).numbers()
    shards = [CollectCfg(episodes=37, shard=f"{i}/5").numbers() for i in range(1, 6)]
    assert sorted(number for shard in shards for number in shard) == whole
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert CollectCfg(only=[9, 3, 5], shard="2/2").numbers() == [5]
    assert EvaluateCfg(policy="random", shard="1/2", episodes=4).numbers() == [0, 2]
    assert CollectCfg(successes=5).numbers() == list(range(20))
    assert CollectCfg(successes=5, attempts=7).numbers() == list(range(7))


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        (CollectCfg, {"shard": "0/4"}, r"shard=0/4 cannot be read"),
        (CollectCfg, {"shard": "5/4"}, r"shard=5/4 cannot be read"),
        (CollectCfg, {"shard": "a/4"}, r"shard=a/4 cannot be read"),
        (CollectCfg, {"shard": "30/30"}, r"shard=30/30 has no episodes"),
        (CollectCfg, {"successes": 0}, r"successes=0 is out of range"),
        (CollectCfg, {"successes": 5, "shard": "1/2"}, r"successes=5 decides how many .* and shard=1/2 decides"),
        (CollectCfg, {"successes": 5, "only": [1]}, r"successes=5 decides how many"),
        (CollectCfg, {"successes": 5, "attempts": 4}, r"attempts=4 is less than successes=5"),
        (CollectCfg, {"attempts": 4}, r"attempts=4 has no effect without successes"),
        (ExecutorCfg, {"episode_timeout_s": 0.5}, r"episode_timeout_s=0\.5 is out of range\. Expected 1 or more"),
        (LauncherCfg, {"jobs_at_once": 0}, "Expected 1 or more"),
    ],
)
def test_wrong_values_raise_an_error(kind, keys, message):
    with pytest.raises(ConfigError, match=message):
        kind(**keys)
