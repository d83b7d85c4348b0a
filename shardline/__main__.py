"""`python -m shardline` is `shardline`."""

from shardline.cli.app import main

if __name__ == "__main__":
    main()
