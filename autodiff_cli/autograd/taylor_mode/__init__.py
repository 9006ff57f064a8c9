"""Taylor mode: derivatives of any order in one variable, from one evaluation with truncated Taylor series.

A ``Series`` is a tensor: its value is the coefficient of order 0, and functions of it are series.  No function has a
recurrence of its own.  Its VJP rule gives the local derivative w = df/du, as rules are declared over functions that take
series too; the chain rule gives k*v[k] = sum of j*u[j]*w[k-j] for j from 1 to k (A. Griewank and A. Walther, Evaluating
Derivatives, 2nd edition, SIAM 2008, chapter 13).  That needs w to order k - 1 only.  So all series of an evaluation grow
together, one order at a time, and w may be made of v itself, as exp(u) is, or in turn need v, as sin(u) and cos(u) need
each other: a series that is requested twice is made once, which closes the cycle.  The derivative of a local derivative
is needed to one order less, so a chain that does not close, such as lgamma and its polygammas, ends.

The values of ``series`` in a declaration:

- ``chain``: element by element, by the VJP rules as above;
- ``power``: the same, and a whole power of a polynomial is a polynomial;
- ``total``: the same, and where the result is one number the sum over the elements of the arguments;
- ``linear``: in all arguments that have a VJP rule; the operation applies to the coefficients;
- ``product``, ``bilinear``: of two arguments; the products that belong to one order are added up;
- ``quotient``: the first of two arguments divided by the second, or 1 divided by the only one;
- ``fixed``: constant around any point, as comparisons and steps are;
- a function: the operation, written with others that have a rule.
"""

from autodiff_cli.autograd.taylor_mode.expansion import Expansion as Expansion
from autodiff_cli.autograd.taylor_mode.series import Series as Series
