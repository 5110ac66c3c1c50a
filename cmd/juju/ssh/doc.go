// Package ssh implements the commands that connect to machines, ssh, scp, debug-hooks and charm-history, and those that
// manage the SSH keys of models.
package ssh
