"""Comparisons of Asperity with other engines on identical scenes."""
