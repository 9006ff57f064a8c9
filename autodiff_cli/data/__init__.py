"""Evaluation of expressions and their derivatives on files of rows.

A reader splits its file into pieces, in order and at little cost.  Any thread can convert a piece to a block of rows, compute
the results and encode them.  A writer writes the encoded results in order.  Only a few blocks are in memory at a time.
"""
