// Package machiner manages the lifecycle of an agent's machine. It reports the machine's addresses and that
// the agent has started. When the machine is Dying and has no units, it makes the machine Dead and terminates the
// agent.
package machiner
