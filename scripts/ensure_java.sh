#!/bin/sh
# Succeeds where Java 17+ is to be had, which Spark 4.3 needs.
# Where it is not: installs Debian's headless JRE when run as root, else says in one line what to install.
set -eu

# Spark looks in JAVA_HOME first and on the PATH only if that is not set; so does this check.
java_17_found() {
    if [ -n "${JAVA_HOME:-}" ]; then
        java="$JAVA_HOME/bin/java"
    else
        java=java
    fi
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1) || return 1
    [ -n "$version" ] && [ "$version" -ge 17 ]
}

java_17_found && exit 0

if [ -n "${JAVA_HOME:-}" ]; then
    echo "Spark needs Java 17 or newer, and JAVA_HOME ($JAVA_HOME) is not that: point it at one, or unset it." >&2
    exit 1
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No Java 17+ found: installing Debian's default-jre-headless ..." >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless; } >&2 || true
    java_17_found && exit 0
fi

echo "Spark needs Java 17 or newer: install it (Debian/Ubuntu: sudo apt-get install default-jre-headless) or set JAVA_HOME." >&2
exit 1
