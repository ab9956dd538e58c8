"""Goals: joints at which every constraint holds."""
