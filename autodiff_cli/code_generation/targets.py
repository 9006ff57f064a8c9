"""The target languages: their function names and their syntax of numbers, conditionals and powers.

A function that the target does not have is replaced by its declared decomposition (``evaluation.lowering``).
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field

from autodiff_cli.language.operators import COMPARISONS, LOGIC

NAMES = ("python", "numpy", "torch", "jax", "c", "javascript", "latex")
ALIASES = {"js": "javascript"}
SUFFIXES = {".py": "python", ".c": "c", ".js": "javascript", ".mjs": "javascript", ".tex": "latex"}
"""The default target for the suffix of an output file."""

_EVERYWHERE = frozenset(["add", "sub", "mul", "div", "neg", "pow", "where", *COMPARISONS])
"""The primitives that every target supports, as operators or as templates in the fields of ``Target``."""


@dataclass(frozen=True)
class Target:
    """A target language.

    Attributes:
        name: the name as an argument of ``export``.
        title: the name in messages.
        functions: the template of the call for each primitive, with ``{0}`` for the first argument.
        where: the template of a conditional, with ``{c}``, ``{x}`` and ``{y}``.
        infinity, nan, pi: the names of the constants.
        reserved: the names that variables must not have.
        helpers: the source of predefined helper functions, by name.
        imports: the import line for each prefix that the code may contain.
        operators: the additional primitives that are written with the operators of the expression language.
        logic: the operators for ``and``, ``or`` and ``not``; ``None`` if they are functions.
        floats: whether integers need a decimal point.
        booleans: the constants of false and true.
        boolean_as_number: the template of a boolean in the place of a number.
        number: the template of a constant argument of functions that take only tensors.
        helper: the prefix of generated helper functions, which variables must not have.
        power: the template of the call for a power ``{0}**{1}``, for a language without the operator ``**``.
        raises: whether arithmetic raises errors instead of returning inf or nan.
    """

    name: str
    title: str
    functions: Mapping[str, str]
    where: str
    infinity: str
    nan: str
    reserved: frozenset[str]
    pi: str = ""
    helpers: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    operators: tuple[str, ...] = ()
    logic: tuple[str, str, str] | None = None
    floats: bool = False
    booleans: tuple[str, str] = ("False", "True")
    boolean_as_number: str = "{0}"
    number: str = "{0}"
    helper: str = "_"
    power: str = ""
    raises: bool = False

    def has(self, name: str) -> bool:
        """Return whether the target supports a primitive."""
        return name in _EVERYWHERE or name in self.functions or name in self.operators or (self.logic is not None and name in LOGIC)


def _same(prefix: str, names: str) -> dict[str, str]:
    return {name: f"{prefix}{name}({{0}})" for name in names.split()}


def _renamed(prefix: str, arguments: str = "{0}", **names: str) -> dict[str, str]:
    return {ours: f"{prefix}{theirs}({arguments})" for ours, theirs in names.items()}


_TWO = "{0}, {1}"
_ELEMENTARY = "exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh floor ceil trunc"
_INVERSE = {name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}

PYTHON = Target(
    "python",
    "Python",
    _same("math.", f"{_ELEMENTARY} asin acos atan asinh acosh atanh exp2 cbrt erf erfc gamma isnan isinf isfinite")
    | _renamed("math.", _TWO, atan2="atan2", hypot="hypot", fmod="fmod")
    | {"abs": "abs({0})", "round": "round({0})", "maximum": "max({0}, {1})", "minimum": "min({0}, {1})"}
    | {"sign": "_sign({0})", "sigmoid": "_sigmoid({0})", "tanh_slope": "_tanh_slope({0})"},
    raises=True,
    where="{x} if {c} else {y}",
    infinity="math.inf",
    nan="math.nan",
    pi="math.pi",
    reserved=frozenset([*keyword.kwlist, "math", "abs", "round", "max", "min", "_sign", "_sigmoid", "_tanh_slope", "_defined"]),
    imports={"math.": "import math"},
    helpers={
        "_sign": "def _sign(x):\n    return (x > 0) - (x < 0)\n",
        # The argument of exp is never positive, because Python raises an error on overflow.
        "_sigmoid": ("def _sigmoid(x):\n    small = math.exp(-abs(x))\n    return (1 if x >= 0 else small)/(1 + small)\n"),
        "_tanh_slope": (
            'def _tanh_slope(x):\n    """1/cosh(x)**2."""\n    small = math.exp(-2*abs(x))\n    return 4*small/(1 + small)**2\n'
        ),
        "_defined": (
            "def _defined(function, *arguments):\n"
            '    """Call a function; return inf or nan if it raises an error, because a conditional may discard the result."""\n'
            "    try:\n"
            "        return function(*arguments)\n"
            "    except OverflowError:\n"
            "        odd = function in (math.sinh, math.gamma) or (function is math.pow and arguments[1] % 2 == 1)\n"
            "        return math.copysign(math.inf, arguments[0]) if odd else math.inf\n"
            "    except (ArithmeticError, ValueError):\n"
            "        return math.nan\n"
        ),
    },
    logic=("and", "or", "not"),
    operators=("remainder", "floor_divide"),
)
_SCIPY = (
    _same("special.", "erf erfc erfinv ndtr log_ndtr ndtri i0 i0e i1 i1e j0 j1 gamma digamma expi exp1")
    | _renamed("special.", _TWO, xlogy="xlogy", xlog1py="xlog1py", zeta="zeta", gammainc="gammainc", gammaincc="gammaincc")
    | {"betainc": "special.betainc({0}, {1}, {2})"}
)
_OF_TWO = ("hypot", "fmod", "remainder", "floor_divide", "maximum", "minimum", "logaddexp", "logaddexp2")
_NUMPY_TWO = {name: name for name in (*_OF_TWO, "logical_and", "logical_or")}


def _as_in_numpy(prefix: str) -> dict[str, str]:
    """Return the functions that NumPy and JAX have under the same names."""
    same = _same(prefix, f"{_ELEMENTARY} exp2 cbrt abs sign isnan isinf isfinite round logical_not")
    return same | _renamed(prefix, **_INVERSE) | _renamed(prefix, _TWO, atan2="arctan2", **_NUMPY_TWO)


NUMPY = Target(
    "numpy",
    "NumPy",
    _as_in_numpy("np.")
    | _SCIPY
    | _same("special.", "erfcx dawsn k0 k1 y0 y1 ellipk ellipe")
    | {"bessel_j": "special.jv({1}, {0})"}
    | {name: f"special.airy({{0}})[{i}]" for i, name in enumerate(("airy_ai", "airy_ai_prime", "airy_bi", "airy_bi_prime"))}
    | {name: f"special.{name}({_TWO})" for name in ("jv", "yv", "iv", "kv")}
    | {"voigt": "special.voigt_profile({0}, {1}, {2})"}
    | {f"wofz_{part}": f"special.wofz({{0}} + 1j*{{1}}).{part}" for part in ("real", "imag")},
    where="np.where({c}, {x}, {y})",
    infinity="np.inf",
    nan="np.nan",
    pi="np.pi",
    reserved=frozenset([*keyword.kwlist, "np", "special", "float"]),
    imports={"np.": "import numpy as np", "special.": "from scipy import special"},
)
JAX = Target(
    "jax",
    "JAX",
    _as_in_numpy("jnp.")
    | {name: text for name, text in _SCIPY.items() if name not in ("j0", "j1", "digamma", "log_ndtr", "zeta")}
    | {"sigmoid": "special.expit({0})"},
    where="jnp.where({c}, {x}, {y})",
    infinity="jnp.inf",
    nan="jnp.nan",
    pi="jnp.pi",
    reserved=frozenset([*keyword.kwlist, "jnp", "special", "float"]),
    imports={"jnp.": "import jax.numpy as jnp", "special.": "from jax.scipy import special"},
)
TORCH = Target(
    "torch",
    "PyTorch",
    _same("torch.", f"{_ELEMENTARY} asin acos atan asinh acosh atanh exp2 abs sign isnan isinf isfinite round")
    | _same("torch.", "sigmoid erf erfc erfinv logical_not i0")
    | _same("torch.special.", "digamma erfcx log_ndtr ndtri i0e i1 i1e")
    | _renamed("torch.", _TWO, atan2="atan2", **_NUMPY_TWO)
    | _renamed("torch.special.", _TWO, xlogy="xlogy", xlog1py="xlog1py"),
    where="torch.where({c}, {x}, {y})",
    infinity="torch.inf",
    nan="torch.nan",
    pi="torch.pi",
    reserved=frozenset([*keyword.kwlist, "torch"]),
    imports={"torch.": "import torch"},
    number="{tensor}.new_tensor({0})",
)
_C_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex _Imaginary
grad hess NAN INFINITY main
"""
_C_MATH = "exp expm1 exp2 log log1p log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil"
_C_OTHERS = """
trunc rint erf erfc lgamma tgamma fabs pow atan2 hypot fmod isnan isinf isfinite sign maximum minimum modulo floor_divide copysign
"""
C = Target(
    "c",
    "C",
    _same("", f"{_C_MATH} trunc erf erfc lgamma isnan isinf isfinite")
    | _renamed("", _TWO, atan2="atan2", hypot="hypot", fmod="fmod")
    | {"abs": "fabs({0})", "gamma": "tgamma({0})", "round": "rint({0})", "sign": "sign({0})"}
    | {name: f"{name}({_TWO})" for name in ("maximum", "minimum", "remainder", "floor_divide")}
    | {"remainder": "modulo({0}, {1})"},
    where="{c} ? {x} : {y}",
    infinity="INFINITY",
    nan="NAN",
    reserved=frozenset([*_C_KEYWORDS.split(), *_C_MATH.split(), *_C_OTHERS.split()]),
    imports={"": "#include <math.h>"},
    helpers={
        "sign": "static double sign(double x)\n{\n    return (x > 0) - (x < 0);\n}\n",
        "maximum": "static double maximum(double x, double y)\n{\n    return x >= y || isnan(x) ? x : y;\n}\n",
        "minimum": "static double minimum(double x, double y)\n{\n    return x <= y || isnan(x) ? x : y;\n}\n",
        "modulo": (
            "static double modulo(double x, double y)\n{\n    const double rest = fmod(x, y);\n\n"
            "    return rest == 0 ? copysign(0.0, y) : (rest < 0) != (y < 0) ? rest + y : rest;\n}\n"
        ),
        # This matches NumPy: floor(x/y) is 10 at (1, 0.1), but the exact quotient is slightly below 10.
        "floor_divide": (
            "static double floor_divide(double x, double y)\n{\n    const double rest = fmod(x, y);\n"
            "    const double below = rest != 0 && (rest < 0) != (y < 0);\n"
            "    const double quotient = (x - rest)/y - below, whole = floor(quotient);\n\n"
            "    if (y == 0) {\n        return x/y;\n    }\n"
            "    return quotient == 0 ? copysign(0.0, x/y) : quotient - whole > 0.5 ? whole + 1 : whole;\n}\n"
        ),
    },
    power="pow({0}, {1})",
    logic=("&&", "||", "!"),
    helper="ad_",
    floats=True,
    booleans=("0", "1"),
)
_JAVASCRIPT_RESERVED = """
arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for
function if implements import in instanceof interface let new null package private protected public return static super switch
this throw true try typeof undefined var void while with yield Infinity Math NaN Number isFinite isNaN
"""
JAVASCRIPT = Target(
    "javascript",
    "JavaScript",
    _same("Math.", "exp expm1 log log1p log2 log10 sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh")
    | _same("Math.", "floor ceil trunc abs")
    | _renamed("Math.", _TWO, atan2="atan2", hypot="hypot", maximum="max", minimum="min")
    | {"exp2": "pow(2, {0})", "isnan": "isNaN({0})", "isfinite": "isFinite({0})", "isinf": "(Math.abs({0}) === Infinity)"}
    | {"sign": "sign({0})", "round": "round({0})", "fmod": "fmod({0}, {1})"}
    | {"remainder": "modulo({0}, {1})", "floor_divide": "floor_divide({0}, {1})"},
    where="{c} ? {x} : {y}",
    infinity="Infinity",
    nan="NaN",
    pi="Math.PI",
    reserved=frozenset([*_JAVASCRIPT_RESERVED.split(), "sign", "round", "fmod", "modulo", "floor_divide", "pow"]),
    helpers={
        # The result of Math.sign is nan at nan, and -0 at -0.
        "sign": "function sign(x) {\n    return (x > 0) - (x < 0);\n}\n",
        # Math.round rounds halves up, and the sum rounds them to even numbers.
        "round": (
            "function round(x) {\n    const size = Math.abs(x), big = 2**52;\n\n"
            "    return size < big ? Math.sign(x)*(size + big - big) : x;\n}\n"
        ),
        "fmod": "function fmod(x, y) {\n    return x % y;\n}\n",
        "modulo": (
            "function modulo(x, y) {\n    const rest = x % y;\n\n"
            "    if (rest === 0) {\n        return y < 0 ? -0 : 0;\n    }\n"
            "    return (rest < 0) !== (y < 0) ? rest + y : rest;\n}\n"
        ),
        "floor_divide": (
            "function floor_divide(x, y) {\n    const rest = x % y;\n"
            "    const below = rest !== 0 && (rest < 0) !== (y < 0);\n"
            "    const quotient = (x - rest)/y - below, whole = Math.floor(quotient);\n\n"
            "    if (y === 0) {\n        return x/y;\n    }\n"
            "    return quotient === 0 ? 0*Math.sign(x/y) : quotient - whole > 0.5 ? whole + 1 : whole;\n}\n"
        ),
        # Math.pow returns nan for 1 to the power of nan or infinity.
        "pow": (
            "function pow(x, y) {\n    const one = x === 1 || (x === -1 && Math.abs(y) === Infinity);\n\n"
            "    return one ? 1 : Math.pow(x, y);\n}\n"
        ),
    },
    power="pow({0}, {1})",
    logic=("&&", "||", "!"),
    booleans=("0", "1"),
    boolean_as_number="Number({0})",
)
TARGETS = {target.name: target for target in (PYTHON, NUMPY, TORCH, JAX, C, JAVASCRIPT)}
