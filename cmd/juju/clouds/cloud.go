package clouds

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// A Cloud is what commands must know of the cloud of a controller or model.
type Cloud interface {
	// Controller returns the view of a controller from this client.
	Controller(At) Controller
	// TakesHosts reports whether users can add hosts to models, as machines. Hosts must reach the controller.
	TakesHosts() bool
	// TakesKeys reports whether machines take the SSH keys of their model from this client.
	TakesKeys() bool
	// HasSSH reports whether machines are reached by SSH.
	HasSSH() bool
	// MachineDir returns the directory that an instance is, of a controller with what is in dir; "" if instances
	// are no directories of this host.
	MachineDir(dir, model, instance string) string
	// GrantNote is what to tell whoever gives a user the right to change a model; "" for nothing.
	GrantNote(user string) string
}

// A Home is a cloud on which this client creates and destroys controllers. What it needs to know of
// a controller is in a directory of the client's data.
type Home interface {
	Cloud
	// Prepare completes and checks the parameters of a controller. It creates nothing.
	Prepare(ctx context.Context, params *BootstrapParams) error
	// Create creates a controller; dir exists and is locked. If it fails or is killed, Destroy
	// removes what it has left.
	Create(ctx context.Context, dir string, params BootstrapParams, p *cli.Progress) (*Bootstrapped, error)
	// Start starts a controller that was created, and returns when it is starting.
	Start(ctx context.Context, dir, controller string) error
	// Destroy ends and removes all that a controller has, and dir. Storage is kept unless
	// destroyStorage says otherwise; kept says where, as in "volume v of LXD's storage pool p".
	// controller is "" if it is not known.
	Destroy(ctx context.Context, dir, controller string, destroyStorage bool) (kept []string, err error)
	// IsFree reports whether dir has nothing but storage that an earlier controller has left.
	IsFree(dir string) bool
	// OutsideStorage returns the storage that models have outside of what Destroy removes, by model.
	OutsideStorage(dir string) (map[string][]string, error)
}

// An At says which controller is meant.
type At struct {
	Dir  string // what this client has of it, if it created it
	Name string
	UUID string
}

// A Controller is a controller seen from outside, when it does not answer.
type Controller interface {
	// IsKept reports whether something keeps it running. If not, Revive starts it.
	IsKept() (bool, error)
	// Revive starts it, and tells the user.
	Revive(ctx context.Context, s *cli.Session) error
	// Killed says how it was killed, if that was a short while ago; else "".
	Killed() string
	// IsDown reports whether its cloud says that it is stopped, or even gone.
	IsDown(ctx context.Context) (down, gone bool)
	// WaitsForRoom reports whether it cannot start because the disk is full.
	WaitsForRoom() bool
	// Unreachable adds to the error of a controller that did not answer what to do about it.
	Unreachable(why error) error
	// Lost adds to the error of a command what its cloud knows about a lost or refused connection.
	Lost(err error) error
}

// Homes are the clouds on which controllers can be created.
var Homes = map[string]Home{Default: localCloud{}, lxdName: lxdCloud{}}

// Default is the cloud that bootstrap uses if the user names none.
const Default = localName

// Of returns the cloud of that name.
func Of(name string) Cloud {
	if home, ok := Homes[name]; ok {
		return home
	}
	return otherCloud{}
}

// Names returns the names of the clouds, for messages.
func Names() string { return strings.Join(slices.Sorted(maps.Keys(Homes)), ", ") }

// Dir returns the directory with what this client has of a controller on a cloud.
func Dir(st *store.Store, cloud, name string) string { return filepath.Join(st.Dir(), cloud, name) }

// ControllerOf returns the view of a controller that the client knows.
func ControllerOf(st *store.Store, name string, ctrl *store.Controller) Controller {
	return Of(ctrl.Cloud).Controller(At{Dir(st, ctrl.Cloud, name), name, ctrl.UUID})
}

// HomeOf returns the cloud on which this client created a controller, or tried to. The error is
// NotFound if there is no such controller, and NotSupported if another client created it.
func HomeOf(st *store.Store, contents *store.Contents, name string) (cloud string, err error) {
	ctrl, known := contents.Controllers[name]
	if known {
		if _, ok := Homes[ctrl.Cloud]; ok {
			return ctrl.Cloud, nil
		}
	}
	if controllerName.MatchString(name) {
		for _, cloud := range slices.Sorted(maps.Keys(Homes)) {
			dir := Dir(st, cloud, name)
			if info, err := os.Stat(dir); err == nil && info.IsDir() && !Homes[cloud].IsFree(dir) {
				return cloud, nil
			}
		}
	}
	if _, _, err := contents.Controller(name); err != nil {
		return "", err
	}
	return "", entity.WithHint(entity.Errorf(entity.NotSupported, "controller %q was not bootstrapped by this client", name),
		"Destroy it where it was bootstrapped; to forget it: juju unregister %s", name)
}

// lostController is the page about a controller that is gone.
const lostController = "doc/lost-controller.md"

// lost adds to the error of a controller whose database is gone what is left.
func lost(why error, name, what string) error {
	return entity.WithHint(fmt.Errorf("%w; %s, and the controller's database went with it", why, what),
		"Units go on, and their data is there. To save it first, see %s\n"+
			"To remove all that is left: juju destroy-environment %s", lostController, name)
}

var controllerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// CheckName refuses what can't be the name of a controller: a directory is called after it.
func CheckName(name string) error {
	switch {
	case !controllerName.MatchString(name):
		return fmt.Errorf("%q is not a valid name of a controller: it can have letters, digits, hyphens and dots", name)
	case len(name) > entity.MaxName:
		return fmt.Errorf("the name of a controller has %d characters, and can have %d at most", len(name), entity.MaxName)
	}
	return nil
}
