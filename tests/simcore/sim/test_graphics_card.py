"""Which graphics card a process draws on, where a machine has several."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.process import WORKER_VARIABLE
from unlatch.simcore.sim.renderers import pygfx as graphics_card
from unlatch.simcore.sim.renderers.pygfx import CARD_VARIABLE, choose_card, share_cards


def make_adapter(device: str, adapter_type: str = "DiscreteGPU", backend: str = "Vulkan") -> SimpleNamespace:
    return SimpleNamespace(info={"device": device, "adapter_type": adapter_type, "backend_type": backend})


FIRST, SECOND, THIRD = (make_adapter("H100") for _ in range(3))
SMALL = make_adapter("T400")
SHARED = make_adapter("Iris", "IntegratedGPU")
SOFTWARE = make_adapter("llvmpipe", "CPU")
ADAPTERS = [SOFTWARE, SHARED, FIRST, make_adapter("H100", backend="OpenGL"), SMALL, SECOND, THIRD]


@pytest.mark.parametrize(
    ("number", "expected"), [("0", FIRST), ("1", SMALL), ("2", SECOND), ("4", SHARED), ("5", SOFTWARE)]
)
def test_numbers_count_discrete_cards_first_in_the_order_of_the_driver(number: str, expected: SimpleNamespace):
    assert choose_card(ADAPTERS, number) is expected


@pytest.mark.parametrize("number", ["6", "-1", "two", ""])
def test_a_number_that_is_no_card_names_those_that_are(number: str):
    with pytest.raises(ConfigError, match=f"UNLATCH_CARD='{number}' is not .* Known: 0 .H100., 1 .T400.,"):
        choose_card(ADAPTERS, number)


def test_workers_take_turns_on_the_cards_of_the_preferred_model():
    chosen = [share_cards(ADAPTERS, make_adapter("H100"), worker) for worker in range(7)]
    for worker, card in enumerate(chosen):
        assert card is (FIRST, SECOND, THIRD)[worker % 3]
    assert share_cards(ADAPTERS, SMALL, 3) is SMALL


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with several cards."""
    wgpu = pytest.importorskip("wgpu")
    fake = SimpleNamespace(
        enumerate_adapters_sync=lambda: ADAPTERS, request_adapter_sync=lambda power_preference: FIRST
    )
    monkeypatch.setattr(wgpu, "gpu", fake)
    for name in (CARD_VARIABLE, WORKER_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("card", "worker", "expected"),
    [(None, None, FIRST), (None, "4", SECOND), ("2", None, SECOND), ("5", "1", SOFTWARE)],
)
def test_the_variable_decides_then_the_worker_then_the_preference_of_wgpu(
    machine: pytest.MonkeyPatch, card: str | None, worker: str | None, expected: SimpleNamespace
):
    for name, value in ((CARD_VARIABLE, card), (WORKER_VARIABLE, worker)):
        if value is not None:
            machine.setenv(name, value)
    assert graphics_card.find_adapter() is expected


def test_the_device_is_that_of_the_chosen_card(monkeypatch: pytest.MonkeyPatch):
    gfx = pytest.importorskip("pygfx")
    from unlatch.simcore.sim.renderers import pygfx

    chosen: list[SimpleNamespace] = []
    monkeypatch.setattr(pygfx, "find_adapter", lambda: SECOND)
    monkeypatch.setattr(gfx.renderers.wgpu, "select_adapter", chosen.append)
    monkeypatch.setattr(gfx.renderers.wgpu, "get_shared", lambda: SimpleNamespace(device="its device"))
    assert pygfx.open_device.__wrapped__() == "its device"
    assert chosen == [SECOND]


def test_a_process_that_has_drawn_with_pygfx_stays_on_its_card(monkeypatch: pytest.MonkeyPatch):
    gfx = pytest.importorskip("pygfx")
    from unlatch.simcore.sim.renderers import pygfx

    def refuse(adapter: SimpleNamespace) -> None:
        raise RuntimeError("default device cannot be configured after it is created")

    monkeypatch.setattr(pygfx, "find_adapter", lambda: SECOND)
    monkeypatch.setattr(gfx.renderers.wgpu, "select_adapter", refuse)
    monkeypatch.setattr(gfx.renderers.wgpu, "get_shared", lambda: SimpleNamespace(device="its device"))
    monkeypatch.delenv(CARD_VARIABLE, raising=False)
    assert pygfx.open_device.__wrapped__() == "its device"

    monkeypatch.setenv(CARD_VARIABLE, "1")
    with pytest.raises(ConfigError, match="has drawn with pygfx before"):
        pygfx.open_device.__wrapped__()


def test_a_card_of_a_kind_without_a_name_comes_after_those_with_one():
    odd = make_adapter("odd", "unknown")
    assert choose_card((SOFTWARE, odd, FIRST), "1") is odd
