"""Which skills there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

SKILLS = Catalog(
    "skill",
    {
        "close": CatalogEntry("skills.close:Close", "push a door, lid or drawer closed with the fingers closed"),
        "open": CatalogEntry("skills.open:Open", "take a handle or an edge and open a door, lid or drawer"),
    },
    group="unlatch.skills",
)
