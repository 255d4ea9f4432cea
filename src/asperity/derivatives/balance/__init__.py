"""Derivatives of one step's momentum balance by state and inputs."""
