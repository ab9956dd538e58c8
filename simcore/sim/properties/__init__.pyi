from .contact_material import ContactMaterials as ContactMaterials
from .contact_offsets import ContactOffset as ContactOffset
from .link_masses import LinkMasses as LinkMasses
from .tendons import TendonCfg as TendonCfg
from .tendons import Tendons as Tendons
