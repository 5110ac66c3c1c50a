// Package lxd is the cloud of an LXD server, or of a cluster of them: an instance is a system
// container, and its machine agent a systemd service that cloud-init installs.
//
// All state is in LXD: containers and storage volumes are tagged with controller, model, machine and
// nonce in user.juju-* keys. Only the tags matter; the names are for people. Any number of processes
// can use one server.
//
// The file with the agent's secrets is written through LXD's API before the container first starts.
// The container's configuration, which every process in it can read, contains no secrets.
//
// The API types are those of LXD's client library. The rest of the library is not used: it pulls in
// thirty modules for authentication methods that we don't need, and its requests can't have individual
// timeouts, because they share their connection's context.
package lxd
