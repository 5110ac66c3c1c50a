// Package status implements the commands that inspect a model: status, explain, show-status-log and debug-log.
package status
