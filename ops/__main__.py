"""``python -m ops`` is the same as ``cardroom``."""

from ops.cli import main

if __name__ == "__main__":
    main()
