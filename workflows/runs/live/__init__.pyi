from .live_state import LiveState as LiveState
from .live_state import live_files as live_files
from .live_state import read_live_state as read_live_state
from .publisher import StatePublisher as StatePublisher
