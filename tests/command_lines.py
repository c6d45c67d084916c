"""Command lines that are variations of others."""


def amended(arguments: list[str], *more: str) -> list[str]:
    """The arguments with these options added, in place of those of the same name."""
    kept = list(arguments)
    for option in {word for word in more if word.startswith("--")} & set(kept):
        at = kept.index(option)
        del kept[at : at + 2]
    return [*kept, *more]
