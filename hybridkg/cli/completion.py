"""`hybridkg completion`."""

from __future__ import annotations

import click

COMPLETE_VARIABLE = "_HYBRIDKG_COMPLETE"
"""The variable by which click knows that the shell, not a person, is asking."""

INSTALL = {
    "bash": "hybridkg completion bash > ~/.hybridkg-complete.bash\necho '. ~/.hybridkg-complete.bash' >> ~/.bashrc",
    "zsh": "hybridkg completion zsh > ~/.hybridkg-complete.zsh\n"
    "echo '. ~/.hybridkg-complete.zsh' >> ~/.zshrc      # behind compinit",
    "fish": "hybridkg completion fish > ~/.config/fish/completions/hybridkg.fish",
}
"""What to type, once, for each shell."""


@click.command()
@click.argument("shell", type=click.Choice(list(INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a completion script for your shell.

    With it, the Tab key completes commands, options and file names.

    \b
    Example:
      hybridkg completion bash > ~/.hybridkg-complete.bash
      echo '. ~/.hybridkg-complete.bash' >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    assert maker is not None  # click knows all three
    script = maker(ctx.find_root().command, {}, "hybridkg", COMPLETE_VARIABLE)
    # Not `script.source()`: for bash it starts a bash to ask its version, and there may be none here.
    click.echo((script.source_template % script.source_vars()).strip())
    # Behind the script: zsh wants its own first line first. As a comment: the output is read by a shell.
    click.echo("\n# To install it:")
    click.echo("\n".join(f"#   {line}" for line in INSTALL[shell].splitlines()))
