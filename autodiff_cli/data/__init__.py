"""Columns in, columns out, a Program in between.

A reader cuts its file into pieces, which is cheap and happens in order; a piece becomes a block of rows, then numbers, then
bytes, in any thread; a writer takes the bytes in order again.  Nothing is ever whole in memory.
"""
