from .document import TaskDocument as TaskDocument
from .session import StudioSession as StudioSession
