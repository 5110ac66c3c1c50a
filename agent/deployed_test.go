package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"juju/state/entity"
)

// fakeHost records in which directories an agent runs.
type fakeHost struct {
	running map[string]bool
	waitErr error
	fail    error
}

func (h *fakeHost) Start(ctx context.Context, dir string) error {
	if h.fail != nil {
		return h.fail
	}
	h.running[dir] = true
	return nil
}

func (h *fakeHost) WaitEnd(ctx context.Context, dir string) error {
	if h.waitErr != nil {
		return h.waitErr
	}
	<-ctx.Done()
	return ctx.Err()
}

func (h *fakeHost) End(ctx context.Context, dir, why string) error {
	delete(h.running, dir)
	return nil
}

func testDeployed(t *testing.T, h *fakeHost) *deployed {
	t.Helper()
	h.running = map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	config := Config{Tag: entity.MachineTag("0"), Model: "m", Addresses: []string{"a"}, CACert: "c"}
	d := newDeployed(ctx, t.TempDir(), h, config)
	t.Cleanup(func() {
		cancel()
		d.waits.Wait()
	})
	return d
}

func wantDeployed(t *testing.T, d *deployed, want ...string) {
	t.Helper()
	got, err := d.Deployed()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("deployed are %v (%v), want %v", got, err, want)
	}
}

// A crash between making the directory and writing the configuration leaves a directory in
// which no agent can start.
func TestInterruptedDeploymentIsRepeated(t *testing.T) {
	h := &fakeHost{}
	d := testDeployed(t, h)
	if err := os.MkdirAll(d.unitDir("mysql/0"), 0o700); err != nil {
		t.Fatal(err)
	}
	wantDeployed(t, d)
	if err := d.Deploy(t.Context(), "mysql/0", "secret"); err != nil {
		t.Fatal(err)
	}
	wantDeployed(t, d, "mysql/0")
	config, err := ReadConfig(d.unitDir("mysql/0"))
	if err != nil || config.Password != "secret" || config.Machine != "0" {
		t.Errorf("configuration %v, %v", config, err)
	}
	if err := os.MkdirAll(d.unitDir("mysql/1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.sweep(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.unitDir("mysql/1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unwanted deployment is still there: %v", err)
	}
	wantDeployed(t, d, "mysql/0")
}

func TestRecallAfterAnInterruptedOne(t *testing.T) {
	h := &fakeHost{}
	d := testDeployed(t, h)
	left := filepath.Join(d.dir, "."+entity.UnitTag("mysql/0").String(), "charm")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Deploy(t.Context(), "mysql/0", "secret"); err != nil {
		t.Fatal(err)
	}
	if err := d.Recall(t.Context(), "mysql/0"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(d.dir); err != nil || len(entries) > 0 || len(h.running) > 0 {
		t.Errorf("left are %v, %v, running %v", entries, err, h.running)
	}
}

// An agent whose end can't be waited for is looked after nevertheless.
func TestAgentThatCannotBeWaitedFor(t *testing.T) {
	h := &fakeHost{waitErr: errors.New("too many open files")}
	d := testDeployed(t, h)
	if err := d.Deploy(t.Context(), "mysql/0", "secret"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.Ended():
	case <-time.After(20 * time.Second):
		t.Error("the deployer was not signalled")
	}
}
