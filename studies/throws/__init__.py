"""Real throws of a cube, and how well engines foretell them."""
