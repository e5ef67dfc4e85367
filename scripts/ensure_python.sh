#!/bin/sh
# Prints the path of a Python 3.11+ that can make virtual environments.
# Where there is none: installs Debian's when run as root, else says in one line what to install.
set -eu

usable() {
    "$1" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python /usr/bin/python3; do
        if [ -n "$candidate" ] && path=$(command -v "$candidate" 2>/dev/null) && usable "$path"; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

find_python && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No Python 3.11+ with venv found: installing Debian's python3 and python3-venv ..." >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv; } >&2 || true
    find_python && exit 0
fi

echo "Tamis needs Python 3.11 or newer with venv: install it (Debian/Ubuntu: sudo apt-get install python3 python3-venv), or say which to use with PYTHON=/path/to/python3." >&2
exit 1
