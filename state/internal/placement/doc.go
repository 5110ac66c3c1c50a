// Package placement chooses the machines of new units: those that users name, machines that never had a unit, and new ones. It
// adds new machines and containers to transactions.
package placement
