package state_test

import (
	"testing"

	"juju/state/entity"
)

// vault is a charm whose storage lies in other storage of it, whichever comes first.
const vault = `{name: vault, summary: s, description: d, storage: {
  certs: {type: filesystem, location: /var/snap/vault/common/certs},
  common: {type: filesystem, location: /var/snap/vault/common}}}`

// Storage that lies in other storage is attached after it, and detached before it.
func TestStorageInOtherStorage(t *testing.T) {
	w := newWorld(t)
	w.deploy("vault", vault, 1)
	w.provisioned("0")
	waits := func(want ...string) {
		t.Helper()
		all, err := w.st.Provisioning().StorageWork(w.ctx)
		w.ok(err)
		var got []string
		for _, s := range all {
			got = append(got, s.ID+" after "+s.Attachment.After)
		}
		w.equal(got, want)
	}
	waits("certs/0 after common/1", "common/1 after ")
	w.checkExplain("certs/0", `the storage provisioner must attach storage "certs/0" to machine 0, after storage "common/1"`)
	w.attached("vault/0", "common/1")
	waits("certs/0 after ")
	w.attached("vault/0", "certs/0")
	waits()
	w.ok(w.unit("vault/0").Destroy(w.ctx, entity.Destruction{}))
	w.ok(w.unit("vault/0").DetachStorage(w.ctx, "common/1"))
	waits("common/1 after certs/0")
	w.checkExplain("common/1", `the storage provisioner must detach storage "common/1" from machine 0, after storage "certs/0"`)
	w.ok(w.unit("vault/0").DetachStorage(w.ctx, "certs/0"))
	waits("certs/0 after ", "common/1 after certs/0")
	w.ok(w.storage("certs/0").RemoveAttachment(w.ctx, "vault/0"))
	waits("common/1 after ")
}

// Status says which storage a unit waits for, and why it can't have it.
func TestStatusNamesStorageThatAUnitWaitsFor(t *testing.T) {
	w := newWorld(t)
	w.deploy("vault", vault, 1)
	w.provisioned("0")
	m := w.machine("0")
	w.ok(m.SetAddresses(w.ctx, []string{"10.0.0.1"}))
	w.ok(m.SetStatus(w.ctx, entity.Status{Status: entity.StatusStarted}))
	w.ok(w.unit("vault/0").SetAgentStatus(w.ctx, entity.Status{Status: entity.StatusIdle}))
	says := func(want ...string) {
		t.Helper()
		u := w.status().Services[0].Units[0]
		w.equal([]string{u.Workload.Message, u.Agent.Message}, want)
	}
	says("waiting for storage certs/0", "")
	w.ok(w.storage("common/1").SetStatus(w.ctx, entity.Status{Status: entity.StatusError, Message: "cannot attach it: no"}))
	says("waiting for storage common/1", "storage common/1: cannot attach it: no")
	w.attached("vault/0", "common/1")
	says("waiting for storage certs/0", "")
	w.attached("vault/0", "certs/0")
	says("agent initializing", "")
}
