"""When a run ends, and which share of its episodes it makes."""

from __future__ import annotations

from typing import Any

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.executors.executor import Outcome
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg, ExecutorCfg
from unlatch.workflows.runs.stop_condition import StopCondition


def made(ending: StopCondition, fails: set[int], most: int = 1000) -> list[int]:
    """Numbers that one worker makes after each other."""
    numbers = []
    for number in ending.until(range(most)):
        numbers.append(number)
        ending.count(Outcome(number, number not in fails, "slipped" if number in fails else None))
    return numbers


def test_without_an_end_all_are_made() -> None:
    assert made(StopCondition(), fails=set(range(100)), most=100) == list(range(100))


def test_a_run_ends_with_enough_successes() -> None:
    ending = StopCondition(successes=3)
    assert made(ending, fails={0, 2, 3}) == [0, 1, 2, 3, 4, 5]
    assert ending.has_enough


def test_a_run_whose_first_attempts_all_failed_is_given_up() -> None:
    ending = StopCondition(give_up_after=50)
    assert len(made(ending, fails=set(range(1000)))) == 50
    assert ending.is_hopeless
    assert ending.hopeless_text().startswith(
        "given up: the first 50 attempts all failed (slipped 50). Look at one with"
    )


def test_one_success_in_time_keeps_it_going() -> None:
    ending = StopCondition(give_up_after=50)
    assert len(made(ending, fails=set(range(200)) - {49})) == 1000
    assert not ending.is_hopeless


def test_shards_share_the_episodes() -> None:
    whole = CollectCfg(episodes=37).numbers()
    shards = [CollectCfg(episodes=37, shard=f"{i}/5").numbers() for i in range(1, 6)]
    assert sorted(number for shard in shards for number in shard) == whole
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert CollectCfg(only=[9, 3, 5], shard="2/2").numbers() == [5]


def test_attempts_bound_successes() -> None:
    assert CollectCfg(successes=5).numbers() == list(range(20))
    assert CollectCfg(successes=5, attempts=7).numbers() == list(range(7))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"shard": "0/4"}, r"shard=0/4 is no share"),
        ({"shard": "5/4"}, r"shard=5/4 is no share"),
        ({"shard": "a/4"}, r"shard=a/4 is no share"),
        ({"shard": "30/30"}, r"shard=30/30 leaves none of the episodes"),
        ({"successes": 0}, r"successes=0 is out of range"),
        ({"successes": 5, "shard": "1/2"}, r"successes=5 goes on until enough .* shard=1/2 names"),
        ({"successes": 5, "only": [1]}, r"successes=5 goes on until enough"),
        ({"successes": 5, "attempts": 4}, r"attempts=4 is less than successes=5"),
        ({"attempts": 4}, r"attempts=4 says nothing without successes"),
    ],
)
def test_mistakes(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CollectCfg(**keys)


def test_limits_of_workers() -> None:
    with pytest.raises(ConfigError, match=r"executor\.episode_timeout_s=0\.5 is out of range\. Expected 1 or more"):
        ExecutorCfg(episode_timeout_s=0.5)
    assert EvaluateCfg(policy="random", shard="1/2", episodes=4).numbers() == [0, 2]
