"""The contract of a generator of objects."""

from __future__ import annotations

import numpy as np

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.workflows.testing.contract_checks import require


def check_object(category: str, *, seeds: int = 3) -> None:
    """Checks the contract of a generator: each seed gives another object, and the same seed the same object.

    Args:
        category: Name of the generator.
        seeds: How many objects are made, from seed 0.

    Raises:
        AssertionError: A condition is broken; the message names it.
    """
    generate = GENERATORS.load(category)
    made = [generate(seed) for seed in range(seeds)]
    for seed, item in enumerate(made):
        again = generate(seed)
        require(
            again.parameters == item.parameters, f"'{category}' of seed {seed} gives another object the second time."
        )
        require(item.articulation.category == category, f"'{category}' is annotated as '{item.articulation.category}'.")
        low, high = item.bounds_obj
        require(bool(np.all(high > low)), f"'{category}' of seed {seed} has no size: {low} to {high}.")
        for part in item.articulation.parts.values():
            joint = item.model.joints[part.joint]
            for end in (part.openness.closed, part.openness.open):
                require(
                    joint.lower - 1e-9 <= end <= joint.upper + 1e-9,
                    f"'{category}' of seed {seed}: openness {end} of part '{part.name}' is outside the limits "
                    f"{joint.lower} to {joint.upper} of its joint.",
                )
    require(seeds < 2 or made[0].parameters != made[1].parameters, f"Seeds 0 and 1 of '{category}' are the same.")
