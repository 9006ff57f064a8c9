"""Random programs that run on this package and on PyTorch: see CONTRIBUTING.md, "Comparing with PyTorch at random"."""
