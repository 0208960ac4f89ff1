"""How wide text is in letters of one width: accents that are written over a letter take no place."""

import unicodedata


def width_of(text: str) -> int:
    return sum(not unicodedata.combining(letter) for letter in text)


def cut(text: str, width: int) -> str:
    """The text, or its beginning with an ellipsis."""
    if width_of(text) <= width:
        return text
    kept = next(length for length in reversed(range(len(text))) if width_of(text[:length]) < width)
    return f"{text[:kept]}…"
