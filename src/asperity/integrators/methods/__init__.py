"""Methods: maps from one state to the next."""
