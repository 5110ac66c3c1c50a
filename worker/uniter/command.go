package uniter

import "juju/hooks"

// nextCommand returns the channel of juju-run commands, or nil while one is pending.
func (r *remote) nextCommand() <-chan *hooks.Command {
	if r.command != nil {
		return nil
	}
	return r.commands
}

// endCommand returns the result of the pending command to its user. err is why it could not be completed.
func (r *remote) endCommand(err error) {
	if r.command.Err == nil {
		r.command.Err = err
	}
	r.command.End()
	r.command = nil
}
