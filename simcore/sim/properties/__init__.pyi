from .contact_material import ContactMaterials
from .contact_offsets import ContactOffset
from .link_masses import LinkMasses
from .tendons import TendonCfg, Tendons

__all__ = [
    "ContactMaterials",
    "ContactOffset",
    "LinkMasses",
    "TendonCfg",
    "Tendons",
]
