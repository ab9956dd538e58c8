"""How a simulated world looks: colours, textures, light, scenery, and pictures of it."""
