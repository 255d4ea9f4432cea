"""Convex potentials of contacts and scalar constraints, one file per law.

A law is written once, as a few functions of one contact or row. The loops over contacts are in
`asperity.convex.potentials.contact_driver`, those over rows in `asperity.convex.potentials.rows`.
"""
