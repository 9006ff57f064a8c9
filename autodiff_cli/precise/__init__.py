"""Arbitrary-precision arithmetic: an independent engine that verifies the float64 engine.

``arithmetic`` defines the numbers, ``elementary``, ``special`` and ``bessel`` define the scalar functions, and ``array_functions``
defines the array functions.  ``evaluator`` defines tensors of these numbers, and evaluates expressions of them.
``difference_quotients`` computes derivatives from function values alone, ``reference`` applies it to an evaluation, and
``right_digits`` counts the correct digits of an answer.  mpmath is imported when the first number is created.
"""
