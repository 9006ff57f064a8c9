"""Taylor mode: derivatives of any order in one variable, from one evaluation with truncated Taylor series.

A ``Series`` is a tensor: its value is the coefficient of order 0, and functions of a series are series.  Functions do not
have recurrences of their own.  For v = f(u), the VJP rule of f gives the local derivative w = df/du as a series, because VJP
rules call functions that accept series.  The chain rule then gives k*v[k] = sum of j*u[j]*w[k-j] for j from 1 to k (A. Griewank
and A. Walther, Evaluating Derivatives, 2nd edition, SIAM 2008, chapter 13).

This sum needs the coefficients of w only to order k - 1.  Therefore all series of an evaluation are computed together, one order
at a time.  The local derivative w may then depend on v, as for exp(u), or v and w may depend on each other, as sin(u) and cos(u)
do.  Such cycles end, because a series that is requested again is not created again.  Some chains of derivatives do not return
to an earlier function, such as lgamma and the polygamma functions.  Such a chain is finite, because the derivative of a local
derivative is needed only to one order less.

The values of ``series`` in a declaration:

- ``chain``: an elementwise function; the chain rule above is used;
- ``power``: like ``chain``, but a whole power of a polynomial is treated as a polynomial;
- ``total``: like ``chain``, but for a scalar result the sum includes all elements of the arguments;
- ``linear``: linear in all arguments that have a VJP rule; the operation is applied to the coefficients;
- ``product``, ``bilinear``: a product of two arguments; products of coefficients whose orders have the same sum are added;
- ``quotient``: the first argument divided by the second, or 1 divided by the only argument;
- ``fixed``: constant around any point, as comparisons and step functions are;
- a function: the operation, composed of operations that have a rule.
"""

from autodiff_cli.autograd.taylor_mode.expansion import Expansion as Expansion
from autodiff_cli.autograd.taylor_mode.recurrences import Series as Series
