"""Engines as verification, the study of throws, benchmarks and experiments drive them.

Engines that take part in verification have a class whose objects simulate a `World` and return a
`Record`, as `studies.benchmarks.verification.case.Simulate` says. An engine that is not installed
cannot be imported; ``python -m studies peers`` makes an environment that has all of them.
"""
