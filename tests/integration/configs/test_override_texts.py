"""Texts on the command line arrive as they are written, whatever characters they hold."""

import itertools

import pytest

from unlatch.configs.overrides import (
    expand_sweep,
    keep_texts,
    parse_override,
    quote_text,
    quote_where_needed,
    unquote_text,
    write_value,
)
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

TEXTS = (
    """
/data/lr=0.1|~/data|~ann/data|ü|日本/データ|😀|a b|a#b|#1|run[1]|(x)|f(x)|Ann's|a"b
C:\\data|a\\|a:b|x y=z|a{b}|a;b&c|<x>|`x`|!x|+x|--x
a^b|50%|@x|*.x|1e5|1_000|true|007|-1|0x10|2024-01-01|=|==|a=b=c|$HOME/x|\u00a0x
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("prefix", ["", "+", "++"])
def test_a_text_arrives_as_it_is_written(prefix, text):
    (override,) = keep_texts([quote_where_needed(f"{prefix}out={text}")], CollectCfg)
    assert str(parse_override(override).value()) == text


@pytest.mark.parametrize("text", ["/data/ü/lr=0.1 #2", "1e5"])
def test_a_text_arrives_in_the_configuration(text):
    assert load("open_drawer", f"out={text}").out == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[open it, it's, a=b]", ["open it", "it's", "a=b"]),
        ("['a, b',c]", ["a, b", "c"]),
        ("[~/a,[x=1,2]]", ["~/a", ["x=1", 2]]),
        ("{a:1,b:[2]}", {"a": 1, "b": [2]}),
        ("'a, b=c'", "a, b=c"),
        ("12", 12),
        ("null", None),
        ("", ""),
    ],
)
def test_lists_mappings_quotes_and_numbers_keep_their_meaning(text, value):
    assert parse_override(quote_where_needed(f"key={text}")).value() == value


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        ("out=/a/lr=0.1,/a/lr=0.2", ["out='/a/lr=0.1'", "out='/a/lr=0.2'"]),
        ("out=ü,b", ["out='ü'", "out=b"]),
        ("seed=1,2", ["seed=1", "seed=2"]),
        ("seed=range(1,3)", ["seed=1", "seed=2"]),
        ("out='a,b=c',d", ["out='a,b=c'", "out=d"]),
    ],
)
def test_a_sweep_over_texts_has_a_job_for_each(text, jobs):
    assert [job for (job,) in expand_sweep([text])] == jobs


@pytest.mark.parametrize("text", ["out=[a=b", "out='x", 'out="x', "out={a:b", "out=[']"])
def test_what_is_not_closed_is_refused_in_one_line(text):
    with pytest.raises(
        ConfigError, match="cannot be read: its value has unmatched brackets, braces or quotes"
    ) as caught:
        parse_override(quote_where_needed(text))
    assert "\n" not in caught.value.message


def test_quotes_are_added_and_taken_away_without_loss():
    for length in range(1, 5):
        for characters in itertools.product("a\\'\"= ", repeat=length):
            text = "".join(characters)
            assert parse_override(f"key={quote_text(text)}").value() == text
            assert unquote_text(quote_text(text)) == text


def test_a_written_value_is_read_as_itself():
    for value in (None, True, 3, 1e-05, "true", "two words", "plain", ["a", [1.5, "b,c"]], {"key": ["a b", None]}):
        assert parse_override(f"key={write_value(value)}").value() == value


def test_numbers_stay_numbers_where_the_key_holds_one():
    assert keep_texts(["seed=3", "task.settle_s=1e0", "task=3"], CollectCfg) == [
        "seed=3",
        "task.settle_s=1e0",
        "task=3",
    ]
    assert keep_texts(["task.summary=3"], CollectCfg) == ["task.summary='3'"]


def test_the_advice_for_several_values_can_be_followed():
    with pytest.raises(ConfigError, match=r"""For a text with commas write 'task\.summary="a,b"'\."""):
        load("open_drawer", "task.summary=a,b")
    assert load("open_drawer", 'task.summary="a,b"').task.summary == "a,b"
