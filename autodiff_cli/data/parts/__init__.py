"""Evaluation of files in parts, by the threads of this process or by a Dask cluster.

The client splits files into partitions.  A worker reads a partition, computes the results, and returns the encoded rows, which the
client writes in row order, or writes them to a file of the output folder.
"""
