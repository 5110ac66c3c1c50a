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

	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/charm"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.apiserver")

// A Config configures what the methods do.
type Config struct {
	Controller  *controller.Controller
	Version     string      // of this program, for clients to compare with theirs
	Commit      string      // that it was built from, for people; "" if that is not known
	Series      string      // of new models' machines, if the user names none
	Binaries    *Binaries   // what new machines download; nil for none
	Upgrades    Upgrades    // nil if the controller's programs can't be replaced
	ManualHosts ManualHosts // nil if the controller can't be reached from other hosts
	// Cloud opens the cloud of a model; nil to ask no cloud.
	Cloud func(ctx context.Context, model string) (Cloud, error)
	// Failures returns which of the controller's own workers for a model keep failing, or
	// with "" which of those for all models. It may be nil.
	Failures func(model string) []entity.WorkerFailure
	// DestroyController begins the end of the controller and all its models. It must not wait
	// for that, since the reply has yet to be sent. It may be nil.
	DestroyController func(context.Context) error
}

// Limits bound what the methods do.
type Limits struct {
	CloudTime                 time.Duration // for a cloud to answer all questions of one request
	Charm, Resource, Binaries int64         // bytes of an upload
}

// A Backend is what all callers of a server share.
type Backend struct {
	Config
	ControllerModel *state.State
	Presence        *presence.Recorder
	Limits          Limits
	// ImportTurn waits for the turn to import a filesystem.
	ImportTurn func(context.Context) (release func(), err error)
}

// A Caller is what a method may need to know about its request.
type Caller struct {
	Identity
	*Backend
	Request Request
	Model   *state.State // nil on the controller's path
	who     Roles        // all who may call the method
}

// A Request is a request on a connection that carries any number of them.
type Request interface {
	fmt.Stringer // the client's name for logs
	// Watch begins a watch, which lasts until it is stopped or the connection ends. The roles are
	// all who may have it.
	Watch(who Roles, open func(context.Context) (Stream, error)) (params.WatcherID, error)
	// Keep makes room for so many bytes of the result.
	Keep(ctx context.Context, bytes int64) error
	// HashTurn waits for a turn to hash a password for the user.
	HashTurn(ctx context.Context, user string) (release func(), err error)
	// ChangePassword calls change, while no other request of the connection is authorised. If the
	// user's own password changes, change returns the new one's stamp: the connection goes on.
	ChangePassword(change func() (stamp string, err error)) error
	// Done is closed when the connection ends.
	Done() <-chan struct{}
}

// keep makes room for a part of the result. Methods that answer for each entry of a list use it: a
// short list can have a long answer.
func (c *Caller) keep(ctx context.Context, part any) error {
	return c.Request.Keep(ctx, sizeOf(reflect.ValueOf(part), 0))
}

// maxDepth is more than any result has.
const maxDepth = 64

// sizeOf returns about what a value takes in memory.
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

// wireError is WireError for one of the things that a request asks for.
func (c *Caller) wireError(doing string, err error) *params.Error {
	return WireError(c.Request.String()+": "+doing, err)
}

// An Endpoint of a model is found by plain HTTP.
type Endpoint struct {
	Method string
	Path   string // below /model/UUID
	Who    Roles
	Effect Effect
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
	// Receive receives a file of at most limit bytes; what names it in errors. done must be called
	// when the file is read.
	Receive(limit int64, what string) (file *os.File, done func(), err error)
	// Send answers with a file, and its SHA-256 in a header; what names it in the log.
	Send(file io.Reader, sum, what string) error
	// Reply answers with v, once all it depends on is on disk.
	Reply(v any)
}

// WireError returns the error for the client. It logs an internal error, with what was being
// done, and hides it from the client.
func WireError(doing string, err error) *params.Error {
	switch kind := entity.KindOf(err); {
	case kind == entity.Damaged:
		logger.Errorf("%s: %v", doing, err)
	case kind != "":
	case errors.Is(err, charm.ErrInvalid):
		err = entity.Errorf(entity.Invalid, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = entity.Errorf(entity.Unavailable, "the controller took too long; try again")
	case errors.Is(err, context.Canceled):
		err = entity.Errorf(entity.Unavailable, "the request was given up")
	case entity.IsDiskFull(err):
		// The store ends the process at once; this answer can be faster.
		logger.Errorf("%s: %v", doing, err)
		err = DiskFull("")
	default:
		logger.Errorf("%s: %v", doing, err)
	}
	if help := charm.Help(err); help != "" && entity.Hint(err) == "" {
		err = entity.WithHint(err, "%s", help)
	}
	return params.ToError(err)
}

// DiskFull returns the error for a client when the controller's disk is full. what begins its
// text.
func DiskFull(what string) error {
	return entity.WithHint(entity.Errorf(entity.Unavailable, "%sthe controller's disk is full", what),
		"Make room on the controller's disk, and try again")
}
