// Package backups has the commands for backups of controllers.
package backups
