"""Hooks for saved tensors: what ``torch.autograd.graph`` offers to store the saved values of a graph in another form."""
