"""Poses of links: from MuJoCo's state, from the variables, and back."""
