"""Arithmetic with as many digits as one likes: an engine of its own, by which the float64 one is judged.

``number`` has the numbers, ``functions`` (``elementary``, ``special``) what functions do to one of them, ``shaped`` what
functions do to arrays, ``tensor`` makes tensors of them, which go through an expression as any tensor does, and
``differences`` takes derivatives from values alone.  mpmath is imported by the first number.
"""
