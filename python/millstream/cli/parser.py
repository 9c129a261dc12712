"""The commands as an argparse parser, with examples in the help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import millstream
from millstream._echo import plain, quoted
from millstream.cli.options import COMMON, USAGE, Command
from millstream.registry import nearest

__all__ = ["parser_of"]

_EXIT_CODES = "exit codes: 0 success, 1 error in the data or a file, 2 error in the command line, 130 interrupted"

#: Names of our commands in other programs.
_COMMANDS_ELSEWHERE = {
    **dict.fromkeys(("train", "fit", "learn", "evaluate", "eval", "test"), "run"),
    **dict.fromkeys(("score", "infer"), "predict"),
}
#: Options of Vowpal Wabbit and their equivalents.
_OPTIONS_ELSEWHERE = {
    **dict.fromkeys(("-b", "--bit_precision"), "use --option bits=22"),
    **dict.fromkeys(("-d", "--data"), "the file is an argument: millstream run FILE"),
    **dict.fromkeys(("-f", "--final_regressor"), "use --save FILE.ms"),
    **dict.fromkeys(("-i", "--initial_regressor"), "use --resume FILE.ms with run, --load FILE.ms with predict"),
    **dict.fromkeys(("-p",), "use --predictions FILE.csv with run, --out FILE.csv with predict"),
    "--loss_function": "the model determines the loss: -m LogisticRegression or -m LinearRegression",
    **dict.fromkeys(
        ("-l", "--learning_rate"),
        'it is a parameter of the optimizer: -m "LogisticRegression(optimizer=AdaGrad(0.5))"',
    ),
    **dict.fromkeys(("--l1", "--l2"), 'it is a parameter of the model: -m "LogisticRegression(l2=0.001)"'),
    "--noconstant": "use --option constant=False",
    "--holdout_off": "there is no holdout set: each row is scored before it is learned",
}


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, _Parser] = {}

    def error(self, message: str) -> NoReturn:
        """Print one line with the nearest command or option, and how to get help."""
        message = self._with_hint(message)
        print(f"{self.prog}: {plain(message, 400)}\ntry {self.prog} --help", file=sys.stderr)
        sys.exit(USAGE)

    def _with_hint(self, message: str) -> str:
        if "invalid choice: " in message and message.startswith("argument COMMAND"):
            given = message.partition("invalid choice: ")[2].partition(" (")[0].strip("'\"")
            meant = _COMMANDS_ELSEWHERE.get(given)
            hint = f", did you mean {meant!r}?" if meant else nearest(given, self.commands)
            return f"unknown command {quoted(given)}{hint}"
        return message.removeprefix("argument ")

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """Parse the arguments; an unknown option ends with the nearest known one."""
        if not (sys.argv[1:] if arguments is None else arguments):
            self.print_help(sys.stderr)
            sys.exit(USAGE)
        given, unknown = self.parse_known_args(arguments)
        if unknown:
            one = self.commands[given.command]
            known = [name for action in one._actions for name in action.option_strings if name.startswith("--")]
            if unknown[0].startswith("-"):
                name = unknown[0].partition("=")[0]
                elsewhere = _OPTIONS_ELSEWHERE.get(name)
                if name in ("-m", "--model") and "--load" in known:
                    elsewhere = "use --load FILE.ms"
                hint = f"; {elsewhere}" if elsewhere else nearest(name, known)
                one.error(f"unknown option {name}{hint}")
            one.error(f"unexpected argument {quoted(unknown[0])}")
        return given


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, max_help_position=30, **more)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        # `-q, --quiet` and `--target NAME`: the value is not repeated for each name.
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(sorted(action.option_strings, key=len))
        if action.nargs == 0:
            return names
        return f"{names} {self._format_args(action, str(action.metavar))}" if action.metavar else names


def parser_of(commands: Iterable[Command]) -> _Parser:
    """The parser of all commands."""
    parser = _Parser(
        prog="millstream",
        formatter_class=_Formatter,
        description="Online machine learning: exact learning, one example at a time, at native speed.",
        epilog="millstream COMMAND --help shows the options of a command, with examples. Start with\n"
        "  millstream demo\n  millstream run data.csv --target y\n\n" + _EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"millstream {millstream.__version__}")
    several = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for command in commands:
        lines = "\n".join(
            f"  # {words}\n  millstream {line}" if words else f"  millstream {line}"
            for words, line in command.examples
        )
        arguments = [
            f"[{option.value}]" if option.optional else str(option.value)
            for option in command.options
            if option.is_argument
        ]
        one = several.add_parser(
            command.name,
            help=command.words,
            usage=" ".join(["millstream", command.name, *arguments, "[options]"]),
            description=f"{command.words[0].upper()}{command.words[1:]}.\n\n{command.about}",
            epilog=f"examples:\n{lines}" if lines else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        parser.commands[command.name] = one
        groups: dict[str, Any] = {"": one}
        for option in (*command.options, *COMMON):
            if option.group not in groups:
                groups[option.group] = one.add_argument_group(option.group)
            option.add_to(groups[option.group])
    return parser
