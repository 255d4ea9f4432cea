"""Newton's method on a step's energy: directions, line search, anticipation."""
