package provider

import (
	"context"

	"juju/state/entity"
)

// A Profiler gives the instances of one model the LXD profiles of charms.
type Profiler interface {
	// SetProfiles gives an instance these profiles, by name, in place of those that it had from StartInstance or an earlier
	// call. Of profiles with the same key or device, the last one counts. It works on a running instance, though some
	// configuration takes effect only when that is restarted. If it fails, the instance has what it had. A profile that no
	// instance has is removed from the cloud. The error is NotProvisioned if the model has no such instance, and Invalid if
	// the cloud does not accept a profile. As in Environ, it gives only the reason.
	SetProfiles(ctx context.Context, id string, profiles []Profile) error
}

// A Profile is the profile of a service's charm. Its name is unique in the cloud, and has the same content in all calls;
// but a name whose profile was removed may return with another.
type Profile = entity.CharmProfile
