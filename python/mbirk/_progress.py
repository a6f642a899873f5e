"""Progress of an iterative method: a bar, lines, or a function of the user."""

from __future__ import annotations

import io
import logging
import pathlib
import sys
from collections.abc import Callable
from typing import Any

Report = Any  # mbirk.IterationReport
Progress = Callable[[Report], Any]

LINE = "iteration {0.iteration} of {0.iterations}: change {1:.3g} %, step {0.alpha:.3g}, weighted error {0.fm_rmse:.4g}"


class InstanceLogger(logging.Logger):
    """The private logger of one model: two models never share a file or a buffer."""

    def __init__(self, name: str):
        super().__init__(name, logging.INFO)
        self.propagate = False
        self.buffer = io.StringIO()

    def restart(self, logfile_path: str | None, print_logs: bool) -> None:
        """Closes the current handlers, and logs to a buffer, to a file if one is given, and to the terminal on
        request."""
        self.close()
        self.buffer = io.StringIO()
        self.addHandler(logging.StreamHandler(self.buffer))
        if logfile_path:
            path = pathlib.Path(logfile_path).expanduser()
            path.parent.mkdir(parents=True, exist_ok=True)
            self.addHandler(logging.FileHandler(path, mode="w"))
        if print_logs:
            self.addHandler(logging.StreamHandler(sys.stdout))

    def close(self) -> None:
        """Closes all handlers."""
        for handler in list(self.handlers):
            self.removeHandler(handler)
            handler.close()


def _bar() -> Progress | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = None

    def show(report: Report) -> None:
        nonlocal bar
        bar = bar or tqdm(total=report.iterations, unit="iteration")
        bar.set_postfix_str(f"change {100 * report.change:.3g} %")
        bar.update(report.iteration - bar.n)
        if report.iteration == report.iterations:
            bar.close()

    return show


def _lines(report: Report) -> None:
    print(LINE.format(report, 100 * report.change), file=sys.stderr, flush=True)


def observer(progress: bool | Progress | None, logger: InstanceLogger | None = None) -> Progress | None:
    """Callback of the compiled functions after each iteration. True: a tqdm bar if tqdm is installed, else lines on
    stderr."""
    call = (_bar() or _lines) if progress is True else progress or None
    if logger is None or not logger.handlers:
        return call

    def both(report: Report) -> Any:
        logger.info(LINE.format(report, 100 * report.change))
        return call(report) if call else None

    return both
