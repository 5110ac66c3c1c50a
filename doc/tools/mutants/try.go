package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	profile "golang.org/x/tools/cover"
)

// A test is one of the package's tests, with its coverage.
type test struct {
	binaries
	name  string
	took  time.Duration
	lines map[string]map[int]bool // by the file's name
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// cover runs each test alone, and returns those that cover part of the package, with their coverage.
func cover(ctx context.Context, all []binaries, pkg string, atOnce int) ([]test, error) {
	var tests []test
	for _, b := range all {
		list := exec.CommandContext(ctx, b.cover, "-test.list", "^(Test|Fuzz|Example)")
		list.Dir = b.dir
		out, err := list.Output()
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(string(out)) {
			tests = append(tests, test{binaries: b, name: name})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range tests {
		group.Go(func() (err error) {
			tests[i], err = tests[i].covers(ctx, pkg)
			return err
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(tests, func(t test) bool { return len(t.lines) == 0 }), err
}

// covers runs a test and returns it with its coverage of a package. A test that fails without a mutant covers
// nothing.
func (t test) covers(ctx context.Context, pkg string) (test, error) {
	file := t.binaries.cover + t.name
	defer os.Remove(file)
	began := time.Now()
	ok, out := t.run(ctx, t.binaries.cover, "", 10*time.Minute, []string{t.name}, "-test.coverprofile", file)
	t.took = time.Since(began)
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	if !ok {
		fmt.Fprintf(os.Stderr, "%s fails by itself, and counts for nothing:\n%s\n", t.name, out)
		return t, nil
	}
	profiles, err := profile.ParseProfiles(file)
	if err != nil {
		return t, err
	}
	t.lines = map[string]map[int]bool{}
	for _, f := range profiles {
		lines := map[int]bool{}
		for _, b := range f.Blocks {
			for line := b.StartLine; b.Count > 0 && line <= b.EndLine; line++ {
				lines[line] = true
			}
		}
		if path.Dir(f.FileName) == pkg && len(lines) > 0 {
			t.lines[path.Base(f.FileName)] = lines
		}
	}
	return t, nil
}

// try runs, for each mutant, the tests that cover it, fastest first. It returns the mutants that no test
// detected.
func try(ctx context.Context, sample []mutant, tests []test, atOnce int) (survivors []mutant, err error) {
	slices.SortFunc(tests, func(a, b test) int { return int(a.took - b.took) })
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, m := range sample {
		group.Go(func() error {
			covered, noticed := m.tried(ctx, tests)
			if !covered {
				m.what += " (no test covers it)"
			}
			mu.Lock()
			defer mu.Unlock()
			if !noticed {
				survivors = append(survivors, m)
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	slices.SortFunc(survivors, func(a, b mutant) int { return a.id - b.id })
	return survivors, err
}

// batchTime is about how long the tests of a batch take without a mutant.
const batchTime = 5 * time.Second

// tried runs the tests that cover the mutant in batches, fastest first: most mutants are noticed by the first batch, and one
// that hangs a test costs no more than the bound of its batch.
func (m mutant) tried(ctx context.Context, tests []test) (covered, noticed bool) {
	type batch struct {
		first test
		names []string
		took  time.Duration
	}
	var batches []*batch
	last := map[binaries]*batch{}
	for _, t := range tests {
		if !t.lines[filepath.Base(m.file)][m.line] {
			continue
		}
		b := last[t.binaries]
		if b == nil || b.took+t.took > batchTime {
			b = &batch{first: t}
			last[t.binaries], batches = b, append(batches, b)
		}
		b.names, b.took = append(b.names, t.name), b.took+t.took
	}
	for _, b := range batches {
		if ok, _ := b.first.run(ctx, b.first.binaries.mutants, strconv.Itoa(m.id), 30*time.Second+4*b.took, b.names); !ok {
			return true, true
		}
	}
	return len(batches) > 0, false
}

// memory is how many bytes a test process may use: a mutant may never stop allocating.
const memory = 3 << 30

// run runs tests of the test's package in short mode, with one mutant active unless that is "".
func (t test) run(
	ctx context.Context, binary, mutant string, bound time.Duration, names []string, args ...string,
) (ok bool, out string) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	limited := append([]string{"-c", "ulimit -d " + strconv.Itoa(memory/1024) + ` && exec "$0" "$@"`, binary}, args...)
	cmd := exec.CommandContext(ctx, "sh", append(limited, "-test.short", "-test.failfast",
		"-test.run", "^("+strings.Join(names, "|")+")$", "-test.timeout", bound.String())...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "MUTANT="+mutant)
	cmd.WaitDelay = time.Second
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return err == nil, printed.String()
}
