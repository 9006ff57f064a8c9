"""Rows of many files on many machines, with Dask.

The client cuts files into partitions.  A worker reads a partition, computes it as one machine would, and writes its part of
the result beside the output.  The client joins the parts in the order of the rows.  Only the name of a folder and a number
go through the scheduler; everything else is in that folder.
"""
