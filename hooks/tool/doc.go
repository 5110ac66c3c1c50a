// Package tool connects a hook tool with its unit agent: it has the protocol, the agent's
// server, the tool's client, and the launcher with which an agent starts a hook. The program
// cmd/hook-tool is little more than a call of it, so this package is kept small and quick to
// start.
//
// A tool connects to the unix socket named by JUJU_AGENT_SOCKET, sends one Request, and gets
// one Reply. In between, the agent may ask it, any number of times, for the content of a file
// (or of its standard input): a file that a charm names is always read and written by the tool,
// in the directory and with the rights of the charm. Each message is its length in four bytes,
// big-endian, and that many bytes of JSON.
//
// Access is guarded twice: the socket is in a directory that only the agent's user can enter,
// and every request carries the id of its hook context, JUJU_CONTEXT_ID, which ends in 130
// random bits and is valid only while its hook runs.
package tool
