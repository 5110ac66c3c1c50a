// Package cli is what the commands of juju share: a session with its streams and flags, which controller and model a
// command works with, arguments, files, output formats, progress, prompts and errors of usage.
package cli
