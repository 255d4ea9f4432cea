"""Cases with a known outcome, and what every method makes of them: ``docs/verification.md``."""
