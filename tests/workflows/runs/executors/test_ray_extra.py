"""Ray is an extra."""

import re
import sys

import pytest

from unlatch.simcore.errors import PluginError
from unlatch.simcore.registry import install_command
from unlatch.workflows.runs.executors import EXECUTORS


def test_a_missing_ray_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PluginError, match=re.escape(install_command("ray"))):
        EXECUTORS.load("ray")()
