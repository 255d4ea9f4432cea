"""Engines as verification and the study of throws drive them, one file each.

Every file has a class whose objects simulate a `World` and return a `Record`, as
`studies.benchmarks.verification.case.Simulate` says. An engine that is not installed cannot be
imported; ``python -m studies peers`` makes an environment that has all of them.
"""
