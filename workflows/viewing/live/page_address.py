"""Where a page of this computer is served, unless a command says otherwise."""

DEFAULT_PORT = 8090
"""Port of the page if none is given."""
LOCAL_HOST = "127.0.0.1"
"""Address that only this computer reaches."""
MAX_PORT = 65535
