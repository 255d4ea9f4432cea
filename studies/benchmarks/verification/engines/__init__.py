"""Engines that simulate the worlds of cases; each is imported only where it takes part."""
