"""Errors that the command line tells apart."""


class UsageError(ValueError):
    """A name or a way of writing that is not known: the command line ends with the code for wrong usage."""
