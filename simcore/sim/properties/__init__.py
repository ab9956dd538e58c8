"""Physical properties of bodies that Bullet lacks or handles inconsistently."""
