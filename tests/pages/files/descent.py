"""A step against the gradient, towards the minimum of (x - 3)**2."""

import torch

x = torch.tensor(5.0, requires_grad=True)
y = (x - 3) ** 2
y.backward()
print(x.grad)
with torch.no_grad():
    x -= 0.25 * x.grad
print(x)
