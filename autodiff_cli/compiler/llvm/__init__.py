"""The compiled engine: a program as one loop over vectors of rows, in machine code made by LLVM."""
