// Runtests runs tests: those that fail run again, up to twice, and are listed as flaky if they pass then. It ends with
// a line that counts the tests.
//
//	go run ./doc/tools/runtests [-calls FUNCTIONS] [-part NAME] [-packages PACKAGES] [FLAG...]
//
// The flags are go test's. With -calls, only the tests run that call one of these functions, directly or through others;
// doc/tools/testcalls finds them, in the packages or in all. With -part, the results become a row of doc/verified.md.
//
// The tests have a directory of their own for temporary files. What passing tests leave there is listed, and removed.
//
// gotestsum runs the tests. Where it can't be had, because there is no network, go test runs them once and counts nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"juju/doc/tools/testcalls"
)

const gotestsum = "gotest.tools/gotestsum@v1.13.0"

func main() {
	var r run
	calls := flag.String("calls", "", "the functions, such as verify.Only, separated by commas")
	flag.StringVar(&r.part, "part", "", "the part of make verify that this is")
	packages := flag.String("packages", "./...", "the packages, separated by spaces")
	flag.Parse()
	r.packages, r.flags = strings.Fields(*packages), flag.Args()
	if err := r.do(*calls); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) { // it has been said what failed
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "runtests:", err)
		os.Exit(2)
	}
}

type run struct {
	part            string
	packages, flags []string
}

// do runs the tests. The error is an exec.ExitError if tests fail.
func (r run) do(calls string) error {
	// An interrupt ends the tests too, which are in the foreground; what they had is removed then.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	// The name is short because those of sockets below it must be.
	dir := filepath.Join(os.TempDir(), "t"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		return err
	}
	if calls != "" {
		if err := r.choose(calls); err != nil {
			return err
		}
	}
	if exec.Command("go", "run", gotestsum, "--version").Run() != nil {
		fmt.Println("gotestsum cannot be had: go test runs the tests, once")
		return command("go", append(append([]string{"test"}, r.flags...), r.packages...)...)
	}
	file, err := os.Create(filepath.Join(dir, resultsFile))
	if err != nil {
		return err
	}
	defer file.Close()
	start := time.Now()
	failed := command("go", append([]string{"run", gotestsum, "--format", "pkgname", "--format-hide-empty-pkg",
		"--hide-summary", "skipped", "--rerun-fails=2", "--rerun-fails-max-failures=10", "--jsonfile", file.Name(),
		"--packages", strings.Join(r.packages, " "), "--"}, r.flags...)...)
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		return failed
	}
	found, err := readResults(file)
	if err != nil {
		return err
	}
	if r.part != "" {
		if err := record("doc/verified.md", r.part, found, failed != nil, time.Since(start)); err != nil {
			return err
		}
	}
	for _, test := range found.flaky {
		fmt.Println("flaky:", test)
	}
	if failed == nil {
		left, err := leftIn(dir)
		if err != nil {
			return err
		}
		for _, name := range left {
			fmt.Println("left in the directory of temporary files:", name)
		}
	}
	if failed != nil && found.failed == 0 {
		found.failed = 1 // a package that does not build, or was ended
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", found.passed, found.failed, found.skipped)
	return failed
}

// resultsFile is where gotestsum writes the results, in the directory of temporary files.
const resultsFile = "results.json"

// leftIn returns the names of what tests have left in their directory of temporary files, sorted.
func leftIn(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != resultsFile {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// choose has only the tests run that call one of the functions.
func (r *run) choose(calls string) error {
	var functions []testcalls.Func
	for _, call := range strings.Split(calls, ",") {
		dir, name, ok := strings.Cut(call, ".")
		if !ok {
			return fmt.Errorf("-calls takes PACKAGE.FUNCTION, not %q", call)
		}
		if dir == "verify" {
			dir = "doc/tools/verify"
		}
		functions = append(functions, testcalls.Func{Dir: dir, Name: name})
	}
	all, err := testcalls.Read(".", "juju")
	if err != nil {
		return err
	}
	var names, dirs []string
	for _, test := range all.Tests(functions...) {
		dir := "./" + test.Dir
		if slices.Contains(r.packages, "./...") || slices.Contains(r.packages, dir) {
			names, dirs = append(names, test.Name), append(dirs, dir)
		}
	}
	slices.Sort(names)
	r.packages = slices.Compact(dirs)
	r.flags = append(r.flags, "-run", "^("+strings.Join(slices.Compact(names), "|")+")$")
	return nil
}

// command runs a command in the foreground.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
