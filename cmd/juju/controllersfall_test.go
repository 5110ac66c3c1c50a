package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"juju/agent/host/process"
	"juju/doc/tools/verify"
)

// A herd is a controller with several processes on one MongoDB, which the embedded store plays, and what a user has
// been told about a service in it.
type herd struct {
	*testing.T
	bin, data string
	rnd       *rand.Rand
	ways      []*way // from each controller to the store
	journal   string // a line for each hook: the unit and the hook

	added   int             // how many units juju said it has added
	there   map[string]bool // units that were seen, and not destroyed since
	gone    map[string]bool // units that juju said it destroys
	unknown int             // commands whose outcome is not known
}

// juju runs a command.
func (h *herd) juju(args ...string) (out string, err error) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), verify.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(h.bin, "juju"), args...)
	cmd.Env = append(os.Environ(), "JUJU_DATA="+h.data, "PATH="+h.bin+":"+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("juju %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

func (h *herd) must(args ...string) string {
	h.Helper()
	out, err := h.juju(args...)
	if err != nil {
		h.Fatal(err)
	}
	return out
}

// await waits until a command prints something that is as wanted.
func (h *herd) await(what string, wanted func(out string) bool, args ...string) {
	h.Helper()
	var out string
	var err error
	for end := time.Now().Add(verify.Patience); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if out, err = h.juju(args...); err == nil && wanted(out) {
			return
		}
	}
	h.Fatalf("gave up waiting for %s: %v\n%s", what, err, out)
}

// allUp waits until each of the controllers is up.
func (h *herd) allUp() {
	h.Helper()
	h.await("the controllers", func(out string) bool { return strings.Count(out, "ha-status: ha-enabled") == 3 }, "show-controller")
}

// harm kills controllers, pauses them, or cuts them off from the store, until ctx ends. One of them is always left alone.
func (h *herd) harm(ctx context.Context, rnd *rand.Rand, longest time.Duration) {
	type harmed struct {
		until time.Time
		heal  func()
	}
	ill := map[string]harmed{} // by directory
	defer func() {
		for _, one := range ill {
			one.heal()
		}
	}()
	dirs := controllerDirs(h.T, h.data)
	for ctx.Err() == nil {
		for dir, one := range ill {
			if time.Now().After(one.until) {
				one.heal()
				delete(ill, dir)
			}
		}
		i := rnd.IntN(len(dirs))
		dir, way, act := dirs[i], h.ways[i], rnd.IntN(4)
		until := time.Now().Add(time.Duration(rnd.Int64N(int64(longest))))
		p, err := process.Holder(dir)
		switch _, is := ill[dir]; {
		case is || err != nil:
		case act < 2:
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		case len(ill) == len(dirs)-1:
		case act == 2:
			_ = syscall.Kill(p.PID, syscall.SIGSTOP)
			ill[dir] = harmed{until, func() { _ = syscall.Kill(p.PID, syscall.SIGCONT) }} // it may have been killed
		default:
			way.cut(rnd.IntN(2) == 0)
			ill[dir] = harmed{until, way.mend}
		}
		select {
		case <-time.After(time.Second + time.Duration(rnd.Int64N(int64(4*time.Second)))):
		case <-ctx.Done():
		}
	}
}

// part gives each controller its own way to the store. All of them know that of the first.
func (h *herd) part() {
	h.Helper()
	for i, dir := range controllerDirs(h.T, h.data) {
		files, err := filepath.Glob(filepath.Join(dir, "*.conf"))
		if err != nil {
			h.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, bytes.ReplaceAll(text, []byte(h.ways[0].url()), []byte(h.ways[i].url())), 0o600)
			}
			if err != nil {
				h.Fatal(err)
			}
		}
		p, err := process.Holder(dir)
		if err != nil {
			h.Fatal(err)
		}
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			h.Fatal(err)
		}
	}
	h.await("a change of ways", func(string) bool {
		return !slices.ContainsFunc(h.ways, func(w *way) bool { return !w.isUsed() })
	}, "show-controller")
	h.allUp()
}

// act does one thing as a user, and records what the user was told.
func (h *herd) act() {
	h.Helper()
	live := h.units()
	switch n := h.rnd.IntN(3); {
	case n == 0 && len(live) > 1:
		unit := live[h.rnd.IntN(len(live))]
		if _, err := h.juju("destroy-unit", unit); err != nil {
			h.unsure(err)
			delete(h.there, unit)
			return
		}
		h.gone[unit] = true
		delete(h.there, unit)
	case n == 1 && len(live) < 6:
		if _, err := h.juju("add-unit", "web"); err != nil {
			h.unsure(err)
			return
		}
		h.added++
	default:
		if _, err := h.juju("set", "web", "title="+strconv.Itoa(h.rnd.IntN(100))); err != nil {
			h.unsure(err)
		}
	}
}

// unsure notes that a command failed. The only acceptable reason is that a controller was lost.
func (h *herd) unsure(err error) {
	h.unknown++
	h.Logf("%v", err)
}

// units returns the units of the service, and notes that they were seen.
func (h *herd) units() (names []string) {
	h.Helper()
	out, err := h.juju("status", "--format", "json")
	if err != nil {
		h.unsure(err)
		return nil
	}
	var status struct {
		Applications map[string]struct {
			Units map[string]struct{} `json:"units"`
		} `json:"applications"`
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		h.Fatalf("%v in %s", err, out)
	}
	for name := range status.Applications["web"].Units {
		if !h.gone[name] {
			h.there[name] = true
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestControllersFall while a user works: of three controllers, random ones are killed, paused or cut off from the store
// all the time. Nothing that the user was told is lost, no hook runs twice, and the data is consistent. JUJU_SEED chooses the course of
// events, and JUJU_TIME how long it lasts.
func TestControllersFall(t *testing.T) {
	verify.Only(t, "kills controllers in real time")
	t.Parallel()
	lasts, longest := 15*time.Second, 15*time.Second
	if os.Getenv("JUJU_SOAK") != "" {
		lasts, longest = 10*time.Minute, 90*time.Second
	}
	if text := os.Getenv("JUJU_TIME"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	if text := os.Getenv("JUJU_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("JUJU_SEED=%d", seed)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	h := &herd{T: t, rnd: rand.New(rand.NewPCG(seed, 1)), data: filepath.Join(t.TempDir(), "data"),
		journal: filepath.Join(t.TempDir(), "journal"), there: map[string]bool{}, gone: map[string]bool{}}
	h.bin, _ = buildSystem(t, root)
	store := startMongod(t, h.bin)
	for range 3 {
		h.ways = append(h.ways, newWay(t, store))
	}
	t.Cleanup(func() { sweep(t, h.bin, h.data) })
	h.must("bootstrap", "local", "h", "--mongo-url", h.ways[0].url(), "-q")
	h.must("enable-ha")
	h.must("wait-for", "-m", "controller", "--timeout", "3m")
	h.allUp()
	h.part()
	h.must("deploy", h.charm(), "web", "--wait=3m", "-q")

	ctx, stop := context.WithCancel(t.Context())
	var harming sync.WaitGroup
	harming.Go(func() { h.harm(ctx, rand.New(rand.NewPCG(seed, 2)), longest) })
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		h.act()
	}
	stop()
	harming.Wait()

	h.allUp()
	h.must("wait-for", "--timeout", "5m")
	live := h.units()
	for unit := range h.there {
		if !slices.Contains(live, unit) {
			t.Errorf("%s is gone, and nobody has destroyed it", unit)
		}
	}
	if n := 1 + h.added - len(h.gone); len(live) < n-h.unknown || len(live) > n+h.unknown {
		t.Errorf("there are %d units; %d were added and %d destroyed, and %d outcomes are not known", len(live), h.added, len(h.gone),
			h.unknown)
	}
	h.await("the end of destroyed units", func(out string) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(h.gone)), func(unit string) bool { return strings.Contains(out, unit+" ") })
	}, "status")
	h.must("check")
	for hook, n := range h.hooks() {
		if (strings.HasSuffix(hook, " install") || strings.HasSuffix(hook, " start")) && n != 1 {
			t.Errorf("%s ran %d times", hook, n)
		}
	}
	t.Logf("%d units added, %d destroyed, %d outcomes not known", h.added, len(h.gone), h.unknown)
}

// charm writes a charm whose hooks write a journal.
func (h *herd) charm() string {
	h.Helper()
	dir := h.TempDir()
	hook := fmt.Sprintf("#!/bin/sh\necho \"$JUJU_UNIT_NAME ${0##*/}\" >>%s\n", h.journal)
	files := map[string]string{"metadata.yaml": "name: web\nsummary: s\ndescription: d\n",
		"config.yaml": "options:\n  title: {type: string, default: none}\n"}
	for _, name := range []string{"install", "start", "config-changed", "stop"} {
		files[filepath.Join("hooks", name)] = hook
	}
	for name, text := range files {
		path := filepath.Join(dir, "web", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			h.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			h.Fatal(err)
		}
	}
	return filepath.Join(dir, "web")
}

// hooks returns how often each hook of each unit has run.
func (h *herd) hooks() map[string]int {
	h.Helper()
	text, err := os.ReadFile(h.journal)
	if err != nil {
		h.Fatal(err)
	}
	runs := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		runs[line]++
	}
	return runs
}
