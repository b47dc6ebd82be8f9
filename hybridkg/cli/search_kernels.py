"""Compilation of the search kernels, on the command line: all of them, or what a command leaves to the background."""

from __future__ import annotations

from contextlib import suppress

from hybridkg.cli.echo import echo
from hybridkg.compute.kernel_list import Kernel


def compile_all() -> list[Kernel]:
    """Compiles every kernel that is not compiled, with two processes; prints each with its number and its seconds.

    Raises:
        StorageError: they cannot be compiled or stored.
    """
    from hybridkg.cli.output import TerminalProgress
    from hybridkg.compute import compilation, kernel_cache
    from hybridkg.compute.kernel_list import KERNELS
    from hybridkg.errors import StorageError
    from hybridkg.kb.write.await_kernels import LABEL

    progress = TerminalProgress()
    shown: list[Kernel] = []

    def show(*_: object) -> None:
        for kernel in compilation.compiled():
            if kernel not in shown and kernel not in before:
                shown.append(kernel)
                number = len(before) + len(shown)
                progress.advance(1, 1)
                seconds = kernel_cache.seconds_of(kernel.module)
                echo(f"{number:>2}/{len(KERNELS)}  {kernel.name}: {seconds:.1f} s")

    try:
        before = compilation.compiled()
        progress.start(LABEL, len(KERNELS))
        progress.advance(len(before), len(before))
        compilation.start()
        compilation.wait(float("inf"), show)
        for _ in compilation.remaining():  # where no process could be started, or one has failed
            show()
    except (ImportError, OSError, RuntimeError) as e:
        raise StorageError(
            f"the search kernels cannot be compiled: {e}", hint="hybridkg doctor; numpy does their work until then"
        ) from e
    finally:
        progress.done(len(shown))
    show()
    echo(f"all {len(KERNELS)} search kernels are compiled")
    return shown


def tell_what_remains() -> None:
    """Says that kernels which this command would have used are still being compiled, if they are."""
    from hybridkg.compute import compilation
    from hybridkg.compute.kernel_list import KERNELS

    if compilation.has_asked():
        with suppress(ImportError, OSError):
            ready = len(compilation.compiled())
            if ready < len(KERNELS) and compilation.is_running():
                echo(
                    f"search kernels are being compiled in the background, {ready} of {len(KERNELS)} so far; large "
                    "searches take longer until then",
                    err=True,
                )
