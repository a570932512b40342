#!/usr/bin/env bash
# Set up this checkout: the virtual environment here, the rest in Python (rehearsal/setup). Safe to run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

serves() { # whether $1 runs and is a Python that this project supports
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3; do
        if serves "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null || fail "Root rights are needed for: $*, and there is no sudo: run that as root."
        sudo "$@"
    fi
}

make_environment() {
    local python version
    python=$(find_python) ||
        fail "Python 3.11, 3.12 or 3.13 is missing: apt-get install python3, or name one with PYTHON=/path make setup."
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        # Debian keeps these two in a package of their own.
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        command -v apt-get >/dev/null || fail "Python $version lacks its venv and ensurepip modules: install them."
        printf 'Python: installing python%s-venv (virtual environments need it) …\n' "$version"
        as_root apt-get install -qq -y --no-install-recommends "python$version-venv" ||
            { as_root apt-get update -qq && as_root apt-get install -qq -y "python$version-venv"; } ||
            fail "python$version-venv is missing: run 'apt-get update && apt-get install python$version-venv' as root."
    fi
    printf 'Python: making .venv with %s (nothing is installed outside of it) …\n' "$("$python" --version)"
    "$python" -m venv --clear .venv
}

serves .venv/bin/python || make_environment
.venv/bin/python -m rehearsal.setup.python_packages
exec .venv/bin/python -m rehearsal.setup "$@"
