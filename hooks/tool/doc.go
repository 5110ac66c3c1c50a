// Package tool is how a hook tool reaches its unit agent: the protocol, the
// agent's server and the tool's client, and the launcher by which an agent
// starts a hook. The program cmd/hook-tool is little more than a call of it, so
// this package is kept small and quick to start.
//
// A tool connects to the unix socket that JUJU_AGENT_SOCKET names, sends one
// Request, and gets one Reply. In between the agent may ask it, any number of
// times, for the content of a file (or of its standard input): files that a
// charm names are always read and written by the tool, in whose directory and
// with whose rights the charm means them. Each message is its length in four
// bytes, the highest first, and that many bytes of JSON.
//
// What guards it: the socket lies in a directory that only the agent's user can
// enter, and every request shows the id of its hook context, JUJU_CONTEXT_ID,
// which ends in 130 random bits and is good as long as its hook runs.
package tool
