package clouds

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/cmd/juju/store"
	"juju/state/constraints"
	"juju/state/entity"
)

// A Cloud is what commands need to know about the cloud of a controller or model.
type Cloud interface {
	// Controller returns the view of a controller from this client.
	Controller(At) Controller
	// TakesHosts reports whether users can add their hosts to models as machines. Hosts must reach the controller.
	TakesHosts() bool
	// TakesKeys reports whether machines accept their model's SSH keys from this client.
	TakesKeys() bool
	// HasSSH reports whether machines are reachable by SSH.
	HasSSH() bool
	// MachineDir returns an instance's directory on this host, given the controller's directory; "" if instances are
	// not directories.
	MachineDir(dir, model, instance string) string
	// GrantNote is the note to print when a user is granted write access to a model; "" for none.
	GrantNote(user string) string
}

// A Home is a cloud on which this client creates and destroys controllers. It keeps its data about a controller in a
// directory of the client's data.
type Home interface {
	Cloud
	// About describes the cloud to users, in a few words.
	About() string
	// CheckDefinition rejects a user's cloud of this kind that can't be used, and returns the kinds of credentials that it
	// takes.
	CheckDefinition(c cloudfiles.Cloud) (authTypes []string, err error)
	// CheckCredential rejects a credential that such a cloud can't take. Values that name files are replaced by what is in
	// these.
	CheckCredential(c cloudfiles.Cloud, one *entity.CloudCredential) error
	// Questions returns what to ask a user who defines such a cloud or adds a credential of it.
	Questions() Questions
	// FindCredentials returns the credentials of such a cloud that other programs of the user have, by the names that
	// they are known by.
	FindCredentials(c cloudfiles.Cloud, getenv func(string) string) (map[string]entity.CloudCredential, error)
	// SetCredential changes the credential with which Destroy reaches the cloud of a controller, if dir says how.
	SetCredential(dir string, one entity.CloudCredential) error
	// Prepare completes and checks the parameters of a controller. It creates nothing.
	Prepare(ctx context.Context, params *BootstrapParams) error
	// Create creates a controller; dir exists and is locked. If it fails or is killed, Destroy cleans up.
	Create(ctx context.Context, dir string, params BootstrapParams, p *cli.Progress) (*Bootstrapped, error)
	// Restore creates the controller of a backup, without starting it; dir exists and is locked.
	Restore(ctx context.Context, dir string, r Restoration, p *cli.Progress) (*Bootstrapped, error)
	// MigrateStore stops a controller, moves its store to the MongoDB at url or, if that is "", to the embedded store, and
	// starts it again; dir is locked. It fails with NotSupported on clouds where that is not possible.
	MigrateStore(ctx context.Context, dir, controller, url string) error
	// Start starts a created controller, without waiting until it is up.
	Start(ctx context.Context, dir, controller string) error
	// Destroy stops a controller and removes everything that belongs to it, and dir. It keeps storage unless
	// destroyStorage is set; kept says where, as in "volume v of LXD's storage pool p". controller is "" if unknown.
	Destroy(ctx context.Context, dir, controller string, destroyStorage bool) (kept []string, err error)
	// IsFree reports whether dir contains only storage that an earlier controller released.
	IsFree(dir string) bool
	// OutsideStorage returns the models' storage that Destroy does not remove, by model.
	OutsideStorage(dir string) (map[string][]string, error)
}

// Questions are what to ask users about a cloud.
type Questions struct {
	Endpoint   string      // "" if it has none
	Attributes []Attribute // of a credential
}

// An Attribute is asked for, and may be left empty.
type Attribute struct{ Key, Prompt string }

// A Restoration says how a controller is restored.
type Restoration struct {
	Name, Controller string                    // its UUID
	Backup           func() (io.Reader, error) // opens the backup, decrypted, from its start
	Size             int64                     // of the backup, in bytes
	User             string                    // who gets a new password; "" for nobody
	MongoURL         string                    // of the MongoDB for the store; "" for the embedded store
	CloudConfig      string                    // path of a file, for a cloud that is not reached as the backup says; "" for none
	Constraints      constraints.Value         // of the controller's machine
}

// An At identifies a controller.
type At struct {
	Dir  string // this client's data about it, if this client created it
	Name string
	UUID string
}

// A Controller is the external view of a controller, for when it does not respond.
type Controller interface {
	// IsKept reports whether it is supervised. If not, Revive starts it.
	IsKept() (bool, error)
	// Revive starts it, and informs the user.
	Revive(ctx context.Context, s *cli.Session) error
	// Killed says how it was killed, if that was recently; else "".
	Killed() string
	// IsDown reports whether it is stopped, or no longer exists, according to its cloud.
	IsDown(ctx context.Context) (down, gone bool)
	// LacksSpace reports whether it cannot start because the disk is full.
	LacksSpace() bool
	// Unreachable adds to the error of an unresponsive controller what to do about it.
	Unreachable(why error) error
	// Lost adds to a command's error what the cloud knows about a lost or refused connection.
	Lost(err error) error
}

// ParseConstraints parses constraints for a controller's machine or its first model. There are spaces only once the controller runs.
func ParseConstraints(text string) (constraints.Value, error) {
	c, err := constraints.Parse(text)
	if in, out := c.Spaces(); err == nil && len(in)+len(out) > 0 {
		err = entity.WithHint(entity.Errorf(entity.Invalid,
			"cannot use the constraint %q: the spaces of a model are added when its controller runs",
			"spaces"), "Take it out, and set it later, for the other machines: juju add-space, juju set-model-constraints")
	}
	if err != nil {
		return c, cli.Usage(err)
	}
	return c, nil
}

// Homes are the clouds on which controllers can be created.
var Homes = map[string]Home{Default: localCloud{}, lxdName: lxdCloud{}}

// Default is the default cloud of bootstrap.
const Default = localName

// Of returns the cloud with that name.
func Of(name string) Cloud {
	if home, ok := Homes[name]; ok {
		return home
	}
	return otherCloud{}
}

// Names returns the names of the clouds, for messages.
func Names() string { return strings.Join(slices.Sorted(maps.Keys(Homes)), ", ") }

// Dir returns the directory with this client's data about a controller on a cloud.
func Dir(st *store.Store, cloud, name string) string { return filepath.Join(st.Dir(), cloud, name) }

// ControllerOf returns the view of a known controller.
func ControllerOf(st *store.Store, name string, ctrl *store.Controller) Controller {
	return Of(ctrl.Cloud).Controller(At{Dir(st, ctrl.Cloud, name), name, ctrl.UUID})
}

// HomeOf returns the cloud on which this client created, or tried to create, a controller. The error is NotFound if
// there is no such controller, and NotSupported if another client created it.
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
	return "", entity.WithHint(entity.Errorf(entity.NotSupported,
		"controller %q was not bootstrapped by this client", name),
		"Destroy it where it was bootstrapped; to forget it: juju unregister %s", name)
}

// lostController is the page about recovering from a lost controller.
const lostController = "doc/howto/recover-a-controller.md"

// lost adds to the error of a controller whose database is lost what remains.
func lost(why error, name, what string) error {
	return entity.WithHint(fmt.Errorf("%w; %s, and the controller's database with it", why, what),
		"Units keep running, and their data is still there. To save it first, see %s\n"+
			"To remove everything that remains: juju destroy-environment %s", lostController, name)
}

var controllerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// CheckName rejects invalid controller names: a directory is named after the controller.
func CheckName(name string) error {
	switch {
	case !controllerName.MatchString(name):
		return fmt.Errorf("%q is not a valid controller name: it may contain only letters, digits, hyphens and dots", name)
	case len(name) > entity.MaxName:
		return fmt.Errorf("the controller's name has %d characters; the maximum is %d", len(name), entity.MaxName)
	}
	return nil
}
