"""`millstream completion`: print a completion script for a shell."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from millstream import registry
from millstream.cli.options import COMMON, OK, Command, Option
from millstream.notation import IN_PYTHON

__all__ = ["COMMAND", "script"]

SHELLS = ("bash", "zsh", "fish")


def main(given: Namespace) -> int:
    """Run the command."""
    from millstream.cli.commands import COMMANDS

    print(script(given.shell, COMMANDS), end="")
    return OK


def words_for(option: Option) -> list[str]:
    """The possible values of an option, if they are known."""
    if option.choices:
        return list(option.choices)
    if option.complete == "role":
        return sorted({registry.entry(name)["role"] for name in registry.find()})
    if option.complete in ("part", "metric"):
        roles = {"metric"} if option.complete == "metric" else None
        entries = [registry.entry(name) for name in registry.find()]
        named = [entry["name"] for entry in entries if roles is None or entry["role"] in roles]
        named += [name for name, role in IN_PYTHON.items() if roles is None or role in roles]
        return [name.rpartition(".")[2] for name in sorted(named)]
    return []


def script(shell: str, commands: Sequence[Command]) -> str:
    """The script for a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _options(command: Command) -> list[Option]:
    return [option for option in (*command.options, *COMMON) if not option.is_argument]


def _bash(commands: Sequence[Command]) -> str:
    cases, values = [], []
    for command in commands:
        names = " ".join(name for option in _options(command) for name in option.names)
        arguments = [word for option in command.options if option.is_argument for word in words_for(option)]
        cases.append(f'    {command.name}) words="{names} --help {" ".join(arguments)}";;')
        for option in _options(command):
            if words := words_for(option):
                values += [f'    {command.name}:{name}) words="{" ".join(words)}";;' for name in option.names]
    every = " ".join(command.name for command in commands)
    return f"""# bash completion for millstream: eval "$(millstream completion bash)"
_millstream() {{
  local here="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local command="${{COMP_WORDS[1]}}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{every} --help --version" -- "$here"))
    return
  fi
  case "$command:$before" in
{chr(10).join(values)}
  esac
  if [ -z "$words" ] && [ "${{before#--}}" != "$before" ] && [ "${{here#-}}" = "$here" ]; then
    COMPREPLY=($(compgen -f -- "$here"))
    return
  fi
  [ -n "$words" ] || case "$command" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$here"))
  [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$here"))
}}
complete -o filenames -F _millstream millstream
"""


def _zsh(commands: Sequence[Command]) -> str:
    lines = ["#compdef millstream", "# zsh completion for millstream: millstream completion zsh > _millstream", ""]
    lines += ["_millstream() {", "  local -a commands", "  commands=("]
    lines += [f"    {_zsh_quoted(f'{command.name}:{command.words}')}" for command in commands]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands", "    return", "  fi"]
    lines += ["  local command=$words[2]", "  words=(millstream $words[3,-1])", "  (( CURRENT-- ))"]
    lines.append("  case $command in")
    for command in commands:
        lines.append(f"    {command.name})")
        specs = [spec for option in (*command.options, *COMMON) for spec in _zsh_specs(option)]
        lines += ["      _arguments \\", *(f"        {spec} \\" for spec in specs), "        ;;"]
        lines[-2] = lines[-2].removesuffix(" \\")
    lines += ["  esac", "}", "", '_millstream "$@"']
    return "\n".join(lines) + "\n"


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh_specs(option: Option) -> list[str]:
    about = option.words.replace("[", "(").replace("]", ")").replace(":", "\\:")
    words = words_for(option)
    action = f"({' '.join(words)})" if words else "_files"
    value = (option.value or "").replace(":", "\\:")
    if option.is_argument:
        return [_zsh_quoted(f"{'::' if option.optional else ':'}{value}:{action}")]
    star = "*" if option.many else ""
    end = "" if option.is_flag else f":{value}:{action}"
    if option.values:
        end = "".join(f":{each}:" for each in option.values)
    return [_zsh_quoted(f"{star}{name}[{about}]{end}") for name in option.names]


def _fish(commands: Sequence[Command]) -> str:
    lines = ["# fish completion for millstream: millstream completion fish | source"]
    every = " ".join(command.name for command in commands)
    lines.append("complete -c millstream -f -n '__fish_use_subcommand' -l version -d 'the version'")
    for command in commands:
        about = f"-a {command.name} -d {_fish_quoted(command.words)}"
        lines.append(f"complete -c millstream -f -n '__fish_use_subcommand' {about}")
        seen = f"-n '__fish_seen_subcommand_from {command.name}'"
        for option in (*command.options, *COMMON):
            words = " ".join(words_for(option))
            if option.is_argument:
                if words:
                    lines.append(f"complete -c millstream {seen} -a {_fish_quoted(words)}")
                continue
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = "" if option.is_flag else f" -x -a {_fish_quoted(words)}" if words else " -r"
            lines.append(f"complete -c millstream {seen} {names}{value} -d {_fish_quoted(option.words)}")
    return "\n".join(lines) + f"\n# commands: {every}\n"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


COMMAND = Command(
    "completion",
    "print a shell completion script",
    "The script completes commands, options and names of components.",
    (Option(("shell",), "shell", value="bash|zsh|fish", choices=SHELLS),),
    (
        ("for the current shell", "completion bash > ~/.millstream-completion && . ~/.millstream-completion"),
        ("for zsh, in a directory of $fpath", "completion zsh > ~/.zfunc/_millstream"),
        ("for fish", "completion fish > ~/.config/fish/completions/millstream.fish"),
    ),
    main,
)
