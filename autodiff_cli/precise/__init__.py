"""Arithmetic with any number of digits: an engine of its own, which the float64 engine is judged by.

``arithmetic`` has the numbers, ``elementary`` and ``special`` the functions of one number, ``array_functions`` those of
arrays.  ``tensor`` makes tensors of them, which go through an expression as any tensor does.  ``differences`` takes
derivatives from values alone, and ``reference`` does that for an evaluation.  The first number imports mpmath.
"""
