// Package status has the commands that look at a model: status, explain, show-status-log and debug-log.
package status
