"""Lines as HAProxy splits them, written from its manual (2.2 "Quoting and escaping") and not from our quoting."""

BLANK = " \t"


def words(line: str) -> list[str]:
    """The words of one line. Fails where HAProxy would take a variable of the environment, or refuse the line."""
    found: list[str] = []
    word: str | None = None
    quote, place = "", 0
    while place < len(line):
        char = line[place]
        place += 1
        assert char not in "\r\n\0", "the line ends here"
        if quote == "'":
            word, quote = (word, "") if char == "'" else ((word or "") + char, quote)
        elif char == "\\":
            word = (word or "") + line[place]
            place += 1
        elif quote == '"':
            assert char != "$", "a variable of the environment"
            word, quote = (word, "") if char == '"' else ((word or "") + char, quote)
        elif char in "'\"":
            word, quote = word or "", char
        elif char in BLANK:
            found += [word] if word is not None else []
            word = None
        elif char == "#":
            break
        else:
            word = (word or "") + char
    assert not quote, "a quote is open at the end"
    return found + ([word] if word is not None else [])
