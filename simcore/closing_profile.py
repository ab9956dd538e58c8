"""The forces of a catch and of a gasket by how far a part is open.

Both depend on the opening alone, so they take back while a part closes what they cost while it opens. They are
continuous with continuous slope. The shapes are our own: no product standard states more than a peak force.

Hooks rub on their ledge and springs in their guides, so what draws a part closed does not make it faster than
`DRAWING_SPEED_M_S`, and brakes a part that is faster.
"""

from __future__ import annotations

import math

DRAWING_SPEED_M_S = 0.3
"""Speed of the handle up to which a catch or a gasket draws a part closed [m/s]: our own choice."""


def catch_force(opening: float, *, leave: float, enter: float, reach: float) -> float:
    """Returns the force of a catch; positive pulls the part closed.

    It is `leave` in the closed part and falls to 0 at `reach`. From `reach` to twice that, it pushes the part open,
    with at most `enter` in the middle: who closes the part must exceed it.

    Args:
        opening: How far the part is open; below 0, the force is that at 0, which the stop bears.
        leave: Force that must be exceeded to open the part.
        enter: Force that must be exceeded to close it again; 0: the catch pulls the part in.
        reach: Opening at which the force changes its direction, in the unit of `opening`.
    """
    if opening <= 0.0 or reach <= 0.0:
        return leave if opening <= 0.0 else 0.0
    share = opening / reach
    if share < 1.0:
        return leave * 0.5 * (1.0 + math.cos(math.pi * share))
    return -enter * math.sin(math.pi * (share - 1.0)) ** 2 if share < 2.0 else 0.0


def gasket_force(opening: float, *, pull: float, reach: float) -> float:
    """Returns the force of a gasket: `pull` in the closed part, 0 from `reach` on; positive pulls it closed."""
    return catch_force(opening, leave=pull, enter=0.0, reach=reach)
