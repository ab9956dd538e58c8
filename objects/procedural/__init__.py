"""Small generators of articulated objects: tables of what varies, and few builders. The same seed gives the same bytes.

Unless its builder says otherwise, the root frame of an object is at the middle of the footprint, z up from the bottom,
x out of the front. The frame of a part is parallel to the root frame when the part is closed.

A generator is a callable `generate(seed, *, name) -> GeneratedObject`. To add one:

1. write the table of its values, its handle and knobs included, with the declarations of `parameters`;
2. build it: a box with doors with `BoxWithDoors` of `doors`, a chest with `build_chest` of `cabinets`, a thing to
   carry with `ItemGenerator`, anything else with an `ObjectGenerator` and a function that fills an `Assembly`;
3. add a line to `catalog`, and its hashes to the tests.
"""
