"""Airy functions and their derivatives."""
# Made from grammar/rules/airy.rules by ``python grammar/compile_rules.py``.  Do not edit.

from __future__ import annotations

from autodiff_cli.autograd.primitives.declare import Declarations
from autodiff_cli.autograd.primitives.primitive import TensorFunction
from autodiff_cli.numerics import airy as arrays, decomposition

__all__ = ['airy_ai', 'airy_ai_prime', 'airy_bi', 'airy_bi_prime', 'airyai', 'airyaiprime', 'airybi', 'airybiprime']

_declare = Declarations(__name__, elementwise=True)

airy_ai: TensorFunction = _declare('airy_ai', arrays.airy_ai, {'x': lambda g, x: g * airy_ai_prime(x)}, node='SpecialAiryAiBackward0', decomposition=lambda: decomposition('refused'), summary='Airy function Ai', formula='airy_ai_prime(x)', aliases=('airyai',), samples=((0.3,), (-1.7,), ([4.0, -9.5],), (-25.0,),), methods=())
airyai = airy_ai
airy_ai_prime: TensorFunction = _declare('airy_ai_prime', arrays.airy_ai_prime, {'x': lambda g, x: g * (x * airy_ai(x))}, decomposition=lambda: decomposition('refused'), summary='derivative of the Airy function Ai', formula='x*airy_ai(x)', aliases=('airyaiprime',), samples=((0.3,), (-1.7,), ([4.0, -9.5],), (-25.0,),), methods=())
airyaiprime = airy_ai_prime
airy_bi: TensorFunction = _declare('airy_bi', arrays.airy_bi, {'x': lambda g, x: g * airy_bi_prime(x)}, decomposition=lambda: decomposition('refused'), summary='Airy function Bi', formula='airy_bi_prime(x)', aliases=('airybi',), samples=((0.3,), (-1.7,), ([4.0, -9.5],), (-25.0,),), methods=())
airybi = airy_bi
airy_bi_prime: TensorFunction = _declare('airy_bi_prime', arrays.airy_bi_prime, {'x': lambda g, x: g * (x * airy_bi(x))}, decomposition=lambda: decomposition('refused'), summary='derivative of the Airy function Bi', formula='x*airy_bi(x)', aliases=('airybiprime',), samples=((0.3,), (-1.7,), ([4.0, -9.5],), (-25.0,),), methods=())
airybiprime = airy_bi_prime
