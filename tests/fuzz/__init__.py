"""A fuzzer: command lines by the thousand, run in process, and what must hold of each of them."""
