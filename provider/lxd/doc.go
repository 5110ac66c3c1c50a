// Package lxd is the cloud of an LXD server, or of a cluster of them: an instance is a system
// container, and its machine agent a systemd service that cloud-init installs.
//
// LXD itself keeps everything: containers and storage volumes are named and tagged by controller,
// model, machine and nonce, in their user.juju-* keys. Only the tags count; the names are for people.
// Any number of processes may use one server.
//
// The file with the agent's secrets is written into a container through LXD's API before it first
// starts. The container's configuration, which every process in the container can read, has no
// secrets.
//
// The types of LXD's API are those of its own client library. The rest of that library is not used:
// it brings thirty modules for ways to log in that we don't have, and its requests can't be bounded
// one by one, because all share the context of their connection.
package lxd
