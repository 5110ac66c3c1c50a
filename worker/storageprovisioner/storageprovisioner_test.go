package storageprovisioner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state/entity"
)

// A model has the storage of a model as far as the worker sees it. Tests change work, and wake.
type model struct {
	mu     sync.Mutex
	work   map[string]entity.StorageWork
	events chan struct{}
	errs   map[string]error // by storage: what SetFilesystem and SetAttached answer
	status map[string]entity.Status
	on     map[string]string // by storage: the instance on whose disk it is
	inUse  int               // how often EnsureStorageDead answers that the storage is in use
	fault  error             // of StorageWork
	deaf   error             // of SetStorageStatus
	reads  int               // of the work
}

func (m *model) WatchStorage(context.Context) (<-chan struct{}, error) { return m.events, nil }

func (m *model) StorageWork(context.Context) (all []entity.StorageWork, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	for _, w := range m.work {
		if w.Attachment != nil {
			a := *w.Attachment
			w.Attachment = &a
			a.After = cmp.Or(a.After, m.after(w))
		}
		a := w.Attachment
		due := a != nil && (a.Life == entity.Dead || a.Life == entity.Alive && a.Location == "")
		waits := w.Life == entity.Dying && a != nil && a.Life != entity.Dead
		if (due || w.Life != entity.Alive || w.Filesystem == "") && !waits {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b entity.StorageWork) int { return strings.Compare(a.ID, b.ID) })
	return all, m.fault
}

// after returns the storage that must be attached or detached before this, because one lies in the other,
// as state does.
func (m *model) after(w entity.StorageWork) string {
	a := w.Attachment
	for _, other := range m.work {
		o := other.Attachment
		if o == nil || o.Instance != a.Instance {
			continue
		}
		there, dead := o.Location != "", a.Life == entity.Dead
		if dead && there && strings.HasPrefix(o.Mount, a.Mount+"/") ||
			!dead && there != (o.Life == entity.Alive) && strings.HasPrefix(a.Mount, o.Mount+"/") {
			return other.ID
		}
	}
	return ""
}

// change changes one instance, and wakes the worker's watch as the controller's would.
func (m *model) change(tag entity.Tag, f func(*entity.StorageWork)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, ok := m.work[tag.ID]
	if !ok {
		return entity.Errorf(entity.NotFound, "storage %q not found", tag.ID)
	}
	f(&w)
	m.work[tag.ID] = w
	m.wake()
	return nil
}

// wake fires the watch; an event that is not read yet is enough.
func (m *model) wake() {
	select {
	case m.events <- struct{}{}:
	default:
	}
}

func (m *model) SetFilesystem(_ context.Context, tag entity.Tag, f entity.Filesystem) error {
	if err := m.refused(tag); err != nil {
		return err
	}
	return m.change(tag, func(w *entity.StorageWork) {
		w.Filesystem, m.on[w.ID] = f.ID, f.Instance
		delete(m.status, w.ID)
	})
}

// refused returns the error for what is reported of an instance; the record is gone then.
func (m *model) refused(tag entity.Tag) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.errs[tag.ID]
	if err != nil {
		delete(m.work, tag.ID)
	}
	return err
}

func (m *model) SetAttached(_ context.Context, tag entity.Tag, unit, instance, location string) error {
	if err := m.refused(tag); err != nil {
		return err
	}
	if w, _ := m.get(tag.ID); w.Attachment.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "storage %q is being detached", tag.ID)
	}
	return m.change(tag, func(w *entity.StorageWork) { w.Attachment.Location = location; delete(m.status, w.ID) })
}

// get returns an instance, and its status.
func (m *model) get(id string) (entity.StorageWork, entity.Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.work[id], m.status[id]
}

func (m *model) RemoveAttachment(_ context.Context, tag entity.Tag, unit string) error {
	return m.change(tag, func(w *entity.StorageWork) { w.Attachment = nil })
}

func (m *model) SetStorageStatus(_ context.Context, tag entity.Tag, status entity.Status) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status[tag.ID] = status
	return m.deaf
}

func (m *model) EnsureStorageDead(_ context.Context, tag entity.Tag) error {
	m.mu.Lock()
	m.inUse--
	inUse := m.inUse >= 0
	m.mu.Unlock()
	if inUse {
		return entity.Errorf(entity.InUse, "storage %q is in use", tag.ID)
	}
	return m.change(tag, func(w *entity.StorageWork) { w.Life = entity.Dead })
}

func (m *model) RemoveStorage(_ context.Context, tag entity.Tag) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.work, tag.ID)
	return nil
}

func (m *model) DropFilesystem(_ context.Context, filesystem string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.work, func(_ string, w entity.StorageWork) bool {
		return w.Life == entity.Gone && w.Filesystem == filesystem
	})
	return nil
}

// String writes a line for each instance: "data/0 alive fs-data-0 a/0 at /i-1/srv".
func (m *model) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for id, w := range m.work {
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", id, w.Life, w.Filesystem))
		if a := w.Attachment; a != nil {
			line = strings.TrimSpace(fmt.Sprintf("%s %s at %s", line, a.Unit, a.Location))
		}
		if s := m.status[id]; s.Message != "" {
			line += ": " + s.Message
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A slowCloud does not answer about filesystems that are held.
type slowCloud struct {
	provider.Filesystems
	mu      sync.Mutex
	held    map[string]chan struct{} // by step, "attach fs-data-0"
	asked   []string                 // steps
	waiting int
}

// hold keeps a step from its end until release is called or its context is done.
func (c *slowCloud) hold(step string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make(chan struct{})
	c.held[step] = held
	return func() { close(held) }
}

// wait returns when a step is not held, or its context is done.
func (c *slowCloud) wait(ctx context.Context, step string) error {
	c.mu.Lock()
	held := c.held[step]
	c.asked = append(c.asked, step)
	c.waiting++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *slowCloud) CreateFilesystem(ctx context.Context, p provider.FilesystemParams) (f entity.Filesystem, err error) {
	if err := c.wait(ctx, "create "+p.Storage); err != nil {
		return f, err
	}
	return c.Filesystems.CreateFilesystem(ctx, p)
}

func (c *slowCloud) AttachFilesystem(ctx context.Context, p provider.AttachmentParams) (string, error) {
	if err := c.wait(ctx, "attach "+p.Filesystem); err != nil {
		return "", err
	}
	return c.Filesystems.AttachFilesystem(ctx, p)
}

func (c *slowCloud) DetachFilesystem(ctx context.Context, p provider.AttachmentParams) error {
	if err := c.wait(ctx, "detach "+p.Filesystem); err != nil {
		return err
	}
	return c.Filesystems.DetachFilesystem(ctx, p)
}

func (c *slowCloud) DestroyFilesystem(ctx context.Context, id string) error {
	if err := c.wait(ctx, "destroy "+id); err != nil {
		return err
	}
	return c.Filesystems.DestroyFilesystem(ctx, id)
}

// slowSteps returns how many steps the cloud has not answered.
func (c *slowCloud) slowSteps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

// steps checks which steps the cloud was asked for since the last time.
func (r *rig) steps(want ...string) {
	r.Helper()
	synctest.Wait()
	r.slow.mu.Lock()
	defer r.slow.mu.Unlock()
	if !slices.Equal(r.slow.asked, want) {
		r.Errorf("the cloud was asked for %q, want %q", r.slow.asked, want)
	}
	r.slow.asked = nil
}

// A rig runs the worker for a model on a dummy cloud, in a bubble of synctest.
type rig struct {
	*testing.T
	*model
	cloud *dummytest.Cloud
	slow  *slowCloud
}

// story runs the worker while tell runs, and fails the test unless it ends with its context.
func story(t *testing.T, tell func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, cloud: dummytest.New(nil), model: &model{work: map[string]entity.StorageWork{},
			events: make(chan struct{}, 1), errs: map[string]error{}, status: map[string]entity.Status{},
			on: map[string]string{}}}
		environ, err := r.cloud.Open(t.Context(), provider.Config{Controller: "c", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		r.slow = &slowCloud{Filesystems: environ, held: map[string]chan struct{}{}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- New(Config{API: r.model, Cloud: r.slow})(ctx) }()
		tell(r)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the worker ended with %v", err)
		}
		if n := r.slow.slowSteps(); n > 0 {
			t.Errorf("the worker has ended before %d of its steps", n)
		}
	})
}

// set adds or replaces an instance.
func (r *rig) set(w entity.StorageWork) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.work[w.ID] = w
	r.wake()
}

func (r *rig) is(want ...string) {
	r.Helper()
	synctest.Wait()
	if got := r.model.String(); got != strings.Join(want, "\n") {
		r.Errorf("storage is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// called checks what the cloud was asked since the last time.
func (r *rig) called(want ...string) {
	r.Helper()
	synctest.Wait()
	var got []string
	for _, op := range r.cloud.Ops() {
		got = append(got, op.Method)
	}
	if !slices.Equal(got, want) {
		r.Errorf("the cloud was asked %q, want %q", got, want)
	}
}

func wanted(id, instance string) entity.StorageWork {
	return entity.StorageWork{ID: id, Size: 5,
		Attachment: &entity.AttachmentWork{Unit: "a/0", Instance: instance, Mount: "/srv"}}
}

func TestLifeOfStorage(t *testing.T) {
	story(t, func(r *rig) {
		r.set(wanted("data/0", ""))
		r.is("data/0 alive fs-data-0 a/0 at") // its machine has no instance yet
		w, _ := r.get("data/0")
		w.Attachment.Instance = "i-1"
		r.set(w)
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv")
		w, _ = r.get("data/0")
		w.Attachment.Life = entity.Dying
		r.set(w)
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv") // the unit's hooks run
		w.Attachment.Life = entity.Dead
		r.set(w)
		r.is("data/0 alive fs-data-0")
		w, _ = r.get("data/0")
		w.Life = entity.Dying
		r.set(w)
		r.is()
		r.called("CreateFilesystem", "AttachFilesystem", "DetachFilesystem", "DestroyFilesystem")
	})
}

func TestStorageOnTheDiskOfAMachineWaitsForIt(t *testing.T) {
	story(t, func(r *rig) {
		w := wanted("data/0", "")
		w.OnMachine = true
		r.set(w)
		r.is("data/0 alive a/0 at")
		r.called()
		w.Attachment.Instance = "i-1"
		r.set(w)
		r.set(wanted("data/1", "i-2"))
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv", "data/1 alive fs-data-1 a/0 at /i-2/srv")
		if r.on["data/0"] != "i-1" || r.on["data/1"] != "" {
			r.Errorf("on the disks of machines are %v, want data/0 on that of i-1", r.on)
		}
	})
}

func TestReleasedStorageIsNotDestroyed(t *testing.T) {
	story(t, func(r *rig) {
		r.set(entity.StorageWork{ID: "data/0", Life: entity.Dying, Filesystem: "fs", Release: true})
		r.is()
		r.called("ReleaseFilesystem")
	})
}

func TestStorageWithoutAFilesystemIsOnlyRemoved(t *testing.T) {
	story(t, func(r *rig) {
		w := wanted("data/0", "i-1")
		w.Life, w.Attachment.Life = entity.Dying, entity.Dead
		r.set(w)
		r.is()
		r.called()
	})
}

// What fails is reported, does not hold up other storage, and is tried again after a pause that
// doubles; a new life does not wait.
func TestAFailureIsTriedAgain(t *testing.T) {
	story(t, func(r *rig) {
		r.cloud.Fail("CreateFilesystem", 2, errors.New("no room"))
		r.set(wanted("data/0", "i-1"))
		r.is("data/0 alive a/0 at: cannot make filesystem: no room")
		r.set(wanted("other/0", "i-2"))
		time.Sleep(29 * time.Second)
		r.wake()
		r.is("data/0 alive a/0 at: cannot make filesystem: no room",
			"other/0 alive a/0 at: cannot make filesystem: no room")
		time.Sleep(31 * time.Second)
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv", "other/0 alive fs-other-0 a/0 at /i-2/srv")
		r.cloud.Fail("DestroyFilesystem", 3, entity.WithHint(errors.New("busy"), "By hand: rm"))
		begin := time.Now()
		r.set(entity.StorageWork{ID: "data/0", Life: entity.Dead, Filesystem: "fs-data-0"})
		synctest.Wait()
		if _, s := r.get("data/0"); s.Status != entity.StatusError || s.Data["hint"] != "By hand: rm" {
			r.Errorf("its status is %+v", s)
		}
		for w, _ := r.get("data/0"); w.ID != ""; w, _ = r.get("data/0") {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took := time.Since(begin); took != (30+60+120)*time.Second {
			r.Errorf("it was destroyed after %v", took)
		}
		r.cloud.Fail("CreateFilesystem", 1, errors.New("no room"))
		r.set(wanted("data/1", "i-1"))
		synctest.Wait()
		r.set(entity.StorageWork{ID: "data/1", Life: entity.Dying})
		r.is("other/0 alive fs-other-0 a/0 at /i-2/srv")
		reads := r.reads
		time.Sleep(time.Hour)
		if synctest.Wait(); r.reads != reads {
			r.Errorf("it looked %d times for work when nothing was to be tried again", r.reads-reads)
		}
	})
}

// Other work on the same storage does not wait for what failed: to detach it, or to attach it to the
// next instance.
func TestOtherWorkDoesNotWaitForAFailure(t *testing.T) {
	for name, other := range map[string]func(*entity.AttachmentWork){
		"detach":        func(a *entity.AttachmentWork) { a.Life = entity.Dead },
		"next instance": func(a *entity.AttachmentWork) { a.Instance = "i-2" },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(r *rig) {
				r.cloud.Fail("AttachFilesystem", 6, errors.New("it is a file"))
				r.set(wanted("data/0", "i-1"))
				time.Sleep(20 * time.Minute) // the next try is minutes away
				r.is("data/0 alive fs-data-0 a/0 at: cannot attach it to unit a/0: it is a file")
				w, _ := r.get("data/0")
				a := *w.Attachment
				other(&a)
				w.Attachment = &a
				r.set(w)
				synctest.Wait()
				// It was made, and has failed to attach six times.
				if ops := r.cloud.Ops(); len(ops) != 8 || ops[7].Err != nil {
					t.Errorf("the cloud was asked %v", ops)
				}
			})
		})
	}
}

// What lies in other storage waits for it.
func TestStorageInOtherStorageWaits(t *testing.T) {
	story(t, func(r *rig) {
		w := wanted("data/0", "i-1")
		w.Attachment.After = "data/1"
		r.set(w)
		r.is("data/0 alive fs-data-0 a/0 at")
		r.called("CreateFilesystem")
		a := *w.Attachment
		a.After, w.Filesystem, w.Attachment = "", "fs-data-0", &a
		r.set(w)
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv")
	})
}

func TestAMountPointThatIsInUse(t *testing.T) {
	story(t, func(r *rig) {
		w := wanted("data/0", "i-1")
		w.Attachment.InUse = "data/1"
		r.set(w)
		r.is("data/0 alive fs-data-0 a/0 at: cannot attach it to unit a/0: /srv is in use by storage data/1")
		r.called("CreateFilesystem")
	})
}

// A forced removal may take the record while the cloud attaches the filesystem.
func TestStorageThatIsGoneWhenItIsAttached(t *testing.T) {
	story(t, func(r *rig) {
		r.mu.Lock()
		r.errs["data/0"] = entity.Errorf(entity.NotFound, "storage not found")
		r.mu.Unlock()
		w := wanted("data/0", "i-1")
		w.Filesystem = "fs-data-0"
		r.set(w)
		r.is()
		r.called("AttachFilesystem", "DetachFilesystem")
	})
}

// Or while the cloud makes it.
func TestStorageThatIsGoneWhenItIsMade(t *testing.T) {
	story(t, func(r *rig) {
		r.mu.Lock()
		r.errs["data/0"] = entity.Errorf(entity.NotFound, "storage not found")
		r.mu.Unlock()
		r.set(wanted("data/0", "i-1"))
		r.is()
		r.called("CreateFilesystem", "DestroyFilesystem")
	})
}

// What a forced removal has left is destroyed, and forgotten, once the cloud can do it.
func TestAFilesystemThatIsLeft(t *testing.T) {
	story(t, func(r *rig) {
		r.cloud.Fail("DestroyFilesystem", 1, errors.New("busy"))
		r.set(entity.StorageWork{ID: "data/0", Life: entity.Gone, Filesystem: "fs-data-0"})
		r.is("data/0 gone fs-data-0: cannot destroy filesystem: busy")
		time.Sleep(31 * time.Second)
		r.is()
		r.called("DestroyFilesystem", "DestroyFilesystem")
	})
}

// Or released, if that is what the user wants.
func TestAFilesystemThatIsLeftIsReleased(t *testing.T) {
	story(t, func(r *rig) {
		r.set(entity.StorageWork{ID: "data/0", Life: entity.Gone, Filesystem: "fs-data-0", Release: true})
		r.is()
		r.called("ReleaseFilesystem")
	})
}

// A cloud that does not answer holds up one step for a limited time.
func TestACloudThatHangs(t *testing.T) {
	story(t, func(r *rig) {
		release := r.cloud.Stall("CreateFilesystem")
		defer release()
		r.set(wanted("data/0", "i-1"))
		time.Sleep(5*time.Minute + time.Second)
		r.is("data/0 alive a/0 at: cannot make filesystem: context deadline exceeded")
	})
}

// That the controller refuses the status of storage means that it is gone.
func TestAnErrorOfTheControllerEndsTheWorker(t *testing.T) {
	lost := errors.New("connection lost")
	for name, tell := range map[string]func(*model){
		"work":                    func(m *model) { m.fault = lost },
		"work while a step hangs": func(m *model) { m.work["data/0"] = wanted("data/0", "") },
		"status": func(m *model) {
			m.deaf = lost
			w := wanted("data/0", "i-1")
			w.Filesystem, w.Attachment.InUse = "fs-data-0", "data/1"
			m.work["data/0"] = w
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &model{events: make(chan struct{}, 1), work: map[string]entity.StorageWork{}, status: map[string]entity.Status{},
				on: map[string]string{}}
			environ, err := dummytest.New(nil).Open(t.Context(), provider.Config{Controller: "c", Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			slow := &slowCloud{Filesystems: environ, held: map[string]chan struct{}{}}
			slow.hold("create data/0")
			tell(m)
			m.wake()
			done := make(chan error)
			go func() { done <- New(Config{API: m, Cloud: slow})(t.Context()) }()
			synctest.Wait()
			if m.deaf == nil { // otherwise it has ended
				m.mu.Lock()
				m.fault = lost
				m.mu.Unlock()
				m.wake()
			}
			began := time.Now()
			if err := <-done; !errors.Is(err, lost) || time.Since(began) > 0 {
				t.Errorf("%s: the worker ended with %v after %v", name, err, time.Since(began))
			}
		})
	}
	story(t, func(r *rig) {
		r.deaf = entity.Errorf(entity.NotFound, "storage not found")
		r.cloud.Fail("CreateFilesystem", 1, errors.New("no room"))
		r.set(wanted("data/0", "i-1"))
		time.Sleep(time.Minute)
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv")
	})
}

// The cloud knows nothing of the host, and is not asked.
func TestManualMachinesHaveNoStorage(t *testing.T) {
	const why = ": cannot attach it to unit a/0: its machine is manual:db, a host for which the cloud has no storage"
	story(t, func(r *rig) {
		onMachine := wanted("data/0", "manual:db")
		onMachine.OnMachine = true
		r.set(onMachine)
		r.set(wanted("data/1", "manual:db"))
		r.is("data/0 alive a/0 at"+why, "data/1 alive fs-data-1 a/0 at"+why)
		for _, id := range []string{"data/0", "data/1"} {
			w, _ := r.get(id)
			w.Attachment.Life = entity.Dead
			r.set(w)
			synctest.Wait()
			w, _ = r.get(id)
			w.Life = entity.Dying
			r.set(w)
		}
		time.Sleep(time.Hour) // until it is tried again
		r.is()
		r.called("CreateFilesystem", "DestroyFilesystem")
	})
}

// at returns storage of a unit whose machine has an instance.
func at(id, instance, mount string) entity.StorageWork {
	w := wanted(id, instance)
	w.Attachment.Mount = mount
	return w
}

// dies makes the attachment of an instance Dead.
func (r *rig) dies(id string) {
	r.change(entity.StorageTag(id), func(w *entity.StorageWork) { w.Attachment.Life = entity.Dead })
}

// Whatever the cloud does not answer, the storage of other machines goes on.
func TestOtherStorageDoesNotWaitForASlowStep(t *testing.T) {
	made := at("data/0", "i-1", "/srv")
	made.Filesystem = "fs-data-0"
	unwanted := made
	unwanted.Attachment = &entity.AttachmentWork{Unit: "a/0", Instance: "i-1", Life: entity.Dead, Mount: "/srv",
		Location: "/srv"}
	for step, w := range map[string]entity.StorageWork{
		"create data/0":     at("data/0", "i-1", "/srv"),
		"attach fs-data-0":  made,
		"detach fs-data-0":  unwanted,
		"destroy fs-data-0": {ID: "data/0", Life: entity.Dead, Filesystem: "fs-data-0"},
	} {
		t.Run(step, func(t *testing.T) {
			story(t, func(r *rig) {
				release := r.slow.hold(step)
				r.set(w)
				r.steps(step)
				before := strings.TrimSpace(r.model.String())
				r.set(at("data/1", "i-2", "/srv"))
				r.set(at("data/2", "", "/srv"))
				r.is(before, "data/1 alive fs-data-1 a/0 at /i-2/srv", "data/2 alive fs-data-2 a/0 at")
				r.dies("data/1")
				r.change(entity.StorageTag("data/1"), func(w *entity.StorageWork) { w.Life = entity.Dying })
				r.is(before, "data/2 alive fs-data-2 a/0 at")
				release()
				synctest.Wait()
				if now := r.model.String(); strings.HasPrefix(now, before+"\n") {
					r.Errorf("at the end of the step the storage is\n%s", now)
				}
			})
		})
	}
}

// What changes during a step is done after it, also if the step fails.
func TestAStepAtATimeOnOneStorage(t *testing.T) {
	story(t, func(r *rig) {
		release := r.slow.hold("attach fs-data-0")
		r.set(wanted("data/0", "i-1"))
		r.steps("create data/0", "attach fs-data-0")
		r.dies("data/0")
		r.steps()
		release()
		r.is("data/0 alive fs-data-0")
		r.steps("detach fs-data-0", "detach fs-data-0") // by the attaching that has come too late, too

		r.slow.hold("attach fs-data-1")
		r.set(wanted("data/1", "i-1"))
		r.steps("create data/1", "attach fs-data-1")
		r.dies("data/1")
		r.steps()
		time.Sleep(5 * time.Minute)
		r.steps("detach fs-data-1")
		r.is("data/0 alive fs-data-0", "data/1 alive fs-data-1: cannot attach it to unit a/0: context deadline exceeded")

		release = r.slow.hold("create data/2")
		r.set(wanted("data/2", ""))
		r.steps("create data/2")
		r.change(entity.StorageTag("data/2"), func(w *entity.StorageWork) { w.Attachment.Instance = "i-2" })
		r.steps()
		release()
		r.steps("attach fs-data-2")
	})
}

// A step for which the records are not ready is not taken again and again: they change, or it waits.
func TestWhatTheControllerRefusesWaits(t *testing.T) {
	story(t, func(r *rig) {
		r.inUse = 2
		r.set(entity.StorageWork{ID: "data/0", Life: entity.Dying, Filesystem: "fs-data-0"})
		begin := time.Now()
		for w, _ := r.get("data/0"); w.ID != ""; w, _ = r.get("data/0") {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took := time.Since(begin); took != (30+60)*time.Second {
			r.Errorf("it was removed after %v", took)
		}
	})
}

// Also while what is done about the one is slow.
func TestStorageInOtherStorageKeepsTheOrder(t *testing.T) {
	story(t, func(r *rig) {
		release := r.slow.hold("attach fs-data-1")
		r.set(at("data/0", "i-1", "/srv/x/y"))
		r.set(at("data/1", "i-1", "/srv"))
		r.set(at("data/2", "i-2", "/srv/x"))
		r.set(at("data/3", "i-1", "/srv/x"))
		r.is("data/0 alive fs-data-0 a/0 at", "data/1 alive fs-data-1 a/0 at",
			"data/2 alive fs-data-2 a/0 at /i-2/srv/x", "data/3 alive fs-data-3 a/0 at")
		r.slow.asked = nil
		release()
		r.steps("attach fs-data-3", "attach fs-data-0")
		release = r.slow.hold("detach fs-data-0")
		for _, id := range []string{"data/0", "data/1", "data/2", "data/3"} {
			r.dies(id)
		}
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv/x/y", "data/1 alive fs-data-1 a/0 at /i-1/srv",
			"data/2 alive fs-data-2", "data/3 alive fs-data-3 a/0 at /i-1/srv/x")
		r.slow.asked = nil
		release()
		r.steps("detach fs-data-3", "detach fs-data-1")
	})
}

// The records do not yet have the inner one, while the cloud attaches it.
func TestTheOuterStorageWaitsForTheInner(t *testing.T) {
	story(t, func(r *rig) {
		r.set(at("data/0", "i-1", "/srv"))
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv")
		release := r.slow.hold("attach fs-data-1")
		r.set(at("data/1", "i-1", "/srv/x"))
		r.steps("create data/0", "attach fs-data-0", "create data/1", "attach fs-data-1")
		r.dies("data/0")
		r.steps()
		release()
		r.is("data/0 alive fs-data-0 a/0 at /i-1/srv", "data/1 alive fs-data-1 a/0 at /i-1/srv/x")
		r.dies("data/1")
		r.steps("detach fs-data-1", "detach fs-data-0")
	})
}

func TestTheWorkerEndsDuringAStep(t *testing.T) {
	story(t, func(r *rig) {
		r.slow.hold("create data/0")
		r.slow.hold("create data/1")
		r.set(wanted("data/0", ""))
		r.set(wanted("data/1", ""))
		synctest.Wait()
		if n := r.slow.slowSteps(); n != 2 {
			r.Errorf("%d steps are taken, want 2", n)
		}
	})
}

// However many hang: each has its turn before another has a second one.
func TestStepsWaitTheirTurn(t *testing.T) {
	story(t, func(r *rig) {
		for n := range 40 {
			id := fmt.Sprintf("data/%02d", n)
			r.slow.hold("create " + id)
			r.set(wanted(id, ""))
		}
		synctest.Wait()
		if n := r.slow.slowSteps(); n != parallel {
			r.Errorf("%d steps are taken at once", n)
		}
		r.set(wanted("data/40", "i-1"))
		time.Sleep(3 * 5 * time.Minute)
		synctest.Wait()
		if w, _ := r.get("data/40"); w.Filesystem == "" {
			r.Error("the last has not had its turn")
		}
	})
}

// An instance on which nothing can be attached leaves the others their turns.
func TestASlowInstanceHasOneTurn(t *testing.T) {
	story(t, func(r *rig) {
		for n := range 2 * parallel {
			id := fmt.Sprintf("data/%02d", n)
			r.slow.hold("attach fs-" + strings.ReplaceAll(id, "/", "-"))
			r.set(at(id, "i-1", "/srv/"+id))
		}
		r.set(at("other/0", "i-2", "/srv"))
		synctest.Wait()
		if w, _ := r.get("other/0"); w.Attachment.Location == "" {
			r.Error("another instance has to wait")
		}
	})
}
