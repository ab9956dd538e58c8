"""Planner settings are read from YAML files of ours and of other systems; other files raise an error of one line."""

from pathlib import Path

import pytest

from unlatch.configs.user_files import read_setting_file, resolve_references
from unlatch.simcore.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "tests" / "data" / "peer_settings"
OURS = [path for path in sorted((ROOT / "configs" / "task").glob("*.yaml")) if "constraint_list" in path.read_text()]
"""Tasks that state a planner setting; that of the others is derived."""


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_our_own_tasks_need_no_rewrite(path):
    reads = read_setting_file(path)
    assert reads
    assert all(read.setting is not None and read.notices == [] for read in reads)


def test_a_number_with_an_exponent_is_no_rewrite_here():
    setting = read_setting_file(PEERS / "interndata_task.yaml")[1]
    assert setting.setting is not None
    assert setting.setting.constraint_list[0].tolerance == 1e-6
    assert not any("YAML 1.1" in notice for notice in setting.notices)


def test_one_bad_setting_leaves_the_others_readable(tmp_path):
    good = (PEERS / "gensim2_rigid.yaml").read_text(encoding="utf-8")
    indented = "".join(f"    {line}\n" for line in good.splitlines())
    text = f"a:\n  planner_setting:\n{indented}b:\n  planner_setting: {{constraint_list: []}}\n"
    (tmp_path / "two.yaml").write_text(text, encoding="utf-8")
    first, second = read_setting_file(tmp_path / "two.yaml")
    assert (first.where, first.error) == ("a.planner_setting", None)
    assert second.setting is None
    assert second.error is not None
    assert second.error.message.startswith("b.planner_setting.success_threshold is missing")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"a: [\n", "YAML error in .*bad.yaml', line 2"),
        (b"5\n", "bad.yaml is one value"),
        (b"\xff\xfe\x00", "bad.yaml, line 1: the byte 0x00 is not valid UTF-16"),
        (b"a: 1\n", "bad.yaml has no planner_setting"),
        (b"a: " + b"[" * 1000 + b"]" * 1000, "bad.yaml is nested too deeply"),
        (
            b"a: &a [1, 1, 1, 1]\n"
            + b"".join(b"%c: &%c [%b]\n" % (k, k, b", ".join([b"*%c" % (k - 1)] * 4)) for k in range(98, 115)),
            "bad.yaml has more than 1,000,000 values",
        ),
        (b"a: &a [*a]\n", "bad.yaml is nested too deeply"),
        (b"#" * 1_000_001, "bad.yaml has more than 1000000 bytes"),
    ],
)
def test_a_file_without_settings_raises_an_error_of_one_line(tmp_path, content, match):
    (tmp_path / "bad.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=match) as caught:
        read_setting_file(tmp_path / "bad.yaml")
    assert "\n" not in caught.value.message


def test_a_missing_file_raises_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere.yaml is not a file. Expected a YAML file"):
        read_setting_file(tmp_path / "nowhere.yaml")


def test_references_of_another_system_are_resolved_where_they_lead_to_something():
    tree = {
        "tasks": [
            {
                "robots": [{"name": "arm"}],
                "regions": [
                    {
                        "object": "${tasks.0.robots.0.name}",
                        "said": "by ${tasks[0].robots[0].name}",
                        "near": "${.object}",
                    },
                    {
                        "gone": "${nowhere}",
                        "near": "${.asked}",
                        "asked": "${oc.env:HOME}",
                        "loop": "${.other}",
                        "other": "${.loop}",
                    },
                ],
                "same": "${tasks.0.robots}",
            }
        ]
    }
    (task,) = resolve_references(tree)["tasks"]
    assert task["regions"][0] == {"object": "arm", "said": "by arm", "near": "arm"}
    given = tree["tasks"][0]["regions"][1]
    assert task["regions"][1] == {**given, "near": given["asked"]}, "nothing is read from the environment"
    assert resolve_references({"a": 3, "b": "${.a}"}) == {"a": 3, "b": 3}
    assert task["same"] == [{"name": "arm"}]
