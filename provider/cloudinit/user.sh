#!/bin/sh
# The user that people log in as, who may do everything on the machine.
id ubuntu >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ubuntu
mkdir -p /etc/sudoers.d
echo 'ubuntu ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/90-juju-ubuntu
chmod 0440 /etc/sudoers.d/90-juju-ubuntu
