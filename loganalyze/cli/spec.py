"""Commands, arguments and options, written once: the quick path and click both read this table."""

from __future__ import annotations

from loganalyze.light import dataclass

FORMATS = ("text", "json", "jsonl", "md", "csv")


@dataclass(slots=True, frozen=True)
class Option:
    """``dest`` is the key handed to the command; a ``flag`` takes no value."""

    flags: tuple[str, ...]
    dest: str
    help: str
    metavar: str = "TEXT"
    flag: bool = False
    multiple: bool = False
    choices: tuple[str, ...] = ()
    default: str | None = None


@dataclass(slots=True, frozen=True)
class Command:
    """One sub-command; ``argument`` is the metavar of its positional arguments, empty for none."""

    name: str
    summary: str
    details: str
    argument: str
    options: tuple[Option, ...]
    examples: tuple[str, ...] = ()
    required: bool = False


FORMAT = Option(("-f", "--format"), "format", "Format on stdout.", "FORMAT", choices=FORMATS, default="text")
OUTPUT = Option(
    ("-o", "--output"), "output", "Write FILE too, format by its extension. Repeatable.", "FILE", multiple=True
)
FORCE = Option(("--force",), "force", "Overwrite files that exist.", flag=True)
FAIL_ON = Option(("--fail-on",), "fail_on", "Exit 1 when the verdict is one of these (comma separated).", "VERDICT,...")
AS = Option(
    ("--as",), "as_format", "Read FILE as FORMAT instead of by content. Repeatable.", "FILE=FORMAT", multiple=True
)
SET = Option(("--set",), "set", "Override a threshold. Repeatable.", "NAME=VALUE", multiple=True)
CONFIG = Option(("--config",), "config", "Read thresholds from this file (default: ./loganalyze.toml).", "FILE")
BASELINE = Option(("--baseline",), "baseline", "Judge rates against this saved baseline.", "FILE")
TZ = Option(("--tz",), "tz", "Zone of stamps that name none, e.g. Europe/Berlin or +02:00.", "ZONE")
START = Option(("--start",), "start", "Wall time at which FILE begins. Repeatable.", "FILE=TIME", multiple=True)
GROUP = Option(
    ("--group",),
    "group",
    "Which captures belong to which log.",
    "RULE",
    choices=("auto", "one", "folder", "stem"),
    default="auto",
)
COLOR = Option(
    ("--color",), "color", "Colour on the terminal.", "WHEN", choices=("auto", "always", "never"), default="auto"
)
WIDTH = Option(("--width",), "width", "Columns to use (default: the terminal's).", "N")
REDACT = Option(("--redact",), "redact", "Remove names, paths, addresses, keys and texts.", flag=True)
NO_REDACT = Option(("--no-redact",), "no_redact", "Keep names, paths, addresses, keys and texts.", flag=True)
DEBUG = Option(("--debug",), "debug", "Show a traceback when something goes wrong inside.", flag=True)

READING = (AS, TZ, START, GROUP)
JUDGING = (SET, CONFIG, BASELINE)
SCREEN = (COLOR, WIDTH)

COMMANDS: tuple[Command, ...] = (
    Command(
        "classify",
        "Say whether a run is slow reading, slow writing or swapping, and why.",
        "Reads logs and captures of one run or several: files, folders, globs, '-' or standard input, in any mix. "
        "Formats are recognised by content.",
        "[PATH]...",
        (FORMAT, OUTPUT, FORCE, FAIL_ON, *READING, *JUDGING, *SCREEN, REDACT),
        (
            "loganalyze classify run.log",
            "cat run.log | loganalyze classify",
            "loganalyze classify run.log smi.csv vmstat.txt",
        ),
    ),
    Command(
        "batch",
        "One row for every run in folders of old logs.",
        "Walks folders, globs, archives (.zip, .tar.*) and, with the extra [remote], URLs such as s3://bucket/logs. "
        "Results are cached by content, so a second run only reads what is new.",
        "DIR...",
        (
            Option(
                FORMAT.flags,
                "format",
                FORMAT.help,
                "FORMAT",
                choices=("text", "json", "jsonl", "csv", "md"),
                default="text",
            ),
            OUTPUT,
            FORCE,
            FAIL_ON,
            Option(("--jobs", "-j"), "jobs", "Processes to use (default: one a core).", "N"),
            Option(("--scheduler",), "scheduler", "Run on this Dask scheduler (extra [cluster]).", "tcp://HOST:PORT"),
            Option(("--manifest",), "manifest", "CSV or TOML that says which files form which run.", "FILE"),
            Option(
                ("--compare",), "compare", "Compare groups of like runs by this column.", "COLUMN", choices=("version",)
            ),
            Option(("--by",), "by", "Summarise by these columns (comma separated).", "COLUMN,..."),
            Option(("--sort",), "sort", "Sort rows by this column (default: time lost).", "COLUMN"),
            Option(("--limit",), "limit", "Rows shown on the terminal.", "N"),
            Option(("--append",), "append", "Add to the output files instead of replacing them.", flag=True),
            Option(("--no-cache",), "no_cache", "Neither read nor write cached results.", flag=True),
            TZ,
            SET,
            CONFIG,
            BASELINE,
            *SCREEN,
        ),
        ("loganalyze batch ~/logs", "loganalyze batch ~/logs -o runs.parquet -o runs.html"),
        True,
    ),
    Command(
        "plot",
        "Draw a run: phases, speed, memory, utilisation and paging on one time axis.",
        "",
        "PATH...",
        (OUTPUT, FORCE, *READING, *JUDGING),
        ("loganalyze plot run.log smi.csv vmstat.txt -o run.png",),
        True,
    ),
    Command(
        "report",
        "Write a report to attach to a bug report: Markdown, HTML or JSON.",
        "Names, paths, addresses, keys and texts are removed from .md and .html unless --no-redact is given.",
        "PATH...",
        (OUTPUT, FORCE, NO_REDACT, REDACT, *READING, *JUDGING),
        ("loganalyze report run.log smi.csv -o issue.md", "loganalyze report run/ -o report.html"),
        True,
    ),
    Command(
        "timeline",
        "Put log and captures on one time axis and show or write the aligned table.",
        "Extensions: .csv, .parquet, .jsonl, .json (trace.json opens in Perfetto).",
        "PATH...",
        (OUTPUT, FORCE, Option(("--step",), "step", "Seconds between rows of the wide table.", "S"), *READING, *SCREEN),
        ("loganalyze timeline run.log smi.csv -o trace.json",),
        True,
    ),
    Command(
        "baseline",
        "Check that runs of one fixed input agree, and save them as a baseline.",
        "",
        "RUN...",
        (FORMAT, OUTPUT, FORCE, *READING, *SCREEN),
        ("loganalyze baseline run1.log run2.log run3.log -o base.json",),
        True,
    ),
    Command(
        "sweep",
        "Find the one setting that varies between runs and say what it does.",
        "",
        "RUN...",
        (
            FORMAT,
            OUTPUT,
            FORCE,
            Option(("--by",), "by", "The setting to study (default: the one that varies).", "SETTING"),
            *READING,
            *SCREEN,
        ),
        ("loganalyze sweep ctx4096.log ctx32768.log ctx131072.log -o sweep.png",),
        True,
    ),
    Command(
        "compare",
        "Compare runs before and after one change, or two engines on one request.",
        "",
        "",
        (
            Option(("--before",), "before", "Runs before the change.", "RUN...", multiple=True),
            Option(("--after",), "after", "Runs after the change.", "RUN...", multiple=True),
            FORMAT,
            OUTPUT,
            FORCE,
            *READING,
            *SCREEN,
        ),
        ("loganalyze compare --before a1.log a2.log a3.log --after b1.log b2.log b3.log",),
    ),
    Command(
        "check",
        "Show what was recognised: formats, matched and unmatched lines, examples.",
        "",
        "[PATH]...",
        (Option(FORMAT.flags, "format", FORMAT.help, "FORMAT", choices=("text", "json"), default="text"), AS, *SCREEN),
        ("loganalyze check run.log",),
    ),
    Command(
        "explain",
        "Explain a verdict or a cause.",
        "",
        "[NAME]...",
        (*SCREEN,),
        ("loganalyze explain partial_offload", "loganalyze explain swapping"),
    ),
    Command(
        "formats",
        "List the formats and line shapes that are read.",
        "",
        "[NAME]...",
        (Option(FORMAT.flags, "format", FORMAT.help, "FORMAT", choices=("text", "json"), default="text"), *SCREEN),
        ("loganalyze formats", "loganalyze formats llama_timings"),
    ),
    Command(
        "demo",
        "Analyse a bundled real run with its captures.",
        "Prints the verdict; with -o also writes plot and report.",
        "",
        (OUTPUT, FORCE, *SCREEN),
        ("loganalyze demo", "loganalyze demo -o demo.png -o demo.html"),
    ),
    Command(
        "record",
        "Run a command and record its log with all captures and clocks.",
        "Everything after -- is the command. Log and captures go to a new folder that classify reads.",
        "-- COMMAND...",
        (
            Option(("-o", "--output"), "output", "Folder to create (default: loganalyze-DATE).", "DIR"),
            Option(("--interval",), "interval", "Seconds between samples.", "S", default="1"),
            *SCREEN,
        ),
        ("loganalyze record -- llama-server -m model.gguf -ngl 99",),
        True,
    ),
)


def command(name: str) -> Command | None:
    """The command called ``name``."""
    return next((c for c in COMMANDS if c.name == name), None)
