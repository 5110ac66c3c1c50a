// Package machiner keeps the machine's own entity: it tells the controller the
// machine's addresses and that its agent has started, and when the machine is Dying
// and its last unit is gone it makes it Dead, with which the agent ends for good.
package machiner
