package apiserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/facades"
	"juju/doc/verify"
)

// helpers are the methods of the client that send requests of one facade.
var helpers = map[string]string{"action": "Action", "taskRequest": "Action", "application": "Application", "storage": "Storage",
	"changePool": "Storage", "users": "UserManager", "changeUser": "UserManager", "switchBlock": "Block", "modifyKeys": "KeyManager"}

var (
	namedRequest  = regexp.MustCompile(`"([A-Z]\w+)", [\w.]+, "([A-Z]\w+)"`)
	helperRequest = regexp.MustCompile(`\bc\.(\w+)\(ctx, "([A-Z]\w+)"`)
)

// sentIn returns the requests that files send, as "Facade.Method".
func sentIn(t *testing.T, pattern string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	sent := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedRequest.FindAllStringSubmatch(string(text), -1) {
			sent[m[1]+"."+m[2]] = true
		}
		for _, m := range helperRequest.FindAllStringSubmatch(string(text), -1) {
			if facade := helpers[m[1]]; facade != "" {
				sent[facade+"."+m[2]] = true
			}
		}
	}
	return sent
}

// apiTable returns the table of doc/api.md.
func apiTable(t *testing.T) string {
	byClient, byTests := sentIn(t, "client/*.go"), sentIn(t, "*_test.go")
	versions := map[string][]string{}
	for _, v := range facades.FacadeVersions() {
		versions[v.Facade] = append(versions[v.Facade], fmt.Sprint(v.Version))
	}
	var rows []string
	for _, r := range routes() {
		if r.Who&(facades.Reader|facades.Writer|facades.Admin) == 0 {
			continue // for agents
		}
		all := versions[r.Facade]
		if all == nil {
			all = []string{fmt.Sprint(r.Version)}
		}
		at := "model"
		if r.At&facades.AtController != 0 {
			at = "controller"
			if r.At&facades.AtModel != 0 {
				at = "both"
			}
		}
		var tested []string
		if byClient[r.Facade+"."+r.Method] {
			tested = append(tested, "juju")
		}
		if byTests[r.Facade+"."+r.Method] {
			tested = append(tested, "request")
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s |", r.Facade, strings.Join(all, ", "), r.Method, at, strings.Join(tested, ", ")))
	}
	slices.Sort(rows)
	return "| facade | versions | method | at | tested by |\n|---|---|---|---|---|\n" + strings.Join(rows, "\n") + "\n"
}

// The page on the API lists every method for users, at which versions, and whether a test sends it.
func TestAPIPage(t *testing.T) {
	verify.Smoke(t)
	const path, mark = "../doc/api.md", "<!-- methods -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := bytes.Cut(text, []byte(mark))
	if !found {
		t.Fatalf("%s has no line %q", path, mark)
	}
	want := string(before) + mark + apiTable(t)
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the methods; go test ./apiserver -run %s -update writes it anew", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
