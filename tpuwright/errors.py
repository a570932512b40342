"""The errors that reach a user as one plain sentence."""

from __future__ import annotations


class TpuwrightError(Exception):
    """What was asked, what is wrong, what to do: one sentence, printed without a traceback; exit status 1.

    Every error of ours that a user may meet is one of these; the cause (`raise … from`) keeps the raw answer,
    which `tpuwright --debug` shows.
    """
