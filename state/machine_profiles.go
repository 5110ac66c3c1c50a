package state

import (
	"context"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/profiles"
	"juju/state/watcher"
)

// CharmProfiles returns the LXD profiles that the machine's instance should have, by name: see package profiles.
func (m *Machine) CharmProfiles(ctx context.Context) ([]entity.CharmProfile, error) {
	return profiles.Wanted(ctx, m.st.db, m.doc.ID)
}

// SetCharmProfiles records which profiles the machine's instance has: see profiles.Set.
func (m *Machine) SetCharmProfiles(ctx context.Context, set entity.ProfilesSet) error {
	return profiles.Set(ctx, m.st.db, m.doc.ID, set)
}

// ProfileWork returns the machines whose instances must get other profiles: see profiles.Work.
func (p Provisioning) ProfileWork(ctx context.Context) ([]entity.ProfileWork, error) {
	return profiles.Work(ctx, p.st.db)
}

// WatchProfiles fires when the result of ProfileWork may have changed.
func (p Provisioning) WatchProfiles(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, p.st.hub, watcher.Collection(modeldb.UnitsC), watcher.Collection(modeldb.ServicesC),
		watcher.Collection(modeldb.MachinesC)), nil
}
