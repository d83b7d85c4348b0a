"""The command line: `shardline`. Every command and exit code stands in docs/cli.md."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from lineage.errors import ShardlineError, Unavailable
from shardline.cli import adopt, approve, audit, build, demo, init, preview, report, schedule, tier
from shardline.cli.output import printable

INTERRUPTED = 130

app = typer.Typer(
    help="Raw text in, proven training shards out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: it reads the same in a log, and costs half the time
)
app.command("demo")(demo.demo)
app.command("init")(init.init)
app.command("build")(build.build)
app.command("adopt")(adopt.adopt)
app.command("preview")(preview.preview)
app.command("versions")(build.versions)
app.command("approve")(approve.approve)
app.command("why")(audit.why)
app.command("report")(report.report)
app.command("diff")(audit.diff)
app.command("quarantine")(audit.quarantine)
app.add_typer(audit.app, name="audit")
app.add_typer(tier.app, name="tier")
app.command("schedule")(schedule.schedule)
app.command("scheduler")(schedule.scheduler)


def main() -> NoReturn:
    """Runs the command line; a user sees one clear error, never a traceback."""
    code = _run()
    if code == INTERRUPTED:
        _complain("interrupted", "nothing half-made is visible; run it again")
    sys.exit(code if isinstance(code, int) else 0)


def _run() -> object:
    try:
        code: object = app(prog_name="shardline", standalone_mode=False)
        sys.stdout.flush()
    except ShardlineError as error:
        _complain(error.message, error.hint)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except typer.TyperException as error:
        _show_usage(error)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has enough of it; what is left must not be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ShardlineError.exit_code
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}", "check the disk and the permissions")
        return Unavailable.exit_code
    return code


def _show_usage(error: typer.TyperException) -> None:
    """A wrong command or option, with its usage and where help is."""
    show = getattr(error, "show", None)  # the public type does not tell of it
    if show is None:
        _complain(error.format_message(), "shardline --help")
    else:
        show()


def _complain(message: str, hint: str) -> None:
    # A message may name a file, and a file's name may hold anything.
    print(f"error: {printable(message)}", file=sys.stderr)
    if hint:
        print(f"       {hint}", file=sys.stderr)
