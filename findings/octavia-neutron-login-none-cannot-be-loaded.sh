#!/bin/sh
# Octavia 19.0.0: its section [neutron] cannot have keystoneauth's login "none", which [service_auth] can have.
#
# Seen: keystoneauth's auth_type "none" is for services without a Keystone; it has one option, `endpoint`. In octavia.conf's
# [service_auth] it is loaded. In [neutron], from which octavia-api and octavia-worker log in at Neutron, loading ends with
# DuplicateOptError: Octavia has registered an option `endpoint` of its own there, a deprecated name of `endpoint_override`, and
# oslo.config takes the second one of that name for a conflict. So an Octavia beside a Neutron without Keystone needs a detour:
# `auth_section = service_auth`.
#
#   login of [service_auth]: loaded
#   login of [neutron]: DuplicateOptError
#   login of [neutron] by auth_section: loaded
#
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check octavia==19.0.0 octavia-lib==3.12.0 SQLAlchemy==2.1.9 oslo.db==18.1.1 \
    oslo.config==10.7.0 keystoneauth1==5.18.1
for section in service_auth neutron; do
    printf '[%s]\nauth_type = none\nendpoint = http://127.0.0.1:9696\n' "$section"
done >"$folder/direct.conf"
sed 's/^\[neutron\]$/&\nauth_section = service_auth\n[unused]/' "$folder/direct.conf" >"$folder/detour.conf"
cat >"$folder/log_in.py" <<'PYTHON'
import sys

from octavia.common import config, keystone

section, file = sys.argv[1:]
config.init(["--config-file", file])
try:
    keystone.KeystoneSession(section).get_session()
except Exception as error:
    print(type(error).__name__)
else:
    print("loaded")
PYTHON
login() {
    "$folder/venv/bin/python" -W ignore "$folder/log_in.py" "$1" "$folder/$2.conf" 2>/dev/null | tail -n 1
}
service_auth=$(login service_auth direct)
neutron=$(login neutron direct)
detour=$(login neutron detour)
echo "login of [service_auth]: $service_auth"
echo "login of [neutron]: $neutron"
echo "login of [neutron] by auth_section: $detour"
[ "$service_auth $neutron $detour" = "loaded DuplicateOptError loaded" ]
