"""Chooses the graphics card that a process draws on, where a machine has several."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.native_output import WORKER_VARIABLE

CARD_VARIABLE = "UNLATCH_CARD"
"""The environment variable with the number of the card that every process draws on."""
_BACKENDS = ("Vulkan", "Metal", "D3D12")
_RANKS = {"DiscreteGPU": 0, "IntegratedGPU": 1, "CPU": 3}
"""Kinds of cards, the fastest first; the rank of others is 2."""


def find_adapter() -> Any:
    """Returns the adapter of wgpu that this process draws on; None if there is none.

    Raises:
        ConfigError: `UNLATCH_CARD` is not the number of a card.
        RuntimeError: wgpu finds no adapter.
    """
    import wgpu

    card, worker = os.environ.get(CARD_VARIABLE), os.environ.get(WORKER_VARIABLE)
    if card is not None:
        return choose_card(wgpu.gpu.enumerate_adapters_sync(), card)
    preferred = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    if worker is not None and is_usable(preferred):
        return share_cards(wgpu.gpu.enumerate_adapters_sync(), preferred, int(worker))
    return preferred if is_usable(preferred) else None


def is_usable(adapter: Any) -> bool:
    """Returns whether pygfx can draw with an adapter."""
    return adapter is not None and adapter.info["backend_type"] in _BACKENDS


def choose_card(adapters: Sequence[Any], number: str) -> Any:
    """Returns the adapter of a card's number: discrete cards come first, software last, each in the driver's order.

    Raises:
        ConfigError: There is no such card.
    """
    cards = sorted(filter(is_usable, adapters), key=lambda card: _RANKS.get(card.info["adapter_type"], 2))
    if number.isdecimal() and int(number) < len(cards):
        return cards[int(number)]
    known = ", ".join(f"{index} ({card.info['device']})" for index, card in enumerate(cards))
    raise ConfigError(
        f"{CARD_VARIABLE}='{number}' is not the number of a graphics card. Known: {known or 'none'}. Name one of them, "
        f"or unset {CARD_VARIABLE}.",
        key=CARD_VARIABLE,
    )


def share_cards(adapters: Sequence[Any], preferred: Any, worker: int) -> Any:
    """Returns the adapter of a worker: workers take turns on all cards of the preferred model.

    Cards of another model are left out, since their images differ by a few levels.
    """
    alike = [card for card in filter(is_usable, adapters) if _model_of(card) == _model_of(preferred)]
    return alike[worker % len(alike)] if len(alike) > 1 else preferred


def _model_of(card: Any) -> tuple[str, ...]:
    return tuple(card.info[key] for key in ("device", "adapter_type", "backend_type"))
