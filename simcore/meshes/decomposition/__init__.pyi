from .collision_approximation import Colliders, CollisionApproximation, make_colliders
from .convex_decomposition import ConvexDecompositionCfg, Decomposition, decompose

__all__ = [
    "Colliders",
    "CollisionApproximation",
    "ConvexDecompositionCfg",
    "Decomposition",
    "decompose",
    "make_colliders",
]
