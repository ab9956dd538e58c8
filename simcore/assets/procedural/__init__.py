"""Small generators of articulated objects, one a file: same seed, same bytes.

A generator is a function `generate(seed, *, name) -> GeneratedObject`. To add one: a file here with a parameters
dataclass and `generate`, a line in the catalog of `simcore.assets.library`, an object YAML, a test file.
"""
