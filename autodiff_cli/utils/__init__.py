"""The counterpart of ``torch.utils``: checkpoints, which compute values again in the backward pass to save memory."""

from autodiff_cli.unavailable_names import missing_from
from autodiff_cli.utils import checkpoint as checkpoint

__getattr__ = missing_from(__name__)
