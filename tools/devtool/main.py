"""Reads the command line of ./dev."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import shipping, testing
from .console import Console, Failed
from .ground import ROOT

PRESETS = ("release", "debug", "clang", "asan-ubsan", "fuzz")


def make_parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="one JSON object on stdout at the end, the rest on stderr")
    parser = argparse.ArgumentParser(prog="./dev", description="Codetta's developer commands. Each sets up what it needs first.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, help: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=help, description=help, parents=[common])

    demo = add("demo", "embed sentences with MiniLM through torch.compile(backend=\"codetta\"), beside eager")
    demo.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on to examples/minilm.py")
    test = add("test", "build, check, then run the C++ and the Python tests")
    test.add_argument("names", nargs="*", help="only tests whose name contains one of these")
    test.add_argument("--quick", action="store_true", help="leave out the slow ones")
    test.add_argument("--sanitize", action="store_true", help="the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer")
    test.add_argument("--preset", choices=("release", "debug", "clang"), default="release")
    check = add("check", "format, layer table, include hygiene, sizes; no build")
    check.add_argument("--all", action="store_true", help="the format of every file, not of the changed ones alone")
    build = add("build", "configure and build")
    build.add_argument("--preset", choices=PRESETS, default="release")
    bench = add("bench", "run benches; without a name, list them")
    bench.add_argument("names", nargs="*")
    wheel = add("wheel", "build the wheel that users install")
    wheel.add_argument("--output", type=Path, default=ROOT / "dist", help="folder, default dist/")
    fmt = add("fmt", "format the changed C++ files in place")
    fmt.add_argument("--all", action="store_true", help="every file")
    goldens = add("goldens", "run the golden tests")
    goldens.add_argument("names", nargs="*")
    goldens.add_argument("--update", action="store_true", help="rewrite the golden files, then read the diff")
    fuzz = add("fuzz", "run the libFuzzer targets")
    fuzz.add_argument("names", nargs="*")
    fuzz.add_argument("--runs", type=int, default=1_000_000, help="inputs per target, default a million")
    clean = add("clean", "remove build/ and dist/")
    clean.add_argument("--all", action="store_true", help="the Python environments too")
    return parser


def dispatch(console: Console, options: argparse.Namespace, rest: list[str]) -> None:
    match options.command:
        case "demo":
            shipping.demo(console, arguments=options.arguments + rest)
        case "test":
            testing.test(console, names=options.names, preset=options.preset, sanitize=options.sanitize, quick=options.quick)
        case "check":
            failures = testing.check(console, everything=options.all)
            if failures:
                raise Failed("failed: " + ", ".join(failures))
        case "build":
            shipping.build(console, preset=options.preset)
        case "bench":
            shipping.bench(console, names=options.names, arguments=rest)
        case "wheel":
            shipping.wheel(console, output=options.output)
        case "fmt":
            testing.run_format(console, everything=options.all, in_place=True)
        case "goldens":
            testing.goldens(console, update=options.update, names=options.names)
        case "fuzz":
            testing.fuzz(console, names=options.names, runs=options.runs)
        case "clean":
            shipping.clean(console, everything=options.all)


def main(arguments: list[str]) -> int:
    """Exit codes: 0 fine, 1 something failed, 2 used wrongly or a prerequisite is missing, 130 interrupted."""
    rest: list[str] = []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, rest = arguments[:cut], arguments[cut + 1:]
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    console = Console(as_json=options.json)
    try:
        dispatch(console, options, rest)
    except Failed as error:
        if str(error):
            console.say(console.paint(f"./dev {options.command}: ", "31;1") + str(error))
        return console.finish(error.code)
    except KeyboardInterrupt:
        console.say("interrupted")
        return console.finish(130)
    return console.finish(0)
