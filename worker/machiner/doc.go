// Package machiner looks after the machine's own entity. It reports the machine's addresses,
// and that the agent has started. When the machine is Dying and its last unit is gone, it makes
// the machine Dead and ends the agent for good.
package machiner
