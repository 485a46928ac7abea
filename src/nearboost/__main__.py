"""``python -m nearboost`` is the program."""

from nearboost.cli.main import main

if __name__ == "__main__":
    main()
