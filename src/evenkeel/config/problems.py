"""Collects all problems of a configuration, so that they are reported together."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar, cast

T = TypeVar("T")


class ConfigurationRefused(ValueError):
    """The configuration is refused. Each of ``problems`` names the option, its value (except secrets) and what is
    allowed.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def problem_texts(error: ValueError) -> tuple[str, ...]:
    """Return the texts of the problems that the error reports, at least one."""
    return error.problems if isinstance(error, ConfigurationRefused) else (str(error),)


class Problems:
    """Collects problems; at the end of a ``with`` block that raised nothing itself they are raised as
    :class:`ConfigurationRefused`, each text once.
    """

    def __init__(self) -> None:
        self.found: list[str] = []

    def collect_from(self, checked: Callable[[], T]) -> T:
        """Return the result of ``checked``, or record the problems of the :class:`ValueError` that it raises.

        After a problem the result is None and must not be used, because the end of the ``with`` block raises.
        """
        try:
            return checked()
        except ValueError as error:
            self.found += problem_texts(error)
            return cast(T, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None and self.found:
            # Each text once: several parts may have checked the same option.
            raise ConfigurationRefused(tuple(dict.fromkeys(self.found)))
