"""The backward pass: the order of the nodes, hooks, and accumulation into ``.grad``."""
