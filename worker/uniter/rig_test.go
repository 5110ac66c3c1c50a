package uniter

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/loggo"

	"juju/doc/tools/verify"
	"juju/hooks"
	"juju/state/entity"
)

func (a archive) open() io.ReadCloser { return io.NopCloser(bytes.NewReader(a.content)) }

// metadata is that of all charms.
const metadata = `name: web
summary: a site
description: that shows pages
requires:
  db: mysql
peers:
  ring: web-ring
storage:
  data: {type: filesystem, multiple: {range: 0+}}
`

var hookNames = []string{"install", "config-changed", "start", "upgrade-charm", "stop",
	"db-relation-joined", "db-relation-changed", "db-relation-departed", "db-relation-broken"}

// A rig is a uniter with real hooks on a host of its own, and its controller.
type rig struct {
	t      testing.TB
	dir    string
	c      *controller
	config Config
	cancel context.CancelCauseFunc
	done   chan error
}

// newRig returns a unit whose charm has all of hookNames, and those with a script. Each logs its name
// and remote unit, and then runs its script. A name with a slash is that of another file.
func newRig(t testing.TB, scripts map[string]string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), c: newController()}
	r.config = rigConfig(r.dir, r.c)
	r.charm("local:web-1", scripts)
	t.Cleanup(func() {
		if r.cancel != nil {
			r.stop()
		}
	})
	return r
}

func rigConfig(dir string, c *controller) Config {
	return Config{
		API: c, Leadership: c, Unit: entity.UnitTag("web/0"),
		StateDir: filepath.Join(dir, "state"),
		Hooks: hooks.RunnerParams{
			CharmDir: filepath.Join(dir, "charm"), ToolsDir: filepath.Join(dir, "tools"), RunDir: filepath.Join(dir, "run"),
			LauncherPath: hookTool, LockPath: filepath.Join(dir, "lock"), HostLockPath: filepath.Join(dir, "host"),
			Log: func(string, loggo.Level, string) {},
		},
		Context:   hooks.ContextParams{ModelName: "default", APIAddresses: func() []string { return []string{"127.0.0.1:17070"} }},
		IdleDelay: 5 * time.Millisecond,
	}
}

// charm adds a charm that the service can have.
func (r *rig) charm(url string, scripts map[string]string) {
	r.t.Helper()
	r.c.change(func() { r.c.charms[url] = packCharm(r.t, filepath.Join(r.dir, "log"), scripts) })
}

func packCharm(t testing.TB, log string, scripts map[string]string) archive {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	add := func(name, content string, mode os.FileMode) {
		header := &zip.FileHeader{Name: name}
		header.SetMode(mode)
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("metadata.yaml", metadata, 0o644)
	names := slices.Clone(hookNames)
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if strings.Contains(name, "/") {
			add(name, scripts[name], 0o644)
			continue
		}
		add("hooks/"+name, "#!/bin/sh\nset -e\nline=\"${0##*/}\"\n[ -z \"$JUJU_REMOTE_UNIT\" ] || line=\"$line $JUJU_REMOTE_UNIT\"\necho \"$line\" >>"+log+"\n"+scripts[name]+"\n", 0o755)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(buf.Bytes())
	return archive{buf.Bytes(), hex.EncodeToString(sum[:])}
}

// start starts the unit's agent.
func (r *rig) start() {
	r.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	r.cancel, r.done = cancel, make(chan error, 1)
	r.c.change(func() { r.c.agent = entity.Status{} })
	work := New(r.config)
	go func() { r.done <- work(ctx) }()
}

// stop tells the agent to stop, and returns what it ended with.
func (r *rig) stop() error {
	r.t.Helper()
	r.cancel(errors.New("told to stop"))
	return r.end()
}

// end waits until the agent has ended.
func (r *rig) end() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		r.cancel(nil)
		r.cancel = nil
		return err
	case <-time.After(verify.Patience):
		r.t.Fatalf("the agent doesn't end; statuses:\n%s", strings.Join(r.c.statuses, "\n"))
		return nil
	}
}

// await waits until holds returns true. It is called with the controller's lock held.
func (c *controller) await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	wake := make(chan struct{}, 1)
	c.mu.Lock()
	c.watchers = append(c.watchers, wake)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watchers = slices.DeleteFunc(c.watchers, func(w chan struct{}) bool { return w == wake })
	}()
	timeout := time.After(verify.Patience)
	for {
		c.mu.Lock()
		ok, seen := holds(), strings.Join(c.statuses, "\n")
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-wake:
		case <-timeout:
			t.Fatalf("waited in vain for %s; statuses:\n%s", what, seen)
		}
	}
}

// settle calls f, which makes hooks run, and waits until the agent is idle again; it is idle
// in error too. If f is nil it waits for what the agent does when it starts.
func (r *rig) settle(f func()) {
	r.t.Helper()
	if f != nil {
		r.c.change(func() { r.c.agent = entity.Status{}; f() })
	}
	r.c.await(r.t, "the unit to settle", func() bool { return r.c.agent.Status == entity.StatusIdle })
}

// failure returns the failed hook that the workload's status shows, or "".
func (c *controller) failure() string {
	if c.workload.Status != entity.StatusError {
		return ""
	}
	return c.workload.Message
}

// hooks returns the hooks that have run since the last call.
func (r *rig) hooks() []string {
	r.t.Helper()
	path := filepath.Join(r.dir, "log")
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	os.Remove(path)
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

func (r *rig) expect(want ...string) {
	r.t.Helper()
	if len(want) == 0 {
		want = []string{""}
	}
	if got := r.hooks(); !slices.Equal(got, want) {
		r.t.Errorf("these hooks have run:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (r *rig) expectStatuses(want ...string) {
	r.t.Helper()
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if !slices.Equal(r.c.statuses, want) {
		r.t.Errorf("the statuses were:\n  %s\nwant:\n  %s", strings.Join(r.c.statuses, "\n  "), strings.Join(want, "\n  "))
	}
	r.c.statuses = nil
}
