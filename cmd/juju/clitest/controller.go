package clitest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/state/constraints"
	"juju/state/entity"
)

func (f *FakeController) AuditLog(_ context.Context, q client.AuditQuery) ([]entity.AuditEntry, error) {
	f.Calls = append(f.Calls, fmt.Sprintf("AuditLog %d %q %q %v %v", q.Limit, q.User, q.Model, q.Since.UTC(), q.Until.UTC()))
	if q.User == "nobody" {
		return nil, f.Err
	}
	at := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	return []entity.AuditEntry{
		{Time: at, User: "bob", From: "10.0.0.1:5", Models: []entity.AuditModel{{UUID: "u1", Name: "m", Owner: "bob"}, {UUID: "u2"}},
			Call: "ModelManager.DestroyModels", Version: 10, Args: json.RawMessage(`{"models":["a"]}`), Error: "not\nnow"},
		{Time: at, User: "bob", From: "10.0.0.1:5", Call: "UserManager.AddUser", Version: 3},
	}, f.Err
}

func (f *FakeController) BlockedModels(context.Context) ([]entity.ModelBlocks, error) {
	var blocked []entity.ModelBlocks
	for _, m := range f.ModelInfos {
		blocked = append(blocked, entity.ModelBlocks{Name: m.Name, UUID: m.UUID, OwnerTag: m.OwnerTag,
			Blocks: []string{"BlockRemove", "BlockChange"}})
	}
	return blocked, nil
}

func (f *FakeController) RemoveBlocks(context.Context) error { return f.asked("RemoveBlocks") }

func (f *FakeController) CheckController(context.Context, bool) ([]entity.Finding, error) {
	return nil, f.Err
}

func (f *FakeController) CheckModel(context.Context, string, bool) ([]entity.Finding, error) {
	return nil, f.Err
}

func (f *FakeController) ControllerNodes(context.Context) ([]entity.ControllerNode, *entity.ControllerUpgrade, error) {
	return f.Nodes, f.Binaries.Upgrade, f.Err
}

func (f *FakeController) EnableHA(_ context.Context, n int, cons constraints.Value) (entity.ControllerChanges, error) {
	f.Calls = append(f.Calls, fmt.Sprintf("EnableHA %d %q", n, cons))
	return entity.ControllerChanges{Maintained: []string{"0"}, Added: []string{"3", "4"}, Demoted: []string{"1"}}, f.Err
}

func (f *FakeController) ServerVersion() string { return "3.6.5" }

func (f *FakeController) Release() string { return "1.2.3" }

func (f *FakeController) ControllerAccess() string { return "superuser" }

func (f *FakeController) Addresses() []string { return []string{"10.0.0.1:17070"} }

// A FakeController has models, and records calls.
type FakeController struct {
	Nodes      []entity.ControllerNode
	Calls      []string
	ModelInfos []entity.ModelInfo
	Err        error // of every change
	// stays is how many times a destroyed model is still listed, unless held is set, which keeps
	// it listed; leftovers is what it leaves behind.
	Stays     int
	Held      bool
	dying     string        // its UUID
	changed   chan struct{} // of the watch of a model; nil before there is one
	Reads     int           // of the list of models
	Leftovers []entity.Leftover
	Binaries  entity.ControllerBinaries
	Next      []entity.ControllerBinaries // what binaries becomes each time it is read

	mu sync.Mutex // of models and their watch, which Change changes while a command runs
}

// WatchModel fires at once, and after each call of Models with another change to follow.
func (f *FakeController) WatchModel(context.Context, string) (<-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = make(chan struct{}, 1)
	f.tell()
	return f.changed, nil
}

// Change changes the models, and fires the watch.
func (f *FakeController) Change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.tell()
}

func (f *FakeController) tell() {
	select {
	case f.changed <- struct{}{}:
	default: // it will fire, or there is no watch
	}
}

func (f *FakeController) DestroyModel(_ context.Context, uuid string, how entity.Destruction) error {
	f.Calls = append(f.Calls, fmt.Sprintf("DestroyModel %s %s %v", uuid, how.Strength, how.Timeout))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Err == nil {
		f.dying = uuid
	}
	return f.Err
}

func (f *FakeController) ModelLeftovers(context.Context) ([]entity.Leftover, error) {
	return f.Leftovers, nil
}

func (f *FakeController) Close() error { return nil }

func (f *FakeController) Models(context.Context) (all []client.Model, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Reads++
	if f.dying != "" && !f.Held {
		if f.Stays--; f.Stays >= 0 {
			f.tell()
		} else {
			f.ModelInfos = slices.DeleteFunc(f.ModelInfos, func(m entity.ModelInfo) bool { return m.UUID == f.dying })
		}
	}
	for _, m := range f.ModelInfos {
		all = append(all, client.Model{Name: m.Name, UUID: m.UUID, Owner: m.OwnerTag.ID})
	}
	return all, nil
}

func (f *FakeController) ModelSummaries(context.Context) (all []entity.ModelSummary, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.ModelInfos {
		all = append(all, entity.ModelSummary{ModelDescription: m.ModelDescription, UserAccess: "admin",
			Counts: []entity.ModelEntityCount{{Entity: "machines", Count: int64(len(m.Machines))}, {Entity: "units", Count: 3}}})
	}
	return all, nil
}

func (f *FakeController) ModelInfo(_ context.Context, uuid string) (entity.ModelInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.ModelInfos {
		if m.UUID == uuid {
			return m, nil
		}
	}
	return entity.ModelInfo{}, entity.Errorf(entity.Unauthorized, "permission denied")
}

func (f *FakeController) CreateModel(
	_ context.Context, name string, at client.ModelPlace, config map[string]string,
) (client.Model, error) {
	call := "CreateModel " + name
	if at != (client.ModelPlace{}) {
		call += fmt.Sprint(" ", at)
	}
	f.Calls = append(f.Calls, strings.TrimSpace(call+" "+strings.TrimPrefix(fmt.Sprint(config), "map[]")))
	owner := cmp.Or(at.Owner, "admin")
	if f.Err == nil {
		f.Add(owner, name)
	}
	return client.Model{Name: name, UUID: name + "-uuid", Owner: owner}, f.Err
}

func (f *FakeController) Add(owner, name string) *entity.ModelInfo {
	f.ModelInfos = append(f.ModelInfos, entity.ModelInfo{ModelDescription: entity.ModelDescription{
		Name: name, UUID: name + "-uuid", Type: "iaas", OwnerTag: entity.UserTag(owner), Life: "alive", ProviderType: "local",
		IsController: name == "controller", Status: entity.Status{Status: "available"}},
		Users: []entity.ModelUser{{UserName: owner, Access: "admin"}}})
	return &f.ModelInfos[len(f.ModelInfos)-1]
}

// Selected returns what the user has selected.
func (u *User) Selected() string {
	u.T.Helper()
	c, err := u.Store().Read()
	if err != nil {
		u.T.Fatal(err)
	}
	if c.Controllers[c.Current] == nil {
		return ""
	}
	return c.Current + ":" + c.Controllers[c.Current].Model
}

func (f *FakeController) ControllerBinaries(context.Context) (entity.ControllerBinaries, error) {
	now := f.Binaries
	if len(f.Next) > 0 {
		f.Binaries, f.Next = f.Next[0], f.Next[1:]
	}
	return now, nil
}

func (f *FakeController) UpgradeModel(_ context.Context, uuid string, to entity.Binaries, dryRun bool) (entity.Binaries, error) {
	f.Calls = append(f.Calls, fmt.Sprintf("UpgradeModel %s %q %v", uuid, to.Version, dryRun))
	return f.Binaries.Binaries, f.Err
}

func (f *FakeModel) UploadBinaries(context.Context, io.Reader, entity.Binaries) error { return nil }
