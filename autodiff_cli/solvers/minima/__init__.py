"""``minimize``: local minima of a function, with bounds and constraints, and the proof of what was found.

``problem`` states the problem, ``newton_trust_region`` and ``constrained`` search for a minimum, and ``certificate`` proves its
kind from exact derivatives at the final point.
"""
