"""Small generators of articulated objects, one in each module. The same seed gives the same bytes.

Unless its `build` says otherwise, the root frame of an object is at the middle of the footprint, z up from the bottom,
x out of the front. The frame of a part is parallel to the root frame when the part is closed.

A generator is a callable `generate(seed, *, name) -> GeneratedObject`. To add one, write a module here:

1. a dataclass of parameters, its handle and knobs included; its fields are the record of the object;
2. a function that draws the parameters, with `draw_fields`;
3. a function that adds body, parts and textures to an `Assembly`;
4. `generate = ObjectGenerator(category, draw, build)`.

Add a line in `catalog.py`, an object YAML, and its hashes in the tests.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
