package doc_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"juju/doc/tools/testcalls"
	"juju/doc/tools/verify"
)

// risky are the functions by which a test can depend on how busy the machine is.
var risky = []testcalls.Func{
	{Dir: "os/exec", Name: "Command"}, {Dir: "os/exec", Name: "CommandContext"}, {Dir: "os", Name: "StartProcess"},
	{Dir: "agent/host/process", Name: "Start"},
	{Dir: "net", Name: "Listen"}, {Dir: "net", Name: "ListenTCP"}, {Dir: "crypto/tls", Name: "Listen"},
	{Dir: "net/http/httptest", Name: "NewServer"}, {Dir: "net/http/httptest", Name: "NewTLSServer"},
	{Dir: "net/http/httptest", Name: "NewUnstartedServer"},
	{Dir: "time", Name: "Sleep"},
}

// exposed returns the functions that call a risky one for a test of `make test` or `make smoke`, as "folder function".
// Tests that sleep in a bubble of synctest don't count.
func exposed(c testcalls.Calls) (found []string) {
	sleep := testcalls.Func{Dir: "time", Name: "Sleep"}
	only := c.Tests(testcalls.Func{Dir: "doc/tools/verify", Name: "Only"})
	bubble := c.Tests(testcalls.Func{Dir: "testing/synctest", Name: "Test"})
	outside := c.Users(slices.DeleteFunc(slices.Clone(risky), func(f testcalls.Func) bool { return f == sleep })...)
	for f := range c.Users(risky...) {
		if slices.ContainsFunc(c.Tests(f), func(test testcalls.Func) bool {
			return !slices.Contains(only, test) && (outside[f] || !slices.Contains(bubble, test))
		}) {
			found = append(found, f.Dir+" "+f.Name)
		}
	}
	slices.Sort(found)
	return found
}

// TestBusyMachinesFailNothing checks that each test that starts a process, listens on a port or sleeps is in `make verify`,
// or goes through a function of busy.txt, which says why a busy machine can't fail it.
func TestBusyMachinesFailNothing(t *testing.T) {
	verify.Smoke(t)
	calls, err := testcalls.Read("..", module)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("busy.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := readBusy(string(text))
	if err != nil {
		t.Fatal(err)
	}
	found := exposed(calls)
	for _, f := range found {
		if !slices.Contains(listed, f) {
			t.Errorf("%s starts a process, listens or sleeps: have its tests call verify.Only, or say in busy.txt why not", f)
		}
	}
	for _, f := range listed {
		if !slices.Contains(found, f) {
			t.Errorf("busy.txt lists %s, which no test of make test needs", f)
		}
	}

	planted := testcalls.Func{Dir: "state", Name: "TestPlanted"}
	calls.Add(planted, testcalls.Func{Dir: "time", Name: "Sleep"})
	if !slices.Contains(exposed(calls), "state TestPlanted") {
		t.Error("a planted test that sleeps was not found")
	}
}

// readBusy returns the functions of busy.txt, as "folder function".
func readBusy(text string) (listed []string, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		left, reason, ok := strings.Cut(line, ": ")
		words := strings.Fields(left)
		if !ok || strings.TrimSpace(reason) == "" || len(words) < 2 {
			return nil, fmt.Errorf("busy.txt:%d: want folder function…: reason, got %q", n+1, line)
		}
		for _, name := range words[1:] {
			listed = append(listed, words[0]+" "+name)
		}
	}
	return listed, nil
}
