"""Derivatives by parameters of models and contacts."""
