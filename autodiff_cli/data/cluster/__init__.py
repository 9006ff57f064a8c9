"""``--engine dask``: the rows of many files on many machines.

The client cuts files into partitions.  A worker reads one of them by itself, computes it as one machine would, and writes
its part of the result beside the output; the client puts the parts together in the order of the rows.  What goes through
the scheduler is the name of a folder and a number; everything else is in that folder.
"""
