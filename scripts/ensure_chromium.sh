#!/bin/sh
# Succeeds where Chromium is to be had, in which the tests of the console run.
# Where it is not: installs Debian's when run as root, else says in one line what to install.
set -eu

chromium_found() {
    command -v chromium >/dev/null 2>&1
}

chromium_found && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No Chromium found: installing Debian's chromium ..." >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2 || true
    chromium_found && exit 0
fi

echo "The tests of the console need Chromium: install it (Debian/Ubuntu: sudo apt-get install chromium); without it they are skipped." >&2
exit 1
