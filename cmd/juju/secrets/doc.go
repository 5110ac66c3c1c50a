// Package secrets has the commands for secrets: those of users, and what charms keep.
package secrets
