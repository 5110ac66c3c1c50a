// Package cli has what the commands of juju share: a session with its streams and flags, the target controller and
// model, arguments, files, output formats, progress, prompts and usage errors.
package cli
