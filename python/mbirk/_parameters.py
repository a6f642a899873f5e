"""Parameters of a model as a whole: copies, pickles, listings, and rebuilding a model."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from ._progress import InstanceLogger

REGULARIZATION = ("sigma_y", "sigma_x", "sigma_prox", "snr_db", "sharpness", "auto_regularize_flag")
# The packed parameters of the views, as MBIRJAX stores them.
VIEW_PARAMS = "view_params_array"


class ModelParameters:
    """MBIRJAX's methods for parameters beyond get_params and set_params."""

    logger: InstanceLogger

    def set_params(self, no_warning: bool = False, no_compile: bool = False, **values: Any) -> None:
        """Sets parameters by name: set_params(sharpness=1.5, positivity_flag=True). Sets all of them or, if one is
        invalid, none (ValueError). Names, defaults and units are in docs/model.md. no_warning: suppress warnings;
        no_compile is ignored."""
        if VIEW_PARAMS in values:
            values |= self._view_values(values.pop(VIEW_PARAMS))
        with warnings.catch_warnings():
            if no_warning:
                warnings.simplefilter("ignore")
            super().set_params(**values)

    def get_params(self, parameter_names: str | Sequence[str]) -> Any:
        """The value of one parameter, or a list of values for a list of names."""
        own = {VIEW_PARAMS: self._view_array, "geometry_type": lambda: str(type(self))}
        if isinstance(parameter_names, str):
            return own[parameter_names]() if parameter_names in own else super().get_params(parameter_names)
        return [self.get_params(name) for name in parameter_names]

    def set_view_parameters(self, view_params: Any) -> None:
        """Replaces the angles (views), or in cone beam the angles and shifts (views, 2), or the translation vectors
        (views, 3), or the vectors of general views (views, 12), by the same number of new ones."""
        current, given = self._view_array(), numpy.asarray(view_params)
        if given.shape != current.shape:
            raise ValueError(
                f"set_view_parameters: view_params has shape {given.shape}, expected that of the current views, "
                f"{current.shape}; set_params changes their number"
            )
        self.set_params(no_warning=True, **self._view_values(given))

    def _view_names(self) -> list[str]:
        names = ("angles", "helical_z_shifts", "translation_vectors", "view_vectors")
        return [name for name in names if name in self.params]

    def _view_array(self) -> numpy.ndarray:
        names = self._view_names()
        columns = [
            numpy.asarray(self.get_params(name), numpy.float64 if name == "view_vectors" else numpy.float32)
            for name in names
        ]
        columns = [c if c.size else numpy.zeros_like(columns[0]) for c in columns]
        return columns[0] if len(names) == 1 else numpy.stack(columns, axis=1)

    def _view_values(self, array: Any) -> dict[str, Any]:
        names, array = self._view_names(), numpy.asarray(array)
        if len(names) == 1:
            return {names[0]: array}
        if array.ndim != 2 or array.shape[1] != len(names):
            raise ValueError(
                f"{VIEW_PARAMS} has shape {array.shape}, expected (views, {len(names)}): {', '.join(names)}"
            )
        values = {name: array[:, k] for k, name in enumerate(names)}
        return {name: v for name, v in values.items() if name == "angles" or v.any() or self.params[name]}

    @classmethod
    def get_required_param_names(cls) -> list[str]:
        """Names of the arguments that the constructor requires or that belong to the views."""
        others = ("self", "use_curved_detector", "device")
        return [name for name in inspect.signature(cls.__init__).parameters if name not in others]

    def get_all_params(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """(required, optional, regularization): the arguments of the constructor with "geometry_type", all other
        parameters, and those that a reconstruction may recompute. build_model makes an equal model from them."""
        params, names = self.params, self.get_required_param_names()
        required: dict[str, Any] = {name: params[name] for name in names}
        if "helical_z_shifts" in required and not required["helical_z_shifts"]:
            required["helical_z_shifts"] = (0.0,) * len(required["angles"])
        required["geometry_type"] = str(type(self))
        regularization = {name: params[name] for name in REGULARIZATION}
        rest = params.keys() - required.keys() - regularization.keys()
        return required, {name: params[name] for name in params if name in rest}, regularization

    def copy(self) -> Any:
        """An independent model with equal parameters."""
        return _restore(type(self), self.params)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        device = getattr(self, "device", "host")
        if device == "host":
            return _restore, (type(self), self.params)
        return _restore_on, (device.name, self._host_class, self.params)

    def setup_logger(self, *, logfile_path: str | None = None, print_logs: bool = True) -> None:
        """Sends the logs of the following calls to a file, if a path is given, and to the terminal, if print_logs."""
        self.logger.restart(logfile_path, print_logs)

    @property
    def log_buffer(self) -> Any:
        """Everything logged since setup_logger, or by the last call that logged: a StringIO."""
        return self.logger.buffer

    @contextlib.contextmanager
    def _logged(self, logfile_path: str | None, print_logs: bool) -> Iterator[InstanceLogger]:
        """The logger of one call. Keeps the handlers of setup_logger unless the call requests others."""
        arranged = bool(self.logger.handlers)
        if logfile_path or print_logs or not arranged:
            self.logger.restart(logfile_path, print_logs)
            arranged = False
        try:
            yield self.logger
        finally:
            if not arranged:
                self.logger.close()

    def _with_log(self, record: dict[str, Any]) -> dict[str, Any]:
        record["logs"] = self.logger.buffer.getvalue()
        return record


def _restore_on(device: str, host_class: type, params: dict[str, Any]) -> Any:
    from .devices import class_on

    return _restore(class_on(device, host_class), params)


def _restore(cls: type, params: dict[str, Any]) -> Any:
    """A model with all parameters. Automatic sigmas remain automatic: their flag is set last."""
    arguments = {name: params[name] for name in cls.get_required_param_names()}
    if "helical_z_shifts" in arguments and not arguments["helical_z_shifts"]:
        del arguments["helical_z_shifts"]
    values = {name: value for name, value in params.items() if name not in arguments and name != "helical_z_shifts"}
    flag = values.pop("auto_regularize_flag")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(**arguments)
        model.set_params(**values)
        model.set_params(auto_regularize_flag=flag)
    return model
