"""Constructor parameters in scikit-learn's manner, without needing scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any, Self

from dpcate.errors import ParameterError

__all__ = ["Parameters"]


class Parameters:
    """``get_params``, ``set_params`` and a readable ``repr``, so that ``sklearn.base.clone`` works.

    A constructor stores each argument under its own name and does nothing else; checks run in ``fit``.
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn passes it
        """Return the constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:  # noqa: ANN401 - any option's type
        """Set options by name; an unknown one raises and changes nothing."""
        unknown = sorted(set(parameters) - set(self._parameter_names()))
        if unknown:
            raise ParameterError(
                f"{type(self).__name__} has no option {unknown[0]!r}; it takes {', '.join(self._parameter_names())}."
            )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if defaults[name].default is inspect.Parameter.empty or value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"
