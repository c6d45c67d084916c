"""What a user can do wrong, as one kind of error that the command line turns into exit code 2."""


class InputError(ValueError):
    """Something handed in cannot be used; the message says what, where, and what to do."""


class DivergenceError(InputError):
    """Training produced a loss that is not a number."""
