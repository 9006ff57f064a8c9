"""Evaluation of many files on several machines with Dask.

The client splits files into partitions.  A worker reads a partition, computes the results as a single machine does, and
writes its part of the result into a folder next to the output.  The client joins the parts in row order.  Only
the path of that folder and the number of a partition pass through the scheduler; all other data is in the folder.
"""
