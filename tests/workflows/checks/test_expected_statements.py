"""What a record must state of its layout, its goal and its conditions, derived from the configuration."""

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.objects.carrying_conditions import ConditionKind, ObjectCondition
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_instance
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.simcore.recording.verdict import RECORDED, Criteria
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.tasks.stand import StandCfg
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.checks import expected_statements
from unlatch.workflows.checks.expected_statements import POSES, ExpectedGoal, ExpectedLayout, as_recorded, randomizes

SEARCH = LayoutSearchCfg(name="artpreplan", objects=["oven"], candidates=4)
OPEN = SimpleNamespace(name="open")


def differences(statements: dict[str, Any], **record: Any) -> list[str]:
    """Returns where a record differs from what it must state."""
    return list(Criteria(statements).differences(EpisodeRecord(number=0, seed=0, success=True, **record)))


@pytest.fixture
def draws(monkeypatch) -> list[tuple[Any, ...]]:
    """The arguments of each draw of a layout; each draw puts the oven one metre further."""
    calls: list[tuple[Any, ...]] = []

    def draw(*arguments: Any, stand: Any) -> Any:
        assert stand is None  # a table, of which nothing is drawn
        calls.append(arguments)
        drawn = {"objects": {"oven": {"x": float(len(calls))}}, "q_home": {"left": [0.1, 0.2]}}
        return SimpleNamespace(to_dict=lambda: drawn)

    monkeypatch.setattr(expected_statements, "sample_layout", draw)
    return calls


def layout_of(
    report: Any = None,
    *,
    skills: tuple[Any, ...] = (SEARCH, OPEN),
    began: bool = False,
    moves_arms: bool = False,
    **layout: Any,
) -> ExpectedLayout:
    """Returns what the layout of an episode must be, given what its record reports of the search and states."""
    rules = [SimpleNamespace(view="panda", attribute="joint_positions")] if moves_arms else []
    cfg: Any = SimpleNamespace(
        skills=list(skills),
        task="the task",
        stand=StandCfg(),
        robot=SimpleNamespace(name="panda", arms=[SimpleNamespace(name="left", home=[0.0, 0.5], home_std=0.25)]),
        randomization=SimpleNamespace(recorded=None, views=[], rules=rules),
    )
    if isinstance(report, dict):
        report = {"counts": {}, "failures": [], **report}
    stated = layout if report is None else {"preplan": report, **layout}
    entries = [{"name": "open"}] if began else []
    record = EpisodeRecord(number=0, seed=0, success=False, code="timeout", layout=stated, skills=entries)
    return ExpectedLayout(cfg, {"oven": "the oven"}, record, np.random.default_rng(0))  # type: ignore[dict-item]


def x_of(expected: ExpectedLayout) -> float:
    return expected.statement()["objects"]["oven"]["x"]


class TestLayout:
    def test_a_chain_without_a_search_has_the_first_draw(self, draws):
        expected = layout_of(skills=(OPEN,))
        assert expected.statement() == {"objects": {"oven": {"x": 1.0}}, "q_home": {"left": [0.1, 0.2]}}
        ((task, assets, homes, rng),) = draws
        assert (task, assets, homes) == ("the task", {"oven": "the oven"}, [("left", [0.0, 0.5], 0.25)])
        assert rng.random() == np.random.default_rng(0).random()

    @pytest.mark.parametrize("skills", [(), (OPEN, SEARCH)], ids=["no skill", "only the first skill searches"])
    def test_other_chains_have_the_first_draw_too(self, skills, draws):
        assert x_of(layout_of({"tried": 3, "chosen": 2}, skills=skills)) == 1.0
        assert len(draws) == 1

    def test_start_joints_that_a_rule_changes_are_free(self, draws):
        found = layout_of(skills=(OPEN,), moves_arms=True).statement()
        assert found == {"objects": {"oven": {"x": 1.0}}, "q_home": {"left": RECORDED}}
        assert len(draws) == 1

    @pytest.mark.parametrize(
        ("tried", "chosen", "x"),
        [
            (3, 0, 1.0),
            (3, 2, 3.0),
            (3, 3, 1.0),  # not one of those that were tried: `problems` says so
            (3, -1, 1.0),
            (3, "2", 1.0),
            (4, 3, 4.0),
            (1, 0, 1.0),
            (9, 3, 4.0),  # an impossible number of layouts: as many as the search may try
            (9, 4, 1.0),
            (0, 3, 4.0),
            ("2", 3, 4.0),
        ],
    )
    @pytest.mark.usefixtures("draws")
    def test_a_search_has_the_draw_that_it_chose(self, tried, chosen, x):
        assert x_of(layout_of({"tried": tried, "chosen": chosen})) == x

    @pytest.mark.usefixtures("draws")
    def test_a_search_has_the_draw_that_it_chose_although_the_record_states_another_one(self):
        expected = layout_of({"tried": 3, "chosen": 2}, objects={"oven": {"x": 1.0}}, q_home={"left": [0.1, 0.2]})
        assert x_of(expected) == 3.0

    def test_the_draws_after_the_chosen_one_are_not_made(self, draws):
        x_of(layout_of({"tried": 4, "chosen": 1}))
        assert len(draws) == 2

    @pytest.mark.parametrize(
        ("report", "stated", "x", "n_draws"),
        [
            ({"tried": 3, "chosen": None}, 2.0, 2.0, 3),
            ({"tried": 3, "chosen": None}, 1.0, 1.0, 3),
            ({"tried": 3, "chosen": None}, 4.0, 3.0, 3),  # none of those that were tried: the last one
            ({"tried": 1, "chosen": None}, 1.0, 1.0, 1),
            ({"tried": 4, "chosen": None}, 4.0, 4.0, 4),
            (None, 4.0, 4.0, 4),
            ("lost", 2.0, 2.0, 4),
        ],
    )
    def test_a_search_without_a_choice_has_the_draw_that_the_record_states(self, report, stated, x, n_draws, draws):
        expected = layout_of(report, objects={"oven": {"x": stated}}, q_home={"left": [0.1, 0.2]})
        assert x_of(expected) == x
        assert len(draws) == n_draws

    @pytest.mark.usefixtures("draws")
    def test_that_draw_is_found_by_its_values_on_any_machine_and_whatever_the_instances(self):
        layout = {"objects": {"oven": {"x": 2.0 + 1e-9}}, "q_home": {"left": [0.1, 0.2]}, "instances": {"oven": "7"}}
        assert x_of(layout_of({"tried": 3, "chosen": None}, **layout)) == 2.0

    @pytest.mark.usefixtures("draws")
    def test_a_search_must_be_reported(self):
        assert layout_of({"tried": 3, "chosen": 0}).statement()["preplan"] is RECORDED
        assert "preplan" not in layout_of(skills=(OPEN,)).statement()

    @pytest.mark.usefixtures("draws")
    def test_no_further_object_may_be_stated(self):
        layout = {"objects": {"oven": {"x": 1.0}, "tap": {}}, "q_home": {"left": [0.1, 0.2]}}
        assert differences({"layout": layout_of(skills=(OPEN,)).statement()}, layout=layout) == [
            "layout.objects.tap is {} in the record, expected nothing by the configuration."
        ]


NO_SEARCH = "layout.preplan is {}, but the chain begins with a search for a layout."
NOT_TRIED = "layout.preplan.tried is {}, expected 1 to 4 by the configuration."
NOT_CHOSEN = "layout.preplan.chosen is {}, expected one of the 3 layouts that were tried."
BEGAN = "layout.preplan.chosen is None, but skills began."
REFUSED = {"candidate": 0, "skill": 1, "name": "open", "code": "path_infeasible", "message": "no"}


class TestReportOfASearch:
    @pytest.mark.parametrize(
        ("report", "said"),
        [
            ({"tried": 4, "chosen": 3}, []),
            ({"tried": 1, "chosen": 0}, []),
            ({"tried": 4, "chosen": None}, []),
            (None, [NO_SEARCH.format("None")]),
            ("lost", [NO_SEARCH.format("'lost'")]),
            ({"chosen": 0}, [NOT_TRIED.format("None")]),
            ({"tried": 0, "chosen": 0}, [NOT_TRIED.format("0")]),
            ({"tried": 5, "chosen": 0}, [NOT_TRIED.format("5")]),
            ({"tried": "4", "chosen": 0}, [NOT_TRIED.format("'4'")]),
            ({"tried": 3, "chosen": 3}, [NOT_CHOSEN.format("3")]),
            ({"tried": 3, "chosen": -1}, [NOT_CHOSEN.format("-1")]),
            ({"tried": 3, "chosen": "2"}, [NOT_CHOSEN.format("'2'")]),
        ],
    )
    def test_one_that_cannot_be_is_named(self, report, said):
        assert list(layout_of(report).problems()) == said

    def test_skills_begin_only_after_a_choice(self):
        assert list(layout_of({"tried": 4, "chosen": None}, began=True).problems()) == [BEGAN]
        assert list(layout_of({"tried": 4, "chosen": 3}, began=True).problems()) == []

    @pytest.mark.parametrize("skills", [(), (OPEN,), (OPEN, SEARCH)])
    def test_a_chain_that_does_not_begin_with_a_search_needs_none(self, skills):
        assert list(layout_of(skills=skills).problems()) == []

    def test_a_success_needs_a_choice_too(self):
        expected = layout_of({"tried": 4, "chosen": None})
        expected.record.success, expected.record.code = True, None
        assert list(expected.problems()) == [BEGAN]

    @pytest.mark.usefixtures("draws")
    def test_refused_layouts_must_fit_the_chain_and_their_counts(self):
        counts = {"1 open: path_infeasible": 1}

        def said(chosen: int, refused: dict[str, Any], counts: dict[str, int]) -> list[str]:
            report = {"tried": 2, "chosen": chosen, "failures": [refused], "counts": counts}
            return list(layout_of(report).problems())

        assert said(1, REFUSED, counts) == []
        assert said(1, REFUSED, {}) == [
            "layout.preplan.counts is {} in the record, expected {'1 open: path_infeasible': 1} by its failures."
        ]
        assert said(0, REFUSED, counts) == [
            "layout.preplan.failures[0].candidate is 0 in the record, expected another layout that was tried."
        ]
        assert said(1, {**REFUSED, "name": "close", "code": "bored"}, {"1 close: bored": 1}) == [
            "layout.preplan.failures[0] is of skill 1 (close), which the chain does not have.",
            "layout.preplan.failures[0].code is 'bored' in the record, expected one of "
            + ", ".join(FAILURE_CODES)
            + ".",
        ]

    @pytest.mark.usefixtures("draws")
    def test_refused_layouts_are_counted_by_skill_and_code(self):
        rows = [(0, -1, "layout"), (1, 0, "artpreplan"), (2, -1, "layout")]
        refused = [{**REFUSED, "candidate": place, "skill": skill, "name": name} for place, skill, name in rows]
        counts = {"layout: path_infeasible": 2, "0 artpreplan: path_infeasible": 1}
        report = {"tried": 4, "chosen": 3, "failures": refused, "counts": counts}
        assert list(layout_of(report).problems()) == []
        assert list(layout_of({**report, "failures": [refused[0], refused[1], refused[0]]}).problems()) == [
            "layout.preplan.failures[2].candidate is 0 in the record, expected another layout that was tried."
        ]


def make_asset(*, little: str = "", **kinds: str) -> Any:
    """Returns an object with a part and a joint for each name; joint `NAME_joint` is of the given kind.

    The part `little` moves by 5 mm.
    """
    joints = {
        f"{part}_joint": SimpleNamespace(name=f"{part}_joint", kind=kind, parent="root", child=part, moves=True)
        for part, kind in kinds.items()
    }
    parts = {
        part: SimpleNamespace(
            joint=f"{part}_joint",
            openness=SimpleNamespace(closed=0.25 * n, open=0.25 * n + 0.005 if part == little else 1.0 + n),
            moves_little=part == little,
        )
        for n, part in enumerate(kinds)
    }
    model = SimpleNamespace(root="root", joints=joints)
    return SimpleNamespace(model=model, articulation=SimpleNamespace(part=parts.__getitem__, parts=parts))


KITCHEN = {"oven": make_asset(door="revolute", knob="continuous"), "cabinet": make_asset(drawer="prismatic")}
KITCHEN["bell"] = make_asset(little="button", cover="prismatic", button="prismatic")
KITCHEN["can"] = SimpleNamespace(
    free=True,
    bounds_obj=np.array([[-0.03, -0.03, 0.0], [0.03, 0.03, 0.1]]),
    outline_obj=np.array([[0.0, 0.0, 0.05, 0.03]]),
    **vars(make_asset(lid="revolute")),
)
KNOB = GoalCfg(object="oven", part="knob", kind=GoalKind.moved_fraction, value=0.5)
KNOB_ENTRY = {"object": "oven", "part": "knob", "joint_index": 1, "kind": "moved_fraction", "value": 0.5}
KNOB_ENTRY |= {"s_closed": 0.25, "s_open": 2.0}
DRAWER = {"object": "cabinet", "joint_index": 0}
LIFTED = GoalCfg(object="can", kind=GoalKind.lifted, value=0.1)


def goal_of(
    *skills: dict[str, Any],
    goal: tuple[GoalCfg, ...] = (KNOB,),
    chain: tuple[str, ...] = ("open",),
    n_actions: int = 50,
    stated: dict[str, Any] | None = None,
) -> ExpectedGoal:
    cfg: Any = SimpleNamespace(
        task=SimpleNamespace(goal=list(goal), settle_s=0.5),
        world=SimpleNamespace(record_hz=30.0),
        skills=[SimpleNamespace(name=name) for name in chain],
    )
    entries = [{"name": name} for name in chain] if skills or goal else []
    record: Any = SimpleNamespace(n_actions=n_actions, skills=entries, goal=stated)
    return ExpectedGoal(cfg, KITCHEN, record, skills)


class TestGoal:
    """A kitchen with an oven (a door and a knob), a cabinet (a drawer), a bell (a button) and a can."""

    def test_a_demonstration_states_its_conditions_and_nothing_of_a_policy(self):
        assert goal_of().statement(goes_on=False) == {"conditions": [KNOB_ENTRY]}

    def test_an_episode_that_goes_on_after_a_broken_rule_states_how_its_goal_is_judged(self):
        found = goal_of(DRAWER, chain=("artpreplan", "hold", "open", "rotate")).statement(goes_on=True)
        assert found == {
            "conditions": [KNOB_ENTRY],
            "reached": RECORDED,
            "reached_frame": RECORDED,
            "hold_frames": 15,
            "chain_length": 4,
            "chain_motions": 2,  # neither the search for a layout nor the hold leads a part
            "max_changes": {"oven.1": 0.02, "cabinet.0": 0.005},
        }

    def test_no_further_joint_may_be_stated(self):
        goal, settle, stated = goal_of().statement(goes_on=True), goal_of().settle(), {"oven.1": 0.02, "oven.0": 9.0}
        said = "max_changes.oven.0 is 9.0 in the record, expected nothing by the configuration."
        forged = {**goal, "reached": True, "reached_frame": 9, "max_changes": stated}
        assert differences({"goal": goal}, goal=forged) == [f"goal.{said}"]
        assert differences({"settle": settle}, settle={**settle, "max_changes": stated}) == [f"settle.{said}"]

    def test_no_joint_must_rest_before_a_skill_has_begun(self):
        assert goal_of(chain=()).statement(goes_on=True)["max_changes"] == {}

    def test_each_condition_of_the_task_has_an_entry_in_its_order(self):
        door = GoalCfg(object="oven", part="door", kind=GoalKind.within_closed, value=0.1)
        entry = {"object": "oven", "part": "door", "joint_index": 0, "kind": "within_closed", "value": 0.1}
        entry |= {"s_closed": 0.0, "s_open": 1.0}
        assert goal_of(goal=(door, KNOB)).statement(goes_on=False)["conditions"] == [entry, KNOB_ENTRY]

    def test_a_condition_on_a_free_object_is_stated_without_a_joint(self):
        found = goal_of(goal=(LIFTED,)).statement(goes_on=False)["conditions"]
        assert found == [{"object": "can", "kind": "lifted", "value": 0.1}]

    @pytest.mark.parametrize("key", ["outline", "lid"])
    def test_a_condition_has_the_outline_of_its_object_where_the_record_has_outlines(self, key):
        on_table = GoalCfg(object="can", kind=GoalKind.on)
        made = goal_of(goal=(on_table,), stated={"conditions": [{key: [[0.0, 0.0, 0.1, 0.02]]}]})
        (found,) = made.statement(goes_on=False)["conditions"]
        assert found.get("outline") == ([[0.0, 0.0, 0.05, 0.03]] if key == "outline" else None)

    @pytest.mark.parametrize(
        ("skills", "goal", "max_change", "max_changes"),
        [
            ([], (KNOB,), 0.02, {"oven.1": 0.02}),
            ([], (LIFTED,), 0.005, {"can.root": 0.005}),
            ([{"object": "can", "joint_index": None}], (), 0.005, {"can.root": 0.005}),
            ([{"object": "can", "joint_index": 0}], (LIFTED,), 0.005, {"can.0": 0.02, "can.root": 0.005}),
            ([DRAWER], (KNOB,), 0.005, {"cabinet.0": 0.005, "oven.1": 0.02}),
            ([{"object": "bell", "joint_index": 0}], (), 0.005, {"bell.0": 0.005}),
            ([], (), None, {}),
        ],
    )
    def test_all_that_is_acted_on_must_rest_and_the_least_change_is_stated(self, skills, goal, max_change, max_changes):
        found = goal_of(*skills, goal=goal).settle()
        assert (found["max_change"], list(found["max_changes"].items())) == (max_change, list(max_changes.items()))

    def test_a_part_that_moves_little_rests_within_a_tenth_of_its_range(self):
        pressed = GoalCfg(object="bell", part="button", kind=GoalKind.moved_fraction, value=0.5)
        assert goal_of(goal=(pressed,)).settle()["max_changes"] == {"bell.1": pytest.approx(0.0005)}

    @pytest.mark.parametrize(("n_actions", "start"), [(50, 35), (14, 0), (15, 0), (16, 1)])
    def test_a_success_has_settled_in_its_last_frames(self, n_actions, start):
        found = goal_of(n_actions=n_actions).settle()
        assert (found["frame_start"], found["frame_end"]) == (start, n_actions)
        assert found.keys() == {"frame_start", "frame_end", "max_change", "max_changes"}


APPLE = {"apple": load_instance(ObjectCfg(name="apple", category="apple", instance="0"))}
STATED = [
    ObjectCondition(ConditionKind.on, "apple", 0.01).describe(APPLE),
    ObjectCondition(ConditionKind.lifted, "apple", 0.02).describe(APPLE),
]
OLDER = [{key: value for key, value in condition.items() if key != "outline"} for condition in STATED]


class TestOutlines:
    """A record states the outlines of its objects; an older one states none."""

    @staticmethod
    def said(goal: Any, *, of_skill: Any) -> list[str]:
        """What a check finds in a record whose goal and whose skill state these conditions."""
        stated = {"skills": [{"name": "place", "conditions": of_skill}], "goal": {"conditions": goal}}
        expected = as_recorded(STATED, EpisodeRecord(0, 0, True, **stated))
        return differences({"goal": {"conditions": expected}}, **stated)

    @pytest.mark.parametrize("conditions", [STATED, OLDER], ids=["with outlines", "older"])
    def test_honest_conditions_have_no_problem(self, conditions):
        assert "outline" in STATED[0]
        assert self.said(conditions, of_skill=conditions) == []

    def test_a_forged_outline_is_found(self):
        forged = deepcopy(STATED)
        forged[0]["outline"][0][2] += 1e-4
        (problem,) = self.said(forged, of_skill=STATED)
        assert problem.startswith("goal.conditions[0].outline[0][2] is 0.")

    @pytest.mark.parametrize("outline", [[[0.0, 0.0, 0.03, 0.001]], [], None, "none"])
    def test_an_outline_of_another_length_or_type_is_found(self, outline):
        (problem,) = self.said([{**STATED[0], "outline": outline}, STATED[1]], of_skill=STATED)
        assert problem.startswith("goal.conditions[0].outline is ")

    def test_an_outline_that_only_one_condition_lacks_is_found(self):
        (problem,) = self.said(OLDER, of_skill=STATED)
        assert problem.startswith("goal.conditions[0].outline is nothing in the record, expected ")

    @pytest.mark.parametrize("of_skill", [None, "none", 3, ["none"], {"outline": []}])
    def test_conditions_that_are_no_list_of_maps_have_no_outline(self, of_skill):
        assert self.said(OLDER, of_skill=of_skill) == []

    def test_an_entry_of_skills_that_is_no_map_has_no_conditions(self):
        record: Any = EpisodeRecord(0, 0, True, skills=["place"], goal={"conditions": OLDER})  # type: ignore[list-item]
        assert as_recorded(STATED[:1], record) == OLDER[:1]


def randomized(rules: Any = (), views: Any = (), *, recorded: Any = None) -> Any:
    """Returns a configuration with rules (view, attribute) and further views (name, body)."""
    randomization = SimpleNamespace(
        rules=[SimpleNamespace(view=view, attribute=attribute) for view, attribute in rules],
        views=[SimpleNamespace(name=name, body=body) for name, body in views],
        recorded=recorded,
    )
    return SimpleNamespace(randomization=randomization)


class TestRandomizedValues:
    """Values that the rules of a configuration change, so that the layout does not decide them."""

    @pytest.mark.parametrize("recorded", [None, {}, {"views": [{}], "rules": [{}]}, "DATA:3"])
    def test_without_rules_nothing_is_changed(self, recorded):
        assert randomizes(randomized(recorded=recorded), "oven", *POSES) is False

    @pytest.mark.parametrize(
        ("view", "attribute", "is_changed"),
        [
            ("oven", "position", True),
            ("oven", "orientation", True),
            ("oven", "mass", False),
            ("panda", "position", False),
            ("doors", "position", True),  # a view of the oven by another name
            ("arms", "position", False),  # a view of the robot by another name
        ],
    )
    @pytest.mark.parametrize("is_repeated", [False, True])
    def test_a_rule_changes_an_attribute_of_the_body_of_its_view(self, view, attribute, is_changed, is_repeated):
        views = (("doors", "oven"), ("arms", "panda"))
        if is_repeated:  # the configuration repeats the values of a record, which has the rules
            bodies = [{"name": name, "body": body} for name, body in views]
            cfg = randomized(recorded={"views": bodies, "rules": [{"view": view, "attribute": attribute}]})
        else:
            cfg = randomized([(view, attribute)], views)
        assert randomizes(cfg, "oven", *POSES) is is_changed

    def test_each_rule_and_each_attribute_counts(self):
        cfg = randomized([("oven", "mass"), ("oven", "joint_positions")])
        assert randomizes(cfg, "oven", "joint_positions")
        assert randomizes(cfg, "oven", "position", "mass")
        assert not randomizes(cfg, "oven", "position")
