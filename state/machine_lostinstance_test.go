package state_test

import (
	"slices"
	"testing"

	"juju/state"
	"juju/state/entity"
)

// work writes what the storage provisioner is to do about storage: "cache/2 made attach i-1".
func (w *world) storageWork() (lines []string) {
	w.Helper()
	all, err := w.st.Provisioning().StorageWork(w.ctx)
	w.ok(err)
	for _, s := range all {
		line := s.ID
		if s.Filesystem != "" {
			line += " made"
		}
		if s.Attachment != nil && s.Attachment.Location == "" {
			line += " attach " + s.Attachment.Instance
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) equal(got, want []string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("got %q, want %q", got, want)
	}
}

// Storage that outlives instances is attached to the next one, and what was on the disk of the lost one
// is made again: a record that says "attached" is not a disk.
func TestStorageIsAttachedAgainWhenAnInstanceIsLost(t *testing.T) {
	w := storageWorld(t)
	m := w.provisioned(w.unit("disk/0").Machine())
	ids, err := w.unit("disk/0").AddStorage(w.ctx, "cache", entity.StorageConstraints{Pool: entity.PoolRootFS, Count: 1})
	w.ok(err)
	w.attached("disk/0", ids[0])
	w.sees(ids[0]+" attached disk/0", "data/0 attached disk/0", "data/1 attached disk/1")
	was := entity.Instance{ID: "i-" + m.ID(), Nonce: "n"}
	w.ok(m.LoseInstance(w.ctx, was))
	w.sees(ids[0]+" pending disk/0", "data/0 attaching disk/0", "data/1 attached disk/1")
	w.equal(w.storageWork(), []string{ids[0] + " attach ", "data/0 made attach "})
	// What was done on the lost instance is told too late.
	w.refused(w.storage("data/0").SetAttached(w.ctx, "disk/0", was.ID, "/late"), entity.NotAlive,
		"machine "+m.ID()+" has lost its instance "+was.ID)
	late := entity.Filesystem{ID: "late", Size: 1, Instance: was.ID}
	w.refused(w.storage(ids[0]).SetFilesystem(w.ctx, late), entity.NotAlive,
		"machine "+m.ID()+" has lost its instance "+was.ID)
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-next", Nonce: "m"}))
	w.equal(w.storageWork(), []string{ids[0] + " attach i-next", "data/0 made attach i-next"})
	w.attached("disk/0", ids[0])
	w.attached("disk/0", "data/0")
	w.sees(ids[0]+" attached disk/0", "data/0 attached disk/0", "data/1 attached disk/1")
	w.checkCounts()
	w.checkClean()
}

// The provisioner may lose the instance in the middle of what the storage provisioner records.
func TestAnInstanceIsLostWhileItsStorageIsRecorded(t *testing.T) {
	w := storageWorld(t)
	m := w.provisioned(w.unit("disk/1").Machine())
	in := entity.Instance{ID: "i-" + m.ID(), Nonce: "n"}
	w.st.Before(func() { w.ok(m.LoseInstance(w.ctx, in)) })
	w.refused(w.storage("data/1").SetAttached(w.ctx, "disk/1", in.ID, "/elsewhere"), entity.NotAlive,
		"machine "+m.ID()+" has lost its instance "+in.ID)
	w.equal(w.storageWork(), []string{"data/1 made attach "})
}

// Nothing says any more of the units what was so on the lost instance.
func TestUnitsOfALostInstanceAreAsNew(t *testing.T) {
	w := storageWorld(t)
	u := w.unit("disk/0")
	m := w.provisioned(u.Machine())
	password := state.NewAgentPassword()
	w.ok(w.st.Agents().SetPassword(w.ctx, entity.UnitTag("disk/0"), password))
	w.ok(u.SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "hook failed"}))
	w.ok(u.SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
	w.ok(u.Resolve(w.ctx, true))
	w.ok(u.CommitHook(w.ctx, entity.HookChanges{OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}}}))
	w.ok(m.Observe(w.ctx, entity.Instance{ID: "i-" + m.ID(), Nonce: "n"}, "stopped"))
	w.ok(m.LoseInstance(w.ctx, entity.Instance{ID: "i-" + m.ID(), Nonce: "n"}))

	s, err := w.st.Status(w.ctx)
	w.ok(err)
	for _, svc := range s.Services {
		for _, u := range svc.Units {
			if u.Name != "disk/0" {
				continue
			}
			w.equal([]string{string(u.Workload.Status), u.Workload.Message, string(u.Agent.Status)},
				[]string{"waiting", "waiting for machine", "allocating"})
			if len(u.OpenedPorts) > 0 || u.Resolved != entity.ResolvedNone {
				t.Errorf("the unit has the ports %v and is resolved with %q", u.OpenedPorts, u.Resolved)
			}
		}
	}
	for _, m := range s.Machines {
		if m.ID == u.Machine() && m.InstanceStatus.Status != entity.StatusPending {
			t.Errorf("the lost instance is %s", m.InstanceStatus.Status)
		}
	}
	w.refused(w.st.Agents().Check(w.ctx, entity.UnitTag("disk/0"), password, ""), entity.Unauthorized,
		"invalid entity name or password")
	w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-next", Nonce: "m"}))
	s, err = w.st.Status(w.ctx)
	w.ok(err)
	for _, m := range s.Machines {
		if m.ID == u.Machine() && m.InstanceStatus.Status != "running" {
			t.Errorf("the next instance is %s", m.InstanceStatus.Status)
		}
	}
	w.checkCounts()
	w.checkClean()
}
