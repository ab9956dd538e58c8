# examples/unlatch_plugin/tests/test_contract.py
from unlatch.testing import check_object, check_skill, check_task


def test_the_skill_keeps_its_contract() -> None:
    report = check_skill("press", "press_toaster", episodes=2)
    assert report.successes == 2


def test_the_stapler_keeps_the_contract_of_a_generator() -> None:
    check_object("stapler", seeds=10)


def test_the_task_keeps_the_contract_of_a_task() -> None:
    check_task("press_stapler")
