// Package machines implements the commands that manage machines, and finds the hosts that users added as machines.
package machines
