// Package machines has the commands about machines, and finds the hosts that users have added as machines.
package machines
