"""The commands of the paper, which `graphgate.__main__` adds to the program.

The modules in import order:

    group, demo, evaluate, figures, reproduce
"""

from graphgate.cli.conventions import add_conventions

# The help lists commands in the order in which they register.
# isort: off
from graphgate.paper.commands import figures, demo, evaluate, reproduce
from graphgate.paper.commands.group import paper

add_conventions(paper)

__all__ = ["demo", "evaluate", "figures", "paper", "reproduce"]
