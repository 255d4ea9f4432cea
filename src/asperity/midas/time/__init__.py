"""Time steps: beginning, prediction, end, second order, impacts."""
