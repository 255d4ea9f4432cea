"""Pressure-field (hydroelastic) contact: geoms that carry a field of pressure, and where they meet.

A *compliant* geom has tetrahedra over which a pressure grows linearly, from zero on its surface to
its hydroelastic modulus on its medial axis. A *rigid* geom has a surface of triangles, or is a
half-space. Two geoms touch where their pressures are equal. That surface is made of convex
polygons, and every polygon is a contact of its own: a point, a normal, a stiffness, and a signed
distance whose product is the force on it. Laws of contact and solvers know nothing of it
(docs/equations.md, ‘Pressure fields’).

After Elandt et al. 2019 and Masterjohn et al. 2022, with three changes: forces act in the centre of
pressure of a polygon instead of its centroid, polygons seen from their back fade instead of being
cut off, and boxes of what pressure can reach make the search shorter.
"""
