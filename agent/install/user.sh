#!/bin/sh
# Creates the login user, with sudo rights.
id ubuntu >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ubuntu
mkdir -p /etc/sudoers.d
# Keeps the session's unit for juju-run under sudo.
cat >/etc/sudoers.d/90-juju-ubuntu <<'SUDOERS'
ubuntu ALL=(ALL) NOPASSWD:ALL
Defaults:ubuntu env_keep += "JUJU_UNIT_NAME"
SUDOERS
chmod 0440 /etc/sudoers.d/90-juju-ubuntu
