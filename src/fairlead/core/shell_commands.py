"""Commands as a shell would read them, as far as standing rules must know: which are plain, and how they begin. Pure.

What is not understood for certain is no plain command. A shell's grammar is not parsed here: it is refused.
"""

import re
from typing import Final

_SPECIAL: Final = frozenset(";&|<>()$`\\#!^\n\t")
"""Outside of quotation marks each of these may do more than stand for itself, in one shell or another."""

_SPECIAL_IN_QUOTES: Final = frozenset("$`\\!")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_VERSION: Final = re.compile(r"[-.\d]+$")


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command as a POSIX shell would split them; None unless it is one plain command, without operators,
    expansions (but file name patterns), escapes or anything that cannot be seen."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    for char in command:
        if not char.isprintable():
            return None
        if quote:
            if char == quote:
                quote = ""
            elif quote == '"' and char in _SPECIAL_IN_QUOTES:
                return None
            else:
                word = (word or "") + char
        elif char in "'\"":
            quote, word = char, word or ""
        elif char == " ":
            words += [word] if word is not None else []
            word = None
        elif char in _SPECIAL:
            return None
        else:
            word = (word or "") + char
    if quote:
        return None
    words += [word] if word is not None else []
    return tuple(words) or None


def narrow_prefix(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The first words by which such commands may be allowed: the program, and its subcommand where it has some. None
    where a rule of that width would allow anything."""
    program = words[0]
    if not _NAME.fullmatch(program) or _ANYTHING & {program.lower(), _family(program)}:
        return None
    if program not in _SUBCOMMANDS:
        return words[:1]
    known, dangerous = _SUBCOMMANDS[program]
    if len(words) < 2 or words[1] not in known:
        return None
    return None if any(_names_option(word, dangerous) for word in words[2:]) else words[:2]


def _family(program: str) -> str:
    """The program without its version: python3.12, pip3, clang-18."""
    return _VERSION.sub("", program.lower())


def _names_option(word: str, options: tuple[str, ...]) -> bool:
    """Whether the word is one of the options, with or without its value, in one word or shortened."""
    name = word.partition("=")[0].removeprefix("-")
    return word.startswith("-") and any(
        name == option[1:] or (len(name) > 1 and option[1:].startswith(name)) or _is_glued(word, option)
        for option in options
    )


def _is_glued(word: str, option: str) -> bool:
    """A short option with its value in the same word: `-Zunstable`."""
    return len(option) == 2 and word.startswith(option)


_SUBCOMMANDS: Final[dict[str, tuple[frozenset[str], tuple[str, ...]]]] = {
    "git": (frozenset({"add", "branch", "commit", "stash", "status", "switch", "tag"}), ()),
    "cargo": (frozenset({"bench", "build", "check", "clippy", "doc", "fmt", "test"}), ("--config", "-Z")),
    "go": (frozenset({"build", "fmt", "test", "vet"}), ("-exec", "-toolexec", "-vettool", "--exec", "--toolexec")),
}
"""Programs that do very different things by their second word: the subcommands that a rule may allow with any
arguments, and the options that run another program all the same."""

_INTERPRETERS: Final = """
sh bash dash zsh ksh csh tcsh fish ash busybox toybox pwsh powershell cmd eval exec source command builtin
alias trap python pypy ipython node nodejs deno bun ts-node tsx ruby irb perl php lua luajit tclsh expect
guile sbcl coverage racket julia r rscript octave java jshell scala kotlin groovy elixir erl ghci runghc swift
dart awk gawk mawk nawk sed jq yq bc dc sqlite psql mysql mongo mongosh redis-cli osascript m4
"""
"""Shells, interpreters, and what evaluates its arguments."""

_RUNNERS: Final = """
env sudo su doas run0 pkexec runuser setpriv chroot unshare nsenter bwrap firejail fakeroot proot xargs
parallel nohup nice ionice chrt taskset setsid stdbuf timeout time watch strace ltrace gdb lldb valgrind perf
script screen tmux at batch cron crontab entr flock find fd locate start-stop-daemon systemd-run
dbus-run-session xvfb-run direnv hyperfine npx uvx pipx pnpx bunx dlx
"""
"""What runs another program."""

_BUILDERS: Final = """
make gmake cmake ninja meson bazel buck just task rake gradle gradlew mvn ant sbt lein mix npm pnpm yarn pip
uv poetry pdm hatch conda mamba apt apt-get dpkg yum dnf rpm pacman apk brew port snap flatpak gem bundle
composer nix nix-shell guix cc gcc g++ c++ clang clang++ ld as tcc rustc
"""
"""Builds and packages, whose arguments name what is run or fetched."""

_REMOTE: Final = """
ssh scp sftp rsync rclone mosh telnet nc ncat netcat socat curl wget aria2c ftp docker podman nerdctl
kubectl helm oc terraform tofu pulumi ansible ansible-playbook vagrant aws gcloud az gh glab heroku fly vercel
netlify
"""
"""Other machines, other accounts, containers."""

_CHANGERS: Final = """
rm rmdir mv cp ln install dd tee truncate shred mkfs mount umount chmod chown chgrp chattr setfacl touch mkdir
mknod mkfifo tar bsdtar zip unzip 7z cpio ar patch split csplit kill killall pkill reboot shutdown halt
poweroff systemctl service launchctl sysctl iptables ip useradd usermod userdel passwd visudo
"""
"""What changes files or processes anywhere."""

_EDITORS: Final = """
vi vim nvim view ex ed emacs emacsclient nano micro helix hx code less more most man info git-shell open
xdg-open start
"""
"""Editors and pagers, which have a shell of their own."""

_ANYTHING: Final = frozenset(
    f"{_INTERPRETERS} {_RUNNERS} {_BUILDERS} {_REMOTE} {_CHANGERS} {_EDITORS}".split(),
)
"""A rule for any arguments of these would allow anything."""
