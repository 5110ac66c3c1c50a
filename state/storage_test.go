package state_test

import (
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// storageWorld has disk/0 with data/0, and disk/1 with data/1, both attached.
func storageWorld(t *testing.T) *world {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.attached("disk/1", "data/1")
	s.started("disk/0")
	s.started("disk/1")
	return s.world
}

// sees checks the storage that users see, a line each: "data/0 attached disk/0".
func (w *world) sees(want ...string) {
	w.Helper()
	all, err := w.st.StorageStatus(w.ctx)
	w.ok(err)
	var got []string
	for _, s := range all {
		got = append(got, strings.TrimSpace(s.ID+" "+string(s.Status.Status)+" "+s.Unit))
	}
	if g, want := strings.Join(got, "; "), strings.Join(want, "; "); g != want {
		w.Errorf("storage is %q, want %q", g, want)
	}
}

// gives up takes the storage of a unit that is Dying, as its agent and the provisioner do.
func (w *world) givesUp(unit string, ids ...string) {
	w.Helper()
	for _, id := range ids {
		w.ok(w.unit(unit).DetachStorage(w.ctx, id))
		w.ok(w.storage(id).RemoveAttachment(w.ctx, unit))
	}
}

func (w *world) cleans() {
	w.Helper()
	_, _, err := w.st.Cleaner().Cleanup(w.ctx)
	w.ok(err)
}

func TestAUnitIsNotDeadWhileItHasStorage(t *testing.T) {
	w := storageWorld(t)
	w.ok(w.unit("disk/0").Destroy(w.ctx, entity.Destruction{}))
	w.refused(w.unit("disk/0").EnsureDead(w.ctx), entity.InUse, "unit has storage attachments")
	has := func() int {
		info, err := w.unit("disk/0").Info(w.ctx)
		w.ok(err)
		return len(info.Storage)
	}
	before := has()
	w.ok(w.unit("disk/0").DetachStorage(w.ctx, "data/0"))
	if before != 1 || has() != 0 {
		t.Errorf("its agent is told of %d storages before it detached one, and of %d after", before, has())
	}
	w.ok(w.storage("data/0").RemoveAttachment(w.ctx, "disk/0"))
	w.ok(w.unit("disk/0").EnsureDead(w.ctx))
	w.ok(w.unit("disk/0").Remove(w.ctx))
	w.cleans()
	w.sees("data/0 detached", "data/1 attached disk/1")
	w.checkCounts()
}

// A unit whose agent never came up goes at once, but not with storage.
func TestAnUnstartedUnitWithStorageBecomesDying(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.ok(s.unit("disk/0").Destroy(s.ctx, entity.Destruction{}))
	if life := s.unit("disk/0").Life(); life != entity.Dying {
		t.Errorf("the unit is %v", life)
	}
	s.refused(s.unit("disk/0").Remove(s.ctx), entity.InUse, "unit has storage attachments")
}

func TestDestroyStorageWithItsUnit(t *testing.T) {
	w := storageWorld(t)
	w.ok(w.unit("disk/0").Destroy(w.ctx, entity.Destruction{Storage: true}))
	w.givesUp("disk/0", "data/0")
	w.cleans()
	w.sees("data/0 destroying", "data/1 attached disk/1")
	w.ok(mustService(w, "disk").Destroy(w.ctx, entity.Destruction{Storage: true}))
	w.cleans()
	w.givesUp("disk/1", "data/1")
	w.cleans()
	w.sees("data/0 destroying", "data/1 destroying")
}

func TestStorageOnTheDiskOfAMachineGoesWithItsUnit(t *testing.T) {
	w := storageWorld(t)
	ids, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Pool: entity.PoolRootFS, Count: 1})
	w.ok(err)
	w.attached("disk/0", ids[0])
	w.refused(w.storage(ids[0]).Detach(w.ctx, entity.Destruction{}), entity.NotSupported, "storage is not detachable")
	machine := w.unit("disk/0").Machine()
	w.ok(w.unit("disk/0").Destroy(w.ctx, entity.Destruction{}))
	w.givesUp("disk/0", "data/0", ids[0])
	w.ok(w.unit("disk/0").EnsureDead(w.ctx))
	w.ok(w.unit("disk/0").Remove(w.ctx))
	w.cleans()
	w.sees(ids[0]+" destroying", "data/0 detached", "data/1 attached disk/1")
	w.ok(w.machine(machine).SetProvisioned(w.ctx, entity.Instance{ID: "i", Nonce: "n"}))
	w.ok(w.machine(machine).Destroy(w.ctx, entity.Destruction{}))
	w.refused(w.machine(machine).EnsureDead(w.ctx), entity.InUse, "machine has attached storage")
	w.cleans()
	w.ok(w.storage(ids[0]).EnsureDead(w.ctx))
	w.ok(w.storage(ids[0]).Remove(w.ctx))
	w.ok(w.machine(machine).EnsureDead(w.ctx))
	w.sees("data/0 detached", "data/1 attached disk/1")
	w.checkCounts()
}

// Force removes storage without its unit's agent, and its record without the cloud.
func TestForceRemovesStorage(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.refused(s.storage("data/0").Destroy(s.ctx, entity.Destruction{}, false), entity.InUse, "storage is attached")
	s.ok(s.storage("data/0").Destroy(s.ctx, entity.Destruction{Strength: entity.Force}, false))
	s.cleans()
	s.sees("data/0 destroying", "data/1 pending disk/1")
	s.later.Add(int64(2 * state.CloudTimeout))
	s.cleans()
	s.sees("data/1 pending disk/1")
	left, err := s.st.Provisioning().Leftovers(s.ctx)
	s.ok(err)
	if len(left) != 1 || left[0].What != "filesystem fs-data/0 of storage data/0" {
		t.Errorf("leftovers are %+v", left)
	}
	work, err := s.st.Provisioning().StorageWork(s.ctx)
	s.ok(err)
	last := work[len(work)-1]
	if last.ID != "data/0" || last.Life != entity.Gone || last.Filesystem != "fs-data/0" {
		t.Errorf("there is to do: %+v", work)
	}
	s.ok(s.st.Provisioning().DropFilesystem(s.ctx, last.Filesystem))
	if left, err := s.st.Provisioning().Leftovers(s.ctx); err != nil || len(left) > 0 {
		t.Errorf("leftovers are %+v, %v", left, err)
	}
	s.checkIntact(t.Context())
}

// Until the cloud has released a filesystem, the filesystem counts as the controller's, and would be
// destroyed with the controller's storage. So force forgets it no sooner than one to be destroyed.
func TestForceReleasesStorage(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.ok(s.storage("data/0").Destroy(s.ctx, entity.Destruction{Strength: entity.Force}, true))
	s.cleans()
	s.sees("data/0 destroying", "data/1 pending disk/1")
	s.later.Add(int64(2 * state.CloudTimeout))
	s.cleans()
	s.sees("data/1 pending disk/1")
	left, err := s.st.Provisioning().Leftovers(s.ctx)
	s.ok(err)
	if len(left) != 1 || left[0].Why != "the cloud has not released it within 1m0s" ||
		!strings.HasPrefix(left[0].How, "Until it is released,") {
		t.Errorf("leftovers are %+v", left)
	}
	tag, err := s.st.FindEntity(s.ctx, "data/0")
	s.ok(err)
	if e, err := s.st.Explainer().Explain(s.ctx, tag); err != nil || e.Life != entity.Gone || len(e.Leftovers) != 1 {
		t.Errorf("data/0 is explained with %+v, %v", e, err)
	}
	work, err := s.st.Provisioning().StorageWork(s.ctx)
	s.ok(err)
	last := work[len(work)-1]
	if last.ID != "data/0" || last.Life != entity.Gone || !last.Release {
		t.Errorf("there is to do: %+v", work)
	}
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Storage: true}))
	if work, err := s.st.Provisioning().StorageWork(s.ctx); err != nil || !work[len(work)-1].Release {
		t.Errorf("there is to do: %+v, %v", work, err)
	}
}

// A user who thinks again has until the cloud begins to destroy the filesystem.
func TestStorageIsReleasedWhileItIsDestroyed(t *testing.T) {
	w := storageWorld(t)
	w.detached("disk/0", "data/0")
	x := w.storage("data/0")
	w.ok(x.Destroy(w.ctx, entity.Destruction{}, false))
	released := func(want bool) {
		w.Helper()
		work, err := w.st.Provisioning().StorageWork(w.ctx)
		w.ok(err)
		if len(work) != 1 || work[0].Release != want {
			w.Errorf("there is to do: %+v", work)
		}
		shown, err := w.st.StorageStatus(w.ctx, work[0].ID)
		w.ok(err)
		if shown[0].Release != want {
			w.Errorf("it is shown as %+v", shown)
		}
	}
	released(false)
	w.ok(x.Destroy(w.ctx, entity.Destruction{}, true))
	released(true)
	w.ok(x.EnsureDead(w.ctx))
	w.ok(x.Destroy(w.ctx, entity.Destruction{}, true))
	w.ok(x.Remove(w.ctx))
	w.detached("disk/1", "data/1")
	x = w.storage("data/1")
	w.ok(x.Destroy(w.ctx, entity.Destruction{}, false))
	w.ok(x.EnsureDead(w.ctx))
	w.refused(x.Destroy(w.ctx, entity.Destruction{}, true), entity.NotAlive,
		`cannot release storage "data/1": its filesystem is being destroyed`)
	released(false)
}

// A hook's storage is added once, however often it is committed.
func TestAHookAddsStorageOnce(t *testing.T) {
	w := storageWorld(t)
	changes := entity.HookChanges{Storage: map[string]uint64{"cache": 2}, StorageToken: "one"}
	w.ok(w.unit("disk/0").CommitHook(w.ctx, changes))
	w.ok(w.unit("disk/0").CommitHook(w.ctx, changes))
	w.sees("cache/2 pending disk/0", "cache/3 pending disk/0", "data/0 attached disk/0", "data/1 attached disk/1")
	changes.StorageToken = "two"
	w.refused(w.unit("disk/0").CommitHook(w.ctx, changes), entity.Invalid,
		"attaching 2 storage instances brings the total to 4, exceeding the maximum of 3")
}

func TestModelWithStorageIsDestroyedOnlyWithAStorageFlag(t *testing.T) {
	w := storageWorld(t)
	w.refused(w.st.Destroy(w.ctx, entity.Destruction{}), entity.PersistentStorage,
		"The model has persistent storage remaining:\n\t2 filesystems")
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Release: true}))
	w.cleans() // in one go, though the machines must wait for the units
	w.sees("data/0 detaching disk/0", "data/1 detaching disk/1")
	w.givesUp("disk/0", "data/0")
	w.cleans()
	work, err := w.st.Provisioning().StorageWork(w.ctx)
	w.ok(err)
	if len(work) != 1 || work[0].ID != "data/0" || work[0].Life != entity.Dying || !work[0].Release {
		t.Errorf("there is to do: %+v", work)
	}
}

func TestUpgradeOfACharmWithStorage(t *testing.T) {
	for _, c := range []struct{ stores, want string }{
		{"cache: {type: filesystem, multiple: {range: 0-3}}", `storage "data" removed`},
		{"data: {type: filesystem, location: /srv/data}, cache: {type: filesystem, multiple: {range: 0-3}}, " +
			"more: {type: filesystem}", `required storage "more" added`},
		{"data: {type: block, multiple: {range: 0-1}}, cache: {type: filesystem, multiple: {range: 0-3}}",
			`existing storage "data" type changed from "filesystem" to "block"`},
		{"data: {type: filesystem, location: /data}, cache: {type: filesystem, multiple: {range: 0-3}}",
			`existing storage "data" location changed from "/srv/data" to "/data"`},
		{"data: {type: filesystem, location: /srv/data}, cache: {type: filesystem, multiple: {range: 1-3}}",
			`existing storage "cache" range contracted: min increased from 0 to 1`},
		{"data: {type: filesystem, location: /srv/data}, cache: {type: filesystem, multiple: {range: 0-2}}",
			`existing storage "cache" range contracted: max decreased from 3 to 2`},
		{"data: {type: filesystem, location: /srv/data}, cache: {type: filesystem, multiple: {range: 0-9}}, " +
			"more: {type: filesystem, multiple: {range: 0-1}}", ""},
	} {
		t.Run(c.stores, func(t *testing.T) {
			s := sharedStage(t).scene(t, nil)
			defer s.end()
			withStorage(s)
			url := statetest.Charm(t, s.st, "{name: disk, summary: s, description: d, storage: {"+c.stores+"}}")
			_, err := s.service("disk").SetCharm(s.ctx, state.SetCharmParams{URL: url})
			if c.want != "" {
				s.refused(err, entity.Invalid, c.want)
				return
			}
			s.ok(err)
			ids, err := s.unit("disk/0").AddStorage(s.ctx, "more", entity.StorageConstraints{Count: 1})
			s.ok(err)
			if len(ids) != 1 || ids[0] != "more/2" {
				t.Errorf("added %v", ids)
			}
		})
	}
}

// Storage that was to go with its unit stays once another unit has it, even if the first one was
// destroyed with force.
func TestStorageThatAnotherUnitHasStays(t *testing.T) {
	w := storageWorld(t)
	ids, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Count: 1})
	w.ok(err)
	w.attached("disk/0", ids[0])
	w.ok(w.unit("disk/0").Destroy(w.ctx, entity.Destruction{Strength: entity.Force, Storage: true}))
	w.givesUp("disk/0", "data/0", ids[0])
	w.ok(w.unit("disk/1").AttachStorage(w.ctx, ids[0]))
	w.cleans()
	w.sees(ids[0]+" attaching disk/1", "data/0 destroying", "data/1 attached disk/1")
	w.checkCounts()
}

func TestAForcedModelReleasesStorage(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Strength: entity.Force, Release: true}))
	s.cleans()
	s.sees("data/0 destroying")
	s.works(true)
	s.ok(s.storage("data/0").Remove(s.ctx))
	s.cleans()
	left, err := s.st.Provisioning().Leftovers(s.ctx)
	s.ok(err)
	if len(left) > 0 {
		t.Errorf("leftovers are %+v", left)
	}
}

// works checks that what ends of storage is to be released, or destroyed.
func (w *world) works(release bool) {
	w.Helper()
	work, err := w.st.Provisioning().StorageWork(w.ctx)
	w.ok(err)
	ending := 0
	for _, x := range work {
		if x.Life == entity.Alive {
			continue
		}
		if ending++; x.Release != release {
			w.Errorf("there is to do: %+v", x)
		}
	}
	if ending == 0 {
		w.Error("no storage ends")
	}
}

// The last word on the storage of a model that is being destroyed holds for what is not destroyed yet.
func TestTheLastWordOnTheStorageOfAModel(t *testing.T) {
	w := storageWorld(t)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Storage: true}))
	w.cleans()
	w.givesUp("disk/0", "data/0")
	w.cleans()
	w.works(false)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Release: true}))
	w.works(true)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Release: true}))
	w.works(true)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Storage: true}))
	w.works(false)
	w.ok(w.storage("data/0").EnsureDead(w.ctx))
	w.refused(w.st.Destroy(w.ctx, entity.Destruction{Release: true}), entity.NotAlive,
		"storage data/0 may be lost: the cloud had begun to destroy it")
	w.works(true)
	w.ok(w.st.Destroy(w.ctx, entity.Destruction{Release: true}))
}

// It also holds for the filesystems that a forced removal has left.
func TestTheLastWordOnTheFilesystemsThatAreLeft(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	leftFilesystem(s)
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Storage: true}))
	s.refused(s.st.Destroy(s.ctx, entity.Destruction{Release: true}), entity.NotAlive, "storage data/0 may be lost")
	s.works(true)
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Release: true}))
	s.works(true)
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Storage: true}))
	s.works(false)
	s.end()
	s = sharedStage(t).scene(t, nil)
	withStorage(s)
	leftFilesystem(s)
	s.ok(s.st.Destroy(s.ctx, entity.Destruction{Release: true}))
	s.works(true)
}

func TestExplainSaysThatAUnitWaitsForItsStorage(t *testing.T) {
	w := storageWorld(t)
	ids, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Count: 1})
	w.ok(err)
	w.ok(w.storage(ids[0]).SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "no room"}))
	e, err := w.st.Explainer().Explain(w.ctx, entity.UnitTag("disk/0"))
	w.ok(err)
	var got []string
	for _, r := range e.Reasons {
		got = append(got, r.Text)
	}
	want := []string{`unit "disk/0" waits for storage "cache/2"`,
		`the storage provisioner must attach storage "cache/2" to machine ` + w.unit("disk/0").Machine() + ": no room"}
	if len(got) < 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("it waits for %q, want %q", got, want)
	}
	if e, err = w.st.Explainer().Explain(w.ctx, entity.UnitTag("disk/1")); err != nil || len(e.Reasons) > 0 {
		t.Errorf("disk/1, which has its storage, waits for %+v, %v", e.Reasons, err)
	}
}

// An upgrade may say what units get from now on; those that are there keep what they have.
func TestUpgradeChangesTheStorageOfNewUnits(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withStorage(s)
	s.ok(s.st.Pools().Create(s.ctx, fast))
	svc := s.service("disk")
	set := func(stores map[string]entity.StorageConstraints) error {
		_, err := svc.SetCharm(s.ctx, state.SetCharmParams{URL: svc.CharmURL(), Storage: stores})
		return err
	}
	s.refused(set(map[string]entity.StorageConstraints{"more": {Count: 1}}), entity.Invalid, `no store called "more"`)
	s.refused(set(map[string]entity.StorageConstraints{"cache": {Count: 4}}), entity.Invalid, "at most 3 instances supported")
	s.refused(set(map[string]entity.StorageConstraints{"cache": {Pool: "slow", Count: 1}}), entity.NotFound,
		`charm "disk" store "cache": pool "slow" not found`)
	_, err := svc.SetCharm(s.ctx, state.SetCharmParams{URL: svc.CharmURL(), ForceUnits: true})
	s.ok(err)
	s.ok(set(map[string]entity.StorageConstraints{"cache": {Pool: "fast", Count: 2}}))
	info, err := s.unit("disk/0").Info(s.ctx)
	s.ok(err)
	if !info.ForceCharm {
		t.Error("other storage has taken force back")
	}
	s.refused(s.st.Pools().Remove(s.ctx, "fast"), entity.InUse, `storage pool "fast" in use`)
	_, err = svc.AddUnits(s.ctx, 1, nil)
	s.ok(err)
	s.sees("cache/2 pending disk/2", "cache/3 pending disk/2", "data/0 attached disk/0", "data/1 pending disk/1",
		"data/4 pending disk/2")

	// What an upgrade does not mention stays as it was, and is what more storage of a unit is like.
	s.ok(set(map[string]entity.StorageConstraints{"data": {Size: 9, Count: 1}}))
	if got := s.service("disk").StorageConstraints()["cache"]; got.Pool != "fast" || got.Count != 2 {
		t.Errorf("new units get %+v as cache", got)
	}
	ids, err := s.unit("disk/0").AddStorage(s.ctx, "cache", entity.StorageConstraints{Count: 1})
	s.ok(err)
	all, err := s.st.StorageStatus(s.ctx, ids...)
	s.ok(err)
	if len(all) != 1 || all[0].Pool != "fast" {
		t.Errorf("added %+v, want one from pool fast", all)
	}
}
