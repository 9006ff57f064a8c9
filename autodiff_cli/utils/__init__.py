"""The counterpart of ``torch.utils``: checkpoints, which compute values again in the backward pass to save memory."""

from typing import NoReturn

from autodiff_cli.unavailable_names import missing
from autodiff_cli.utils import checkpoint as checkpoint


def __getattr__(name: str) -> NoReturn:
    raise missing(__name__, name)
