# Sourced by the other scripts, from the checkout's root: makes .venv fit for what they start.
#
#   use_environment demo|test
#
# sets $python to the environment's interpreter. It installs only when something is missing or outdated, which a stamp
# in .venv tells, so a checkout that was set up once works without a network. pip is configured by the caller's own
# pip.conf and PIP_* variables.

complain() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-} python3 python3.11 python3.12 python3.13 python3.14 python; do
        if is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    found=$(python3 --version 2>/dev/null || echo 'no python3')
    complain "Python 3.11 or newer is needed, found: $found. Name one with PYTHON=/path/to/python3."
}

make_environment() {
    if is_new_enough .venv/bin/python; then
        .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
        return
    fi
    base=$(find_python) || exit 1
    echo "making .venv with $("$base" --version)"
    "$base" -m venv --clear .venv || {
        rm -rf .venv
        complain "$base cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv"
    }
}

fingerprint_of() {
    # each pyproject.toml too: the commands and plug-ins it declares are written at installation, and the folders that
    # are imported from
    cat "requirements/$1.txt" pyproject.toml packages/*/pyproject.toml | cksum
    pwd -P
}

is_set_up() {
    [ -f ".venv/evenkeel-$1" ] && [ "$(cat ".venv/evenkeel-$1")" = "$(fingerprint_of "$1")" ] &&
        is_new_enough .venv/bin/python
}

install_locked() {
    echo "installing requirements/$1.txt (first time: some minutes)"
    .venv/bin/python -m pip install -qq --no-input --disable-pip-version-check -r "requirements/$1.txt" ||
        complain "pip could not install requirements/$1.txt; see its message above"
    install_project .
    # after the product, which owned the emulator's command before it was a distribution of its own, and removes it
    install_project packages/icontrol-emulator
    install_project packages/icontrol-as3
    install_project packages/evenkeel-octavia
    install_project packages/evenkeel-neutron
    fingerprint_of "$1" >".venv/evenkeel-$1"
}

install_project() {
    .venv/bin/python -m pip install -qq --no-input --disable-pip-version-check \
        --no-index --no-deps --no-build-isolation -e "$1" || complain "pip could not install the project in $1"
}

use_environment() {
    python=.venv/bin/python
    # what the tests need holds all that the demo needs
    if is_set_up "$1" || { [ "$1" = demo ] && is_set_up test; }; then
        return
    fi
    make_environment
    install_locked "$1"
}

# the version of the package in a folder
version_of() {
    sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$1/__init__.py"
}
