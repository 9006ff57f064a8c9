"""Names of functions.  Made by ``python grammar/compile_rules.py``.  Do not edit."""

from autodiff_cli.ops.decompose import matrix_power as matrix_power
from autodiff_cli.ops.rules.decompose import addbmm as addbmm, addmv as addmv, addr as addr, cdist as cdist, cholesky_inverse as cholesky_inverse, cholesky_solve as cholesky_solve, cond as cond, dist as dist, eigh as eigh, eigvalsh as eigvalsh, matrix_norm as matrix_norm, matrix_rank as matrix_rank, qr as qr, solve_triangular as solve_triangular, svd as svd, svdvals as svdvals, vecdot as vecdot
from autodiff_cli.ops.rules.matrices import cholesky as cholesky, det as det, matrix_exp as expm, inv as inv, inv as inverse, logdet as logdet, matrix_exp as matrix_exp, pinv as pinv, pinv as pinverse, slogdet as slogdet, solve as solve
