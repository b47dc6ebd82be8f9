"""`hybridkg completion`."""

from __future__ import annotations

import click

COMPLETE_VARIABLE = "_HYBRIDKG_COMPLETE"
"""The variable that the shell sets when it requests completions from click."""

INSTALL = {
    "bash": "hybridkg completion bash > ~/.hybridkg-complete.bash\necho '. ~/.hybridkg-complete.bash' >> ~/.bashrc",
    "zsh": "hybridkg completion zsh > ~/.hybridkg-complete.zsh\n"
    "echo '. ~/.hybridkg-complete.zsh' >> ~/.zshrc      # after compinit",
    "fish": "hybridkg completion fish > ~/.config/fish/completions/hybridkg.fish",
}
"""Commands that install the script, by shell."""


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
    assert maker is not None  # click supports all three
    script = maker(ctx.find_root().command, {}, "hybridkg", COMPLETE_VARIABLE)
    # Not `script.source()`, which starts a bash for its version, and there may be none.
    click.echo((script.source_template % script.source_vars()).strip())
    # After the script, whose first line must be first in zsh, and as a comment, because a shell reads the output.
    click.echo("\n# To install it:")
    click.echo("\n".join(f"#   {line}" for line in INSTALL[shell].splitlines()))
