"""Physical properties of bodies that Bullet lacks or treats inconsistently."""
