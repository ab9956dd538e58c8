"""Contract checks for authors of plugins; a broken contract raises an `AssertionError` that names it."""
