"""Evaluation of files in parts, by the threads of this process or by a Dask cluster.

The client splits files into partitions.  A worker reads a partition, computes the results, and writes its part of the output:
a file of the output folder, or a file in a hidden folder that the client joins with the others in row order.  Only the path
of the folder of the job, the name of the run and the number of a partition are sent to a worker; all other data is in the
folder, which may be in an object store.
"""
