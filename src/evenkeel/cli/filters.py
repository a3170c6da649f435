"""Options that filter lists, and hints for names that are not known."""

from argparse import ArgumentParser, _MutuallyExclusiveGroup
from collections.abc import Iterable, Sequence
from enum import StrEnum

from evenkeel.cli.client import API_PATH, ApiRefused, Client
from evenkeel.core.kit.similar import similar_names

OptionContainer = ArgumentParser | _MutuallyExclusiveGroup

SUGGESTED_NAMES_MAX = 5
"""Maximum number of names that are suggested in place of an unknown name."""


def add_choice_filter(
    parser: OptionContainer, option: str, values: type[StrEnum], help_: str, *others: str, **more: str
) -> None:
    """Add an option whose value is one of an enumeration, in upper or lower case. ``others``: further names
    of the option; ``more``: further arguments of ``add_argument``.
    """
    by_text = {value.lower(): str(value) for value in values}
    parser.add_argument(
        option,
        *others,
        type=lambda text: by_text.get(text.lower(), text),
        choices=list(by_text.values()),
        metavar=option.rpartition("-")[2].upper(),
        help=f"{help_}: {', '.join(by_text.values())}.",
        **more,  # type: ignore[arg-type]
    )


def add_environment_filter(parser: ArgumentParser, items: str) -> None:
    """Add the option ``--environment``, which limits a list to an environment. ``items``: what is listed, for
    the help.
    """
    parser.add_argument("--environment", metavar="NAME", help=f"Only {items} of this environment.")


def check_environment(client: Client, found_rows: Sequence[object], name: str | None) -> None:
    """Raise :class:`ApiRefused` if nothing was found and no environment has the given name; None: no name was
    given.

    Used for lists of Octavia's API, which returns an empty list for an unknown provider.
    """
    if found_rows or name is None:
        return
    names = [str(row["name"]) for row in client.get(f"{API_PATH}/environments")["environments"]]
    if name not in names:
        raise ApiRefused(404, f"no environment has the name {name!r}; there are: {', '.join(names) or 'none yet'}")


def name_suggestion(name: str, known_names: Iterable[str]) -> str:
    """Return a question whether one of the names in ``known_names`` that resemble ``name`` is meant, at most five,
    as the end of a sentence; empty if none does.
    """
    texts = [text for text in known_names if text]
    found = similar_names(name, texts, most=SUGGESTED_NAMES_MAX)
    found += [text for text in texts if name.lower() in text.lower() and text not in found]
    return f"; did you mean {', '.join(found[:SUGGESTED_NAMES_MAX])}?" if found else ""
