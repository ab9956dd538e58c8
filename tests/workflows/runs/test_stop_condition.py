"""Tests of stop conditions and of shards."""

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.executors import Outcome
from unlatch.workflows.runs.run import StopCondition
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg, ExecutorCfg


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


def test_a_run_that_is_given_up_says_how_its_attempts_failed():
    stop = StopCondition(give_up_after=50)
    made(stop, fails=set(range(1000)))
    assert stop.hopeless_text().startswith("given up: the first 50 attempts all failed (slipped 50). Look at one with")


def test_shards_split_the_episodes():
    whole = CollectCfg(episodes=37).numbers()
    shards = [CollectCfg(episodes=37, shard=f"{i}/5").numbers() for i in range(1, 6)]
    assert sorted(number for shard in shards for number in shard) == whole
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert CollectCfg(only=[9, 3, 5], shard="2/2").numbers() == [5]


def test_attempts_limit_the_episodes_of_successes():
    assert CollectCfg(successes=5).numbers() == list(range(20))
    assert CollectCfg(successes=5, attempts=7).numbers() == list(range(7))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"shard": "0/4"}, r"shard=0/4 cannot be read"),
        ({"shard": "5/4"}, r"shard=5/4 cannot be read"),
        ({"shard": "a/4"}, r"shard=a/4 cannot be read"),
        ({"shard": "30/30"}, r"shard=30/30 has no episodes"),
        ({"successes": 0}, r"successes=0 is out of range"),
        ({"successes": 5, "shard": "1/2"}, r"successes=5 decides how many episodes are made, and shard=1/2 decides"),
        ({"successes": 5, "only": [1]}, r"successes=5 decides how many"),
        ({"successes": 5, "attempts": 4}, r"attempts=4 is less than successes=5"),
        ({"attempts": 4}, r"attempts=4 has no effect without successes"),
    ],
)
def test_wrong_values_raise_an_error(keys, message):
    with pytest.raises(ConfigError, match=message):
        CollectCfg(**keys)


def test_wrong_limits_of_workers_raise_an_error():
    with pytest.raises(ConfigError, match=r"executor\.episode_timeout_s=0\.5 is out of range\. Expected 1 or more"):
        ExecutorCfg(episode_timeout_s=0.5)
    assert EvaluateCfg(policy="random", shard="1/2", episodes=4).numbers() == [0, 2]
