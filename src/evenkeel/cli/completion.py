"""``evenkeel completion``: scripts that complete commands and options in shells."""

import re
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cliff.command import Command
from cliff.complete import CompleteCommand

from evenkeel.cli.base import ApiCommand
from evenkeel.cli.client import API_PATH, Client

NAMES_MAX = 50
"""Maximum number of names that are offered."""
NAME_LOOKUP_SECONDS = 2
"""Time-out, seconds, of a look-up of names during a completion."""
NAME_KIND_BY_METAVAR = {"AGENT": "agent", "LB": "loadbalancer"}
"""Kinds of names that are looked up, by the placeholder (metavar) in an argument's help."""
NAME_KIND_BY_OPTION = {"--agent": "agent", "--environment": "environment"}
PLAIN_NAME_PATTERN = re.compile(r"[A-Za-z0-9_.:-]+")
"""A name without characters that a shell expands: bash would run a command that a tenant wrote into a name."""


class CompletionWords(NamedTuple):
    """Completions after the command words ``path`` on a command line: the ``next`` words of commands,
    ``options``, the ``values`` of options, and the ``kind`` of names that the first argument takes (empty:
    none).
    """

    path: tuple[str, ...]
    next: tuple[str, ...]
    options: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    kind: str = ""


class PrintCompletionNames(ApiCommand):
    """Print names that begin with a text, for the scripts of 'completion'."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", choices=("agent", "environment", "loadbalancer"))
        parser.add_argument("prefix", nargs="?", default="")

    def take_action(self, parsed_args: Namespace) -> None:
        found = _fetch_names(self.client, parsed_args.kind, parsed_args.prefix)
        fit = sorted(
            {name for name in found if name.startswith(parsed_args.prefix) and PLAIN_NAME_PATTERN.fullmatch(name)}
        )
        self.app.stdout.writelines(f"{name}\n" for name in fit[:NAMES_MAX])


def _fetch_names(client: Client, kind: str, prefix: str) -> list[str]:
    if kind == "agent":
        return [row["host"] for row in client.get(f"{API_PATH}/agents")["agents"]]
    if kind == "environment":
        return [row["name"] for row in client.get(f"{API_PATH}/environments")["environments"]]
    query = {"limit": NAMES_MAX, "sort": "name:asc"} | ({"q": prefix} if prefix else {})
    return [row["name"] for row in client.get(f"{API_PATH}/loadbalancers", query)["loadbalancers"]]


class PrintCompletionScript(Command):
    """Print a script that completes commands and options: source it in the shell's start file."""

    def get_parser(self, prog_name: str) -> Any:
        parser = super().get_parser(prog_name)
        parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="The shell that reads the script.")
        return parser

    def take_action(self, parsed_args: Namespace) -> None:
        name = self.app.NAME
        words = tuple(command_words(self.app))
        if parsed_args.shell == "fish":
            self.app.stdout.write(fish_script(name, words))
            return
        if parsed_args.shell == "zsh":  # it reads bash's
            self.app.stdout.write(f"#compdef {name}\nautoload -U +X bashcompinit && bashcompinit\n")
        self.app.stdout.write(bash_script(name, words))


def command_words(app: Any) -> Iterator[CompletionWords]:
    """Yield the completions after each prefix of each command's words, including the empty prefix, sorted by
    prefix.
    """
    commands = {each.path: each for each in _words_of_commands(app)}
    paths = {path[:length] for path in commands for length in range(len(path) + 1)}
    for path in sorted(paths):
        following = {each[len(path)] for each in commands if len(each) > len(path) and each[: len(path)] == path}
        yield commands.get(path, CompletionWords(path, ()))._replace(next=tuple(sorted(following)))


def _words_of_commands(app: Any) -> Iterator[CompletionWords]:
    for name, entry in app.command_manager:
        command = entry.load()
        if command in (CompleteCommand, PrintCompletionNames):  # cliff's, for bash only; ours, for the scripts only
            continue
        parser: ArgumentParser = command(app, None, cmd_name=name).get_parser(name)
        # argparse has no public list of a parser's options.
        actions = parser._actions
        named = {option: action for action in actions for option in action.option_strings if option.startswith("--")}
        arguments = [
            NAME_KIND_BY_METAVAR.get(str(action.metavar), "") for action in actions if not action.option_strings
        ]
        choices = [word for action in actions if not action.option_strings for word in _action_choices(action)]
        yield CompletionWords(
            tuple(name.split()),
            (),
            (*sorted(named), *choices),
            {option: found for option, action in named.items() if (found := _action_choices(action))},
            next(iter(arguments), ""),
        )


def _action_choices(action: Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def bash_script(name: str, words: tuple[CompletionWords, ...]) -> str:
    """Return the completion script for bash 4 or newer; the longest command prefix that was typed decides
    what is offered. ``name``: the command's name.
    """
    values = "".join(
        f'            "{" ".join(each.path)} {option}") words={" ".join(found)!r} kind= ;;\n'
        for each in words
        for option, found in each.values.items()
    )
    kinds = "".join(f"            {option}) kind={kind} words= ;;\n" for option, kind in NAME_KIND_BY_OPTION.items())
    cases = "".join(
        f"        {_case_pattern(each)}) path={' '.join(each.path)!r} kind={each.kind}"
        f" words={' '.join((*each.next, *each.options))!r} ;;\n"
        for each in sorted(words, key=lambda each: -len(each.path))
    )
    return f"""_{name}() {{
    local typed="" word words="" path="" kind="" current="${{COMP_WORDS[COMP_CWORD]}}"
    local before="${{COMP_WORDS[COMP_CWORD-1]}}"
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) typed="$typed $word" ;; esac
    done
    case "$typed " in
{cases}    esac
    case "$path $before" in
{values}        *) case "$before" in
{kinds}        esac ;;
    esac
    case "$current" in -*) kind="" ;; esac
    if [ -n "$kind" ]; then
        words="$words $({name} --timeout {NAME_LOOKUP_SECONDS} completion names "$kind" "$current" 2>/dev/null)"
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _{name} {name}
"""


def _case_pattern(words: CompletionWords) -> str:
    return "*" if not words.path else f'" {" ".join(words.path)} "*'


def fish_script(name: str, words: tuple[CompletionWords, ...]) -> str:
    """Return the completion script for fish 3.4 or newer. ``name``: the command's name."""
    lines = [
        f"function __{name}_typed",
        "    set -l words (string match -v -- '-*' (commandline -opc)[2..])",
        "    for depth in 3 2 1",
        "        test (count $words) -ge $depth; or continue",
        "        set -l path (string join ' ' $words[1..$depth])",
        f"        contains -- $path {' '.join(_quoted_words(each) for each in words)}; and echo $path; and return",
        "    end",
        "end",
        f"complete -c {name} -f",
    ]
    for each in words:
        condition = f"""-n 'test "$(__{name}_typed)" = "{" ".join(each.path)}"'"""
        if each.next:
            lines.append(f"complete -c {name} {condition} -a '{' '.join(each.next)}'")
        if each.kind:
            lines.append(f"complete -c {name} {condition} -a '({_fish_names_command(name, each.kind)})'")
        lines += [f"complete -c {name} {condition} {_fish_option(name, each, option)}" for option in each.options]
    return "\n".join(lines) + "\n"


def _fish_option(name: str, words: CompletionWords, option: str) -> str:
    """Return the arguments of fish's ``complete`` that offer an option with its values, or a word that is an
    argument.
    """
    if not option.startswith("--"):
        return f"-a {option}"
    long = f"-l {option.removeprefix('--')}"
    if option in words.values:
        return f"{long} -x -a '{' '.join(words.values[option])}'"
    if option in NAME_KIND_BY_OPTION:
        return f"{long} -x -a '({_fish_names_command(name, NAME_KIND_BY_OPTION[option])})'"
    return long


def _fish_names_command(name: str, kind: str) -> str:
    return f"{name} --timeout {NAME_LOOKUP_SECONDS} completion names {kind} (commandline -ct) 2>/dev/null"


def _quoted_words(words: CompletionWords) -> str:
    return f"'{' '.join(words.path)}'"
