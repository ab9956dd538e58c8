"""URDF files: reading them as untrusted input, and the model of links and joints in memory."""
