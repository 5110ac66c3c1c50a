package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"juju/agent/backup"
	"juju/provider/local"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A controller is backed up while units are added, and restored in another directory, onto a MongoDB. What the backup has
// is one moment. The agents return to the restored controller, and run hooks.
func TestABackupUnderLoadIsRestoredElsewhere(t *testing.T) {
	t.Parallel()
	quiet, live := 20, 4 // units without and with an agent
	if os.Getenv("JUJU_SOAK") != "" {
		quiet, live = 950, 50
	}
	set := mongotest.NewSet(t, 1)
	s := newSystem(t, Options{Provisioner: quick})
	s.deploy("live", `{name: live, summary: s, description: d}`, live,
		"config.yaml", "options: {said: {type: string, default: before}}\n",
		"hooks/config-changed", "#!/bin/sh\nstatus-set active \"$(config-get said)\"\n")
	s.deploy("quiet", `{name: quiet, summary: s, description: d}`, 0)
	add := func(n int) error {
		var on []entity.Placement
		for range n {
			m, err := s.st.AddMachine(s.ctx, state.AddMachineParams{Placement: statetest.At(absent)})
			if err != nil {
				return err
			}
			on = append(on, entity.Placement{Machine: m.ID()})
		}
		svc, err := s.st.Service(s.ctx, "quiet")
		if err == nil {
			_, err = svc.AddUnits(s.ctx, n, on)
		}
		return err
	}
	for left := quiet; left > 0; left -= 50 {
		s.ok(add(min(left, 50)))
	}
	saying := func(text string) func(*entity.ModelStatus) bool {
		return func(m *entity.ModelStatus) bool {
			n := 0
			for _, one := range m.Services {
				for _, u := range one.Units {
					if one.Name == "live" && u.Workload.Message == text {
						n++
					}
				}
			}
			return n == live
		}
	}
	s.until("all hooks", saying("before"))

	const users = 4
	var added atomic.Int64
	var enough atomic.Bool
	var adding errgroup.Group
	for range users {
		adding.Go(func() error {
			for !enough.Load() {
				if err := add(1); err != nil {
					return err
				}
				added.Add(1)
			}
			return nil
		})
	}
	s.eventually("the load", func() bool { return added.Load() >= 2*users })
	begun, before := time.Now(), int(added.Load())
	file, err := backups{s.c}.Backup(s.ctx, false, untold)
	s.ok(err)
	defer file.Close()
	took, after := time.Since(begun), int(added.Load())
	enough.Store(true)
	s.ok(adding.Wait())
	info, err := file.Stat()
	s.ok(err)
	t.Logf("%d units, %d of them with agents, and %d that were added meanwhile: the backup has %d KiB and took %v", quiet+live, live,
		after-before, info.Size()>>10, took.Round(time.Millisecond))

	s.stop()
	o := s.c.options
	o.Store = mongo.Options{Dial: set.Dial}
	dir := memoryDir(t)
	begun = time.Now()
	restored, err := Restore(s.ctx, dir, file, RestoreParams{MongoURL: set.URL()}, o)
	s.ok(err)
	t.Logf("the restore took %v", time.Since(begun).Round(time.Millisecond))
	conf, err := readConfig(local.ControllerDir(dir))
	s.ok(err)
	if restored.Controller != s.c.conf.Controller || !slices.Equal(restored.Addresses, s.c.conf.addresses()) {
		t.Fatalf("restored %+v", restored)
	}
	begun = time.Now()
	s.c = &running{dir: dir, own: local.ControllerDir(dir), conf: conf, options: o}
	s.start()
	s.st, err = s.c.ctrl.Model(s.ctx, s.model)
	s.ok(err)
	one, err := s.st.Service(s.ctx, "live")
	s.ok(err)
	s.ok(one.SetConfig(s.ctx, map[string]any{"said": "after"}))
	m := s.until("all agents to return", saying("after"))
	t.Logf("the agents ran hooks again after %v", time.Since(begun).Round(time.Millisecond))
	_, all := units(m)
	if least, most := quiet+live+before, quiet+live+after+users; all < least || all > most {
		t.Errorf("the restored model has %d units; when it was backed up, it had %d to %d", all, least, most)
	}
	found, err := s.st.Check(s.ctx, false)
	s.ok(err)
	more, err := s.c.ctrl.Check(s.ctx, false)
	s.ok(err)
	for _, f := range append(found, more...) {
		t.Errorf("check: %+v", f)
	}
}

// The controller that bootstrap started is lost and replaced, and then all are lost. What another one has backed up is
// restored: its machine has the restored controller, and the others have none.
func TestABackupOfAControllerThatWasAdded(t *testing.T) {
	t.Parallel()
	set := mongotest.NewSet(t, 1)
	s := newThreeControllers(t, set, set.Dial)
	s.stop()
	other := s.nodes.up()[0]
	own, err := other.ctrl.Model(s.ctx, s.c.conf.Model)
	s.ok(err)
	_, err = own.EnableHA(s.ctx, state.EnableHAParams{Controllers: 3, Lost: []string{"0"}})
	s.ok(err)
	s.ok(other.ctrl.RemoveNode(s.ctx, "0"))
	file, err := backups{other}.Backup(s.ctx, false, untold)
	s.ok(err)
	defer file.Close()

	// It still answers, so it is not lost.
	o := s.c.options
	o.Store = mongo.Options{}
	dir := memoryDir(t)
	if _, err := Restore(s.ctx, dir, file, RestoreParams{}, o); !errors.Is(err, entity.InUse) {
		t.Fatalf("while another controller answers, the restore returns %v", err)
	}
	checkNothingLeft(t, dir)
	s.nodes.stopAll()

	_, err = file.Seek(0, 0)
	s.ok(err)
	_, err = Restore(s.ctx, dir, file, RestoreParams{}, o)
	s.ok(err)
	conf, err := readConfig(local.ControllerDir(dir))
	s.ok(err)
	s.c = &running{dir: dir, own: local.ControllerDir(dir), conf: conf, options: o}
	s.start()
	own, err = s.c.ctrl.Model(s.ctx, conf.Model)
	s.ok(err)
	machines, err := own.Machines(s.ctx)
	s.ok(err)
	for _, m := range machines {
		if mine := m.ID() == other.conf.Machine; m.IsManager() != mine || (m.InstanceID() == entity.BootstrapInstance) != (mine || m.ID() == "0") {
			t.Errorf("machine %s: runs a controller %v, instance %q", m.ID(), m.IsManager(), m.InstanceID())
		}
	}
	nodes, err := s.c.ctrl.Nodes(t.Context())
	s.ok(err)
	if len(nodes) > 0 {
		t.Errorf("the restored controller knows others: %+v", nodes)
	}
	found, err := own.Check(s.ctx, false)
	s.ok(err)
	for _, f := range found {
		t.Errorf("check: %+v", f)
	}
}

// backedUp returns a controller that has been backed up and stopped, and the backup.
func backedUp(t *testing.T) (*system, *os.File) {
	t.Helper()
	s := newSystem(t, Options{Provisioner: quick})
	file, err := backups{s.c}.Backup(s.ctx, false, untold)
	s.ok(err)
	t.Cleanup(func() { file.Close() })
	s.stop()
	return s, file
}

// checkNothingLeft checks that a refused restore has left nothing of a controller in a cloud's directory.
func checkNothingLeft(t *testing.T, dir string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(local.ControllerDir(dir), "*"))
	if err != nil || slices.ContainsFunc(left, func(path string) bool {
		return slices.Contains([]string{dbName, configName, restoreName}, filepath.Base(path))
	}) {
		t.Errorf("the refused restore has left %v (%v)", left, err)
	}
}

// untold ignores the progress of a backup.
func untold(int64) {}

// A backup whose store is of another controller is refused in the end, when it has been loaded. Nothing of it is left, so
// that the right one can be restored.
func TestARefusedRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	s, file := backedUp(t)

	was, other := s.c.conf.Controller, "8c0f6f0e-0d6f-4b1c-9c8e-1f7a8a4e6b11"
	contents, err := backup.Open(file)
	s.ok(err)
	m := contents.Manifest()
	m.Controller = other
	var wrong bytes.Buffer
	w, err := backup.NewWriter(&wrong, m)
	s.ok(err)
	s.ok(w.Add(backup.ConfigName, bytes.ReplaceAll(contents.Text, []byte(was), []byte(other))))
	for {
		name, data, err := contents.Next()
		if err == io.EOF {
			break
		}
		s.ok(err)
		s.ok(w.Add(name, data))
	}
	s.ok(w.Close())

	dir, o := memoryDir(t), s.c.options
	o.Store = mongo.Options{}
	_, err = Restore(s.ctx, dir, &wrong, RestoreParams{}, o)
	if want := fmt.Sprintf("the backup is damaged: it is of controller %q, and its store of %q", other, was); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	checkNothingLeft(t, dir)
	_, err = file.Seek(0, io.SeekStart)
	s.ok(err)
	made, err := Restore(s.ctx, dir, file, RestoreParams{}, o)
	s.ok(err)
	if made.Controller != was {
		t.Errorf("restored controller %s, want %s", made.Controller, was)
	}
}

// A restore that was interrupted when it had written the configuration is undone by the next one, which finds a MongoDB empty.
func TestAnInterruptedRestoreIsUndone(t *testing.T) {
	t.Parallel()
	s, file := backedUp(t)
	set := mongotest.NewSet(t, 1)
	for name, url := range map[string]string{"embedded": "", "a MongoDB": set.URL()} {
		dir, o, p := memoryDir(t), s.c.options, RestoreParams{MongoURL: url}
		o.Store = mongo.Options{Dial: set.Dial}
		own := local.ControllerDir(dir)
		restore := func() error {
			_, err := file.Seek(0, io.SeekStart)
			if err == nil {
				_, err = Restore(s.ctx, dir, file, p, o)
			}
			return err
		}
		s.ok(restore())
		left, err := json.Marshal(restoration{URL: url, Databases: []string{controller.DB, s.c.conf.Model, s.model}})
		s.ok(err)
		s.ok(os.WriteFile(filepath.Join(own, restoreName), left, 0o600))
		s.ok(os.Truncate(filepath.Join(own, configName), 0))

		if _, err := Restore(s.ctx, dir, strings.NewReader("no backup"), p, o); err == nil {
			t.Errorf("%s: restored from nothing", name)
		}
		if err := restore(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = readConfig(own)
		s.ok(err)
	}
}
