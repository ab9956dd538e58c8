"""Choices of a skill that carries: `plan` takes the first that has a plan, `plan_next` goes on with the others."""

from types import SimpleNamespace

from unlatch.skills.carrying import CarryingSkill
from unlatch.skills.pick import Pick


def made_of(monkeypatch, found):
    """Returns a skill, without a scene, whose choices have a plan where `found` says so, and these plans."""
    plans = [SimpleNamespace(found=each, diagnosis=None) for each in found]
    monkeypatch.setattr(Pick, "load_checker", lambda self: None)
    monkeypatch.setattr(Pick, "plan_options", lambda self, rng: iter(plans))
    monkeypatch.setattr(Pick, "make_commands", lambda self, plan: [plan])
    monkeypatch.setattr(Pick, "_note_refusal", lambda self, plan: setattr(self, "refused", plan))
    return Pick.__new__(Pick), plans


def test_the_next_plan_is_of_the_next_choice_that_has_one(monkeypatch):
    skill, plans = made_of(monkeypatch, [False, True, False, True])
    assert CarryingSkill.plan(skill, None)
    assert skill.commands == [plans[1]]
    assert skill.plan_next()
    assert skill.commands == [plans[3]]


def test_without_a_further_choice_there_is_no_next_plan(monkeypatch):
    skill, plans = made_of(monkeypatch, [True, False])
    assert CarryingSkill.plan(skill, None)
    assert not skill.plan_next()
    assert skill.commands == []
    assert skill.refused is plans[1]
