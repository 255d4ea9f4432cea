"""Studies of Asperity: the papers' experiments, verification, and benchmarks beside other engines.

They are not part of the package. From the root of the repository, ``python -m studies`` runs them.
"""
