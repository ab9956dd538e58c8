from .buffer import Buffer as Buffer
from .module import Module as Module
from .module import Rendering as Rendering
