// Package clouds says what each cloud is to a controller. Of knows them by name, and each has a file that implements Kind:
// nothing else in the controller depends on which cloud it is.
package clouds

import (
	"context"
	"slices"

	"juju/provider"
	"juju/provider/lxd"
	"juju/state/entity"
	"juju/worker"
)

// An Access is how a controller reaches its cloud: part of its configuration. Only the field of its own cloud is set.
type Access struct {
	LXD *lxd.Config `json:"lxd,omitempty"`
}

// A Kind is a kind of cloud, as a controller sees it.
type Kind interface {
	// Machines says what the cloud's instances are, which decides what their agents get: one lock for the hooks of all
	// machines, links to their logs, a user to log in as, and the agent binaries.
	Machines() provider.Machines
	// MachineDir returns the directory of an instance below the cloud's directory dir, or "" if it is not on this host.
	MachineDir(dir, model, instance string) string
	// Check returns an error if this host can't run such a controller.
	Check(p Params) error
	// Credential returns the credential with which access reaches the cloud.
	Credential(access Access) entity.CloudCredential
	// WithCredential returns access with another credential.
	WithCredential(access Access, one entity.CloudCredential) Access
	// CheckCredential returns an Invalid error for a credential that a controller can't use, and if try is set, the error of
	// a cloud that does not accept it.
	CheckCredential(ctx context.Context, access Access, controller string, one entity.CloudCredential, try bool) error
	// Endpoint returns where the cloud is, for users; "" if it is this host.
	Endpoint(access Access) string
	// Open returns the cloud. It need not connect to it.
	Open(ctx context.Context, c Controller) (*Cloud, error)
}

// Params are what Check must know of a new controller.
type Params struct {
	Access     Access
	Controller string   // UUID; "" if it is not chosen yet
	Hosts      []string // the addresses of its machine, if users have chosen them
}

// A Controller is one that uses its cloud.
type Controller struct {
	UUID string
	Dir  string // the cloud's directory
	// Access returns how to reach the cloud with the credential of that name, as it is now. The error is NotFound if there
	// is none; the first credential, "", is always there.
	Access func(ctx context.Context, credential string) (Access, error)
	// WatchCredentials sends an event when Access may return something else.
	WatchCredentials func(ctx context.Context) (<-chan struct{}, error)
}

// A Cloud is a cloud that a controller uses.
type Cloud struct {
	Open provider.Open
	// Worker runs in one of the controllers that share a store; nil if the cloud needs none.
	Worker worker.Func
	// Follow runs in each controller, and has the cloud reached with the credentials of now; nil if it needs none.
	Follow worker.Func
	// Room returns the room of the cloud's storage pools by name, or nothing if it can't be found out; nil if it has none.
	Room func(ctx context.Context) map[string]Room
}

// A Room is the size of a storage pool and what is free of it, in bytes.
type Room struct{ Size, Free uint64 }

// Of returns the cloud of that name. If there is none, Check and Open of the result return a NotSupported error.
func Of(name string) Kind {
	switch name {
	case "local":
		return localCloud{}
	case "lxd":
		return lxdCloud{}
	}
	return unknown{name: name}
}

// An unknown is a cloud that this program does not know.
type unknown struct {
	bare
	name string
}

func (u unknown) Machines() provider.Machines { return provider.Machines{} }

func (u unknown) MachineDir(string, string, string) string { return "" }

func (u unknown) Check(Params) error {
	return entity.Errorf(entity.NotSupported, "cloud %q is not known", u.name)
}

func (u unknown) Open(context.Context, Controller) (*Cloud, error) { return nil, u.Check(Params{}) }

// A bare is a cloud that is reached without a credential.
type bare struct{}

func (bare) Credential(Access) entity.CloudCredential {
	return entity.CloudCredential{AuthType: entity.AuthEmpty}
}

func (bare) WithCredential(access Access, _ entity.CloudCredential) Access { return access }

func (bare) CheckCredential(_ context.Context, _ Access, _ string, one entity.CloudCredential, _ bool) error {
	return checkKeys(one, entity.AuthEmpty)
}

func (bare) Endpoint(Access) string { return "" }

// checkKeys rejects a credential of another type, or with keys other than these.
func checkKeys(one entity.CloudCredential, authType string, keys ...string) error {
	if one.AuthType != authType {
		return entity.Errorf(entity.Invalid, "the cloud takes no credential of auth-type %q", one.AuthType)
	}
	for key := range one.Attributes {
		if !slices.Contains(keys, key) {
			return entity.Errorf(entity.Invalid, "unknown key %q in a credential of auth-type %q", key, one.AuthType)
		}
	}
	return nil
}
