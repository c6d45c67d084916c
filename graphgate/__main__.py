"""`python -m graphgate`: the command line."""

from graphgate.cli import main

main()
