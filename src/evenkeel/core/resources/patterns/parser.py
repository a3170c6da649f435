"""Parser of regular expressions into syntax trees: for the subset of PCRE's syntax that all engines interpret
alike.
"""

import re
import string

from evenkeel.core.resources.patterns.tree import (
    ANY,
    CHARACTERS_MAX,
    COUNT_MAX,
    END,
    GROUP_COUNT_MAX,
    Alternation,
    Assertion,
    CharacterClass,
    Lookahead,
    Node,
    PatternRefused,
    Quantifier,
    Sequence,
)

DEPTH_MAX = 10
_COUNTED_PATTERN = re.compile(r"\{([0-9]{1,6})(,([0-9]{0,6}))?\}")
_LIMITS_BY_SIGN = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_NOT_ASCII = ANY & ~((1 << 128) - 1)


def _mask_of_characters(characters: str) -> int:
    return sum(1 << ord(character) for character in set(characters))


_CLASSES = {
    "d": _mask_of_characters(string.digits),
    "w": _mask_of_characters(string.ascii_letters + string.digits + "_"),
    "s": _mask_of_characters(" \t\n\v\f\r"),
}
_CLASSES |= {letter.upper(): ANY & ~mask for letter, mask in tuple(_CLASSES.items())}


def parse(text: str) -> Node:
    """Parse an expression into its syntax tree; ``(?i)`` at its beginning is skipped. Raises
    :class:`PatternRefused` for syntax that is not allowed, or a length out of range.
    """
    if not 1 <= len(text) <= CHARACTERS_MAX:
        raise PatternRefused(f"it has {len(text)} characters; 1 to {CHARACTERS_MAX} are allowed")
    # The only option that is accepted; the sets below have both cases of each letter anyway.
    parser = _Parser(text.removeprefix("(?i)"))
    found = parser.parse_alternatives(0)
    if not parser.ended:
        raise PatternRefused("a ')' has no '(' before it")
    return found


def both_cases_mask(character: str) -> int:
    """Return the character in upper and lower case as a bit mask, because the device may ignore case; for a character
    of several bytes, any of these bytes.
    """
    if not character.isascii():
        return _NOT_ASCII
    return _mask_of_characters(character.lower() + character.upper())


class _Parser:
    """A recursive descent parser of regular expressions. Every method raises :class:`PatternRefused` for
    syntax that is not allowed.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def ended(self) -> bool:
        """True if the text is consumed."""
        return self._at >= len(self._text)

    def _peek_character(self, ahead: int = 1) -> str:
        return self._text[self._at : self._at + ahead]

    def _skip_if_next(self, what: str) -> bool:
        """Skip ``what`` if it is next in the text; return whether it was."""
        if not self._text.startswith(what, self._at):
            return False
        self._at += len(what)
        return True

    def parse_alternatives(self, depth: int) -> Node:
        """Parse alternatives, up to a closing parenthesis or the end. ``depth``: number of groups around
        them. Raises :class:`PatternRefused`.
        """
        if depth > DEPTH_MAX:
            raise PatternRefused(f"groups are nested deeper than {DEPTH_MAX}")
        branches = [self._parse_sequence(depth)]
        while self._skip_if_next("|"):
            branches.append(self._parse_sequence(depth))
        return branches[0] if len(branches) == 1 else Alternation(branches=tuple(branches))

    def _parse_sequence(self, depth: int) -> Node:
        items: list[Node] = []
        while not self.ended and self._peek_character() not in "|)":
            items.append(self._parse_repetitions(self._parse_atom(depth)))
        return Sequence(items=tuple(items))

    def _parse_atom(self, depth: int) -> Node:
        if self._skip_if_next("("):
            return self._parse_group(depth)
        if self._skip_if_next("["):
            return CharacterClass(mask=self._parse_class())
        if self._skip_if_next("\\"):
            return self._parse_escape()
        if self._skip_if_next("^"):
            return Assertion()
        if self._skip_if_next("$"):
            return Assertion(mask=END)
        if self._skip_if_next("."):
            return CharacterClass(mask=ANY)
        if self._peek_character() in "*+?{":
            sign = self._peek_character()
            raise PatternRefused(f"'{sign}' repeats nothing, or what is repeated already; write \\{sign}")
        character = self._peek_character()
        self._at += 1
        return CharacterClass(mask=both_cases_mask(character))

    def _parse_group(self, depth: int) -> Node:
        ahead = self._skip_if_next("?=") or self._skip_if_next("?!")
        # PCRE takes (* for the beginning of a verb, such as (*ACCEPT).
        if not ahead and not self._skip_if_next("?:") and self._peek_character() in ("?", "*"):
            raise PatternRefused(f"'({self._peek_character(3)}' is not allowed; (…), (?:…), (?=…) and (?!…) are")
        body = self.parse_alternatives(depth + 1)
        if not self._skip_if_next(")"):
            raise PatternRefused("a '(' has no ')' after it")
        return Lookahead(body=body) if ahead else body

    def _parse_escape(self) -> Node:
        character = self._peek_character()
        self._at += 1
        if character in ("b", "B"):
            return Assertion()
        if character in _CLASSES and character:
            return CharacterClass(mask=_CLASSES[character])
        return CharacterClass(mask=_escaped_character_mask(character))

    def _parse_repetitions(self, body: Node) -> Node:
        counts = self._parse_counts()
        if counts is None:
            return body
        self._skip_if_next("?")  # a lazy quantifier changes the order of matches, not their set
        if isinstance(body, (Assertion, Lookahead)):
            raise PatternRefused("what takes no character is repeated")
        minimum, maximum = counts
        most = COUNT_MAX if isinstance(body, CharacterClass) else GROUP_COUNT_MAX
        if maximum is None and not isinstance(body, CharacterClass):
            raise PatternRefused(f"a group is repeated without limit; at most {{0,{GROUP_COUNT_MAX}}} times is allowed")
        if max(minimum, maximum or 0) > most:
            raise PatternRefused(f"something is repeated {max(minimum, maximum or 0)} times; at most {most} is allowed")
        return Quantifier(body=body, minimum=minimum, maximum=maximum)

    def _parse_counts(self) -> tuple[int, int | None] | None:
        sign = self._peek_character()
        if sign in _LIMITS_BY_SIGN:
            self._at += 1
            return _LIMITS_BY_SIGN[sign]
        if sign != "{":
            return None
        found = _COUNTED_PATTERN.match(self._text, self._at)
        if found is None:
            raise PatternRefused("'{' begins no count such as {2}, {2,} or {2,4}; write \\{ for the character")
        self._at = found.end()
        minimum = int(found[1])
        maximum = minimum if found[2] is None else int(found[3]) if found[3] else None
        if maximum is not None and maximum < minimum:
            raise PatternRefused(f"the count {found[0]} ends before it begins")
        return minimum, maximum

    def _parse_class(self) -> int:
        negated = self._skip_if_next("^")
        mask = 0
        first = True
        while first or not self._skip_if_next("]"):
            # A ] directly behind the [ is an ordinary character for PCRE, and the end of the class for others.
            if self.ended or self._peek_character() in ("[", "]"):
                raise PatternRefused("a class is empty, has no ']', or holds '[' or ']' without a backslash")
            mask |= self._parse_range()
            first = False
        return ANY & ~mask if negated else mask

    def _parse_range(self) -> int:
        """Parse one character, one named class, or one range in a character class; return its characters as a
        bit mask. Raises :class:`PatternRefused`.
        """
        low = self._class_character()
        if isinstance(low, int):
            return low
        if self._peek_character() != "-" or self._peek_character(2) == "-]":
            return both_cases_mask(low)
        self._at += 1
        high = self._class_character()
        if isinstance(high, int) or not (low + high).isascii() or high < low:
            raise PatternRefused("a range in a class does not go from an ASCII character to a later one")
        found = 0
        for number in range(ord(low), ord(high) + 1):
            found |= both_cases_mask(chr(number))
        return found

    def _class_character(self) -> str | int:
        """Parse one character in a character class; return it, or the bit mask of an escape that stands for a
        set of characters. Raises :class:`PatternRefused`.
        """
        character = self._peek_character()
        self._at += 1
        if character != "\\":
            if character in ("", "[", "]"):
                raise PatternRefused("a class has no ']', or holds '[' or ']' without a backslash")
            return character
        escaped = self._peek_character()
        self._at += 1
        if escaped in _CLASSES and escaped:
            return _CLASSES[escaped]
        _escaped_character_mask(escaped)
        return escaped


def _escaped_character_mask(character: str) -> int:
    if not character or not character.isascii() or character.isalnum() or character == "_":
        raise PatternRefused(f"'\\{character}' is not allowed; \\d, \\w, \\s, \\b, their opposites and \\. are")
    return both_cases_mask(character)
