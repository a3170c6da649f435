#!/bin/sh
# libnftables 1.0.6 (Debian 12): a context that made a dry run takes what the dry run did for what the kernel holds.
#
# Seen: a program uses one context of the library for all its commands, as the manual's nft_ctx_set_dry_run allows. With dry_run on,
# `delete table inet t` is only checked: the kernel keeps the table. With dry_run off again, `reset counter inet t k` of that context
# fails with "No such file or directory"; the same command by a new context prints the counter. The library's cache of the ruleset
# dropped the table during the dry run, and is not read again while the kernel's generation number stays the same, which a dry run
# does not raise. A `list` in between reads it again.
#   after the dry run, same context: -1 Error: No such file or directory
#   new context: 0 counter k
# Needs Linux with nftables, and the right to make a user and a network namespace.
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 libmnl0=1.0.4-3 libjansson4=2.14-2 libxtables12=1.8.9-2 2>"$folder/log" ||
    { cat "$folder/log"; exit 2; }
for package in *.deb; do dpkg-deb -x "$package" .; done
cat >ask.py <<'PYTHON'
import ctypes

nft = ctypes.CDLL("libnftables.so.1")
nft.nft_ctx_new.restype = ctypes.c_void_p
for name in ("nft_ctx_buffer_output", "nft_ctx_buffer_error", "nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
    getattr(nft, name).argtypes = [ctypes.c_void_p]
nft.nft_ctx_get_output_buffer.restype = nft.nft_ctx_get_error_buffer.restype = ctypes.c_char_p
nft.nft_ctx_set_dry_run.argtypes = [ctypes.c_void_p, ctypes.c_bool]
nft.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def context():
    made = nft.nft_ctx_new(0)
    nft.nft_ctx_buffer_output(made)
    nft.nft_ctx_buffer_error(made)
    return made


def run(used, commands, dry_run=False):
    nft.nft_ctx_set_dry_run(used, dry_run)
    code = nft.nft_run_cmd_from_buffer(used, commands)
    text = nft.nft_ctx_get_output_buffer(used) + nft.nft_ctx_get_error_buffer(used)
    found = [line.strip(" \t{") for line in text.decode().splitlines() if "counter k {" in line or "Error" in line]
    return f"{code} {' '.join(found)}".strip()


assert run(context(), b"add table inet t\nadd counter inet t k") == "0"
kept = context()
assert run(kept, b"delete table inet t", dry_run=True) == "0"
print("after the dry run, same context:", run(kept, b"reset counter inet t k"))
print("new context:", run(context(), b"reset counter inet t k"))
PYTHON
seen=$(LD_LIBRARY_PATH=$(dirname "$(find "$folder/usr" -name 'libnftables.so.1')"):$(dirname "$(find "$folder" -name 'libmnl.so.0')") \
    unshare --map-root-user --net python3 ask.py)
echo "$seen"
[ "$seen" = "after the dry run, same context: -1 Error: No such file or directory
new context: 0 counter k" ] && echo "as found" && exit 0
echo "changed" && exit 1
