// Package ssh has the commands that reach machines: ssh, scp, debug-hooks and charm-history, and the SSH keys of
// models.
package ssh
