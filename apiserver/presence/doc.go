// Package presence tracks which agents are connected, and marks those that are not in a status.
package presence
