package clouds

import (
	"context"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// An otherCloud is one on which this client does not create controllers, but can be registered with them.
type otherCloud struct{}

// Controller implements Cloud.
func (otherCloud) Controller(at At) Controller { return registered{at} }

// TakesHosts implements Cloud.
func (otherCloud) TakesHosts() bool { return true }

// TakesKeys implements Cloud.
func (otherCloud) TakesKeys() bool { return false }

// HasSSH implements Cloud.
func (otherCloud) HasSSH() bool { return true }

// MachineDir implements Cloud.
func (otherCloud) MachineDir(dir, model, instance string) string { return "" }

// GrantNote implements Cloud.
func (otherCloud) GrantNote(user string) string { return "" }

// A registered controller is one of which the client knows only the addresses. It also provides defaults for other
// controllers.
type registered struct{ At }

// IsKept implements Controller.
func (registered) IsKept() (bool, error) { return true, nil }

// Revive implements Controller.
func (registered) Revive(context.Context, *cli.Session) error { return nil }

// Killed implements Controller.
func (registered) Killed() string { return "" }

// IsDown implements Controller.
func (registered) IsDown(context.Context) (down, gone bool) { return false, false }

// LacksSpace implements Controller.
func (registered) LacksSpace() bool { return false }

// Unreachable implements Controller.
func (r registered) Unreachable(why error) error {
	return entity.WithHint(why, "Ask its administrator. To forget the controller: juju unregister %s", r.Name)
}

// Lost implements Controller.
func (registered) Lost(err error) error { return err }
