import torch

x = torch.tensor([1.0, 2.0, 3.0])
y = torch.tensor([2.1, 3.9, 6.2])
w = torch.tensor(0.0, requires_grad=True)


def loss(w):
    residual = w * x - y
    return (residual**2).mean()


for step in range(4):
    value = loss(w)
    value.backward()
    print(f"step {step}: loss {value.item():.4f}, gradient {w.grad.item():.4f}")
    with torch.no_grad():
        w -= 0.05 * w.grad
    w.grad.zero_()

g = torch.autograd.grad(loss(w), w, create_graph=True)[0]
h = torch.autograd.grad(g, w)[0]
print(w, h)
