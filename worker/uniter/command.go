package uniter

import "juju/hooks"

// nextCommand returns the channel of the next command of a user of the machine; nil while there is
// one.
func (r *remote) nextCommand() <-chan *hooks.Command {
	if r.command != nil {
		return nil
	}
	return r.commands
}

// endCommand answers the user whose command was to run. err says why it has not been run to its end.
func (r *remote) endCommand(err error) {
	if r.command.Err == nil {
		r.command.Err = err
	}
	r.command.End()
	r.command = nil
}
