"""Arbitrary-precision arithmetic: an independent engine that verifies the float64 engine.

``arithmetic`` defines the numbers, ``elementary`` and ``special`` define the scalar functions, and ``array_functions`` defines
the array functions.  ``tensor`` defines tensors of these numbers, which an expression evaluates like any other tensor.
``differences`` computes derivatives from function values alone, and ``reference`` applies it to an evaluation.  mpmath is
imported when the first number is created.
"""
