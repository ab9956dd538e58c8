"""A misspelt class is refused; one that only another episode may have is not."""

from types import SimpleNamespace

import pytest

from unlatch.objects.validation import check_classes
from unlatch.simcore.errors import ConfigError

SCENE = SimpleNamespace(seen_bodies=lambda: [SimpleNamespace(semantic_class=name) for name in ("kiosk", "table")])


@pytest.mark.parametrize(("name", "meant"), [("tabel", "table"), ("microwav", "microwave"), ("kioskk", "kiosk")])
def test_a_misspelt_class_is_refused(name, meant):
    with pytest.raises(ConfigError, match=f"leave_out has '{name}'.*'{meant}'.*those here: kiosk, table"):
        check_classes(["table", name], SCENE, key="leave_out")


@pytest.mark.parametrize("name", ["robot", "kiosk", "drawer", "distractor", "my_table", "letterbox"])
def test_known_and_possible_classes_are_accepted(name):
    check_classes([name], SCENE, key="leave_out")
