#!/bin/sh
# The user that people log in as, who may do everything on the machine.
id ubuntu >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ubuntu
mkdir -p /etc/sudoers.d
# With sudo, juju-run still knows the unit of the session.
cat >/etc/sudoers.d/90-juju-ubuntu <<'SUDOERS'
ubuntu ALL=(ALL) NOPASSWD:ALL
Defaults:ubuntu env_keep += "JUJU_UNIT_NAME"
SUDOERS
chmod 0440 /etc/sudoers.d/90-juju-ubuntu
