"""``evenkeel completion``: scripts that complete commands and options in shells."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, NamedTuple

from cliff.command import Command
from cliff.complete import CompleteCommand


class Words(NamedTuple):
    """Completions after the command words ``path``: the next words of commands, and options."""

    path: tuple[str, ...]
    next: tuple[str, ...]
    options: tuple[str, ...]


class Completion(Command):
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


def command_words(app: Any) -> Iterator[Words]:
    """Completions for each prefix of a command's words, including the empty one."""
    options = {tuple(name.split()): found for name, found in _options(app)}
    paths = {name[:length] for name in options for length in range(len(name) + 1)}
    for path in sorted(paths):
        following = {name[len(path)] for name in options if len(name) > len(path) and name[: len(path)] == path}
        yield Words(path, tuple(sorted(following)), options.get(path, ()))


def _options(app: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, entry in app.command_manager:
        command = entry.load()
        if command is CompleteCommand:  # cliff's, for bash only
            continue
        parser: ArgumentParser = command(app, None, cmd_name=name).get_parser(name)
        # argparse has no public list of a parser's options.
        named = (option for action in parser._actions for option in action.option_strings)
        yield name, tuple(sorted(option for option in named if option.startswith("--")))


def bash_script(name: str, words: tuple[Words, ...]) -> str:
    """Completion script for bash 4 or newer, in which the longest prefix that was typed decides."""
    cases = "".join(
        f"        {_case(each)}) words={' '.join((*each.next, *each.options))!r} ;;\n"
        for each in sorted(words, key=lambda each: -len(each.path))
    )
    return f"""_{name}() {{
    local typed="" word words
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) typed="$typed $word" ;; esac
    done
    case "$typed " in
{cases}    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -F _{name} {name}
"""


def _case(words: Words) -> str:
    return "*" if not words.path else f'" {" ".join(words.path)} "*'


def fish_script(name: str, words: tuple[Words, ...]) -> str:
    """Completion script for fish 3.4 or newer."""
    lines = [
        f"function __{name}_typed",
        "    set -l words (string match -v -- '-*' (commandline -opc)[2..])",
        "    for depth in 3 2 1",
        "        test (count $words) -ge $depth; or continue",
        "        set -l path (string join ' ' $words[1..$depth])",
        f"        contains -- $path {' '.join(_quoted(each) for each in words)}; and echo $path; and return",
        "    end",
        "end",
        f"complete -c {name} -f",
    ]
    for each in words:
        condition = f"""-n 'test "$(__{name}_typed)" = "{" ".join(each.path)}"'"""
        if each.next:
            lines.append(f"complete -c {name} {condition} -a '{' '.join(each.next)}'")
        lines += [f"complete -c {name} {condition} -l {option.removeprefix('--')}" for option in each.options]
    return "\n".join(lines) + "\n"


def _quoted(words: Words) -> str:
    return f"'{' '.join(words.path)}'"
