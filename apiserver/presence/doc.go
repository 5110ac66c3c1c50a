// Package presence knows which agents are connected, and marks in a status those that are not.
package presence
