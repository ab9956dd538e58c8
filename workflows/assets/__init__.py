"""Objects and robots as files: annotated, converted, generated, and described from a URDF."""
