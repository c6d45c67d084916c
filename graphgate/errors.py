"""What a user can do wrong, as one kind of error that the command line turns into exit code 2."""


class InputError(ValueError):
    """Something handed in cannot be used; the message says what, where, and what to do."""


class InputWarning(UserWarning):
    """Something handed in was left out or replaced; one sentence that says what, and how often."""


class DivergenceError(InputError):
    """Training produced a loss that is not a number."""
