"""What every optional mechanism of an integrator is good for: verification with and without it."""
