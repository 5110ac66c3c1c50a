package facades

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/juju/loggo"

	"juju/apiserver/deltas"
	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/charm"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.apiserver")

// A Config configures the API's methods.
type Config struct {
	Controller  *controller.Controller
	Version     string      // of this program; clients compare it with theirs
	Commit      string      // that it was built from, for display; "" if unknown
	Series      string      // the default for new models' machines
	Binaries    *Binaries   // the agent binaries that new machines download; nil for none
	Upgrades    Upgrades    // nil if the controller's binaries can't be replaced
	Backups     Backups     // nil if the controller can't be backed up
	Plans       Plans       // nil if changes can't be planned
	Controllers Controllers // nil if there can be only one controller
	ManualHosts ManualHosts // nil if the controller is not reachable from other hosts
	// API returns the addresses at which clients reach the API, the preferred one first, and the certificate of its CA. It may
	// be nil.
	API func() (addresses []string, caCert string)
	// Cloud opens the cloud of a model; nil to skip all checks that need a cloud.
	Cloud func(ctx context.Context, model string) (Cloud, error)
	// CloudSpec is how to use that cloud; only services that a user trusts get it.
	CloudSpec entity.CloudSpec
	// CredentialName is the name of the credential in it, the cloud's first; "" for that of a built-in cloud.
	CredentialName string
	// CheckCredential rejects another credential of the cloud if it can't be used or, if try is set, if the cloud does not
	// accept it. It may be nil if there is no cloud.
	CheckCredential func(ctx context.Context, one entity.CloudCredential, try bool) error
	// Reach connects to the controller that has the offer of a remote service. It may be nil if no other controller is used.
	Reach func(ctx context.Context, r entity.Consumed) (Offering, error)
	// Settings are other settings of the controller, chosen at bootstrap, for display.
	Settings map[string]any
	// Failures returns which of the controller's own workers for a model keep failing, or for "" which of the workers
	// that serve all models. It may be nil.
	Failures func(model string) []entity.WorkerFailure
	// Meter is told what agents do and who is refused; apiserver.New sets one that ignores it if it is nil.
	Meter Meter
	// DestroyController begins to destroy the controller and all its models. It must not wait for completion, because
	// the reply has not been sent yet. It may be nil.
	DestroyController func(context.Context) error
}

// A Meter is told of events, for the controller's metrics. Its methods return at once.
type Meter interface {
	// HookRan is called with how long a hook of a service's unit ran, whether it failed or not.
	HookRan(model, service string, took time.Duration)
	// HookFailed is called when a hook of a service's unit has failed.
	HookFailed(model, service string)
	// LoginRefused is called for each login and HTTP request that is refused; why is one of a few words.
	LoginRefused(why string)
}

// Limits are the limits of the API's methods.
type Limits struct {
	CloudTime                 time.Duration // for all calls to the cloud in one request
	Charm, Resource, Binaries int64         // bytes of an upload
}

// A Backend is the state that all callers of a server share.
type Backend struct {
	Config
	Table           *Table // of all methods
	ControllerModel *state.State
	Presence        *presence.Recorder
	Deltas          *deltas.Feeds
	Hub             *hub.Hub // gets charms from stores
	Limits          Limits
	// ImportTurn waits for its turn to import a filesystem.
	ImportTurn func(context.Context) (release func(), err error)
}

// A Caller is the caller of a method, with the context of its request.
type Caller struct {
	Identity
	*Backend
	Request Request
	Model   *state.State           // nil on the controller's path
	others  *controller.Controller // where a plan reads models of which it has no copy
	who     Roles                  // the roles that may call the method
}

// A Request is a request on a connection, which may carry several at once.
type Request interface {
	fmt.Stringer // the client's name for logs
	// Watch starts a watch, which lasts until it is stopped, the connection ends, or the client loses all of the roles
	// who.
	Watch(who Roles, open func(context.Context) (Stream, error)) (params.WatcherID, error)
	// Keep reserves memory for so many bytes of the result.
	Keep(ctx context.Context, bytes int64) error
	// HashTurn waits for its turn to hash a password for the user.
	HashTurn(ctx context.Context, user string) (release func(), err error)
	// ChangePassword calls change while no other request of the connection is being authorised. If the user changes
	// their own password, change returns the new one's stamp, so that the connection remains valid.
	ChangePassword(change func() (stamp string, err error)) error
	// Done is closed when the connection ends.
	Done() <-chan struct{}
}

// keep reserves memory for a part of the result. Methods that return something for each entry of a list use it, because
// a short list can have a large result.
func (c *Caller) keep(ctx context.Context, part any) error {
	return c.Request.Keep(ctx, sizeOf(reflect.ValueOf(part), 0))
}

// maxDepth exceeds the depth of any result.
const maxDepth = 64

// sizeOf returns the approximate size of a value in memory.
func sizeOf(v reflect.Value, depth int) int64 {
	if depth > maxDepth || !v.IsValid() {
		return 0
	}
	size := int64(v.Type().Size())
	switch v.Kind() {
	case reflect.String:
		size += int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		size += sizeOf(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			size += sizeOf(v.Index(i), depth+1)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			size += sizeOf(entries.Key(), depth+1) + sizeOf(entries.Value(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			size += sizeOf(v.Field(i), depth+1)
		}
	}
	return size
}

// wireError is WireError for one of the entries of a request.
func (c *Caller) wireError(doing string, err error) *params.Error {
	return WireError(c.Request.String()+": "+doing, err)
}

// An Endpoint is a path of a model that is served over plain HTTP.
type Endpoint struct {
	Method string
	Path   string // below /model/UUID
	Who    Roles
	Effect Effect
	Login  Login
	Serve  func(v *Visitor, w http.ResponseWriter, r *http.Request) error
}

// A Visitor is the sender of an HTTP request to an Endpoint.
type Visitor struct {
	Identity
	*Backend
	Model *state.State
	Transfer
}

// A Transfer receives and sends files.
type Transfer interface {
	// Receive receives a file of at most limit bytes; what is its name in errors. done must be called when the file has
	// been read.
	Receive(limit int64, what string) (file *os.File, done func(), err error)
	// Send sends a file, with its SHA-256 in a header; what is its name in the log.
	Send(file io.Reader, sum, what string) error
	// Progress tells the client how many bytes a file has so far which is sent later.
	Progress(bytes int64)
	// Reply responds with v, once everything it depends on is on disk.
	Reply(v any)
}

// WireError returns the error to send to the client, or nil if there is none. An internal error is logged, with doing as
// its context, and hidden from the client.
func WireError(doing string, err error) *params.Error {
	if err == nil {
		return nil
	}
	if kind := entity.KindOf(err); kind == entity.Damaged || kind == "" && !errors.Is(err, charm.ErrInvalid) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		logger.Errorf("%s: %v", doing, err)
	}
	return Told(err)
}

// Told is WireError without the log.
func Told(err error) *params.Error {
	switch {
	case entity.KindOf(err) != "":
	case errors.Is(err, charm.ErrInvalid):
		err = entity.Errorf(entity.Invalid, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = entity.Errorf(entity.Unavailable, "the controller took too long; try again")
	case errors.Is(err, context.Canceled):
		err = entity.Errorf(entity.Unavailable, "the request was canceled")
	case entity.IsDiskFull(err):
		// The store terminates the process, but this reply may be sent before that.
		err = DiskFull("")
	}
	if help := charm.Help(err); help != "" && entity.Hint(err) == "" {
		err = entity.WithHint(err, "%s", help)
	}
	return params.ToError(err)
}

// DiskFull returns the error for a client when the controller's disk is full. what is a prefix of its text.
func DiskFull(what string) error {
	return entity.WithHint(entity.Errorf(entity.Unavailable, "%sthe controller's disk is full", what),
		"Free space on the controller's disk, and try again")
}
