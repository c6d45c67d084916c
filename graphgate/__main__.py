"""`python -m graphgate`: the command line."""

from graphgate.cli import main

if __name__ == "__main__":
    main()
