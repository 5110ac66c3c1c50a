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
	"juju/apiserver/openapi"
	"juju/doc/tools/verify"
)

// helpers are the methods of the client that send requests of one facade.
var helpers = map[string]string{"action": "Action", "taskRequest": "Action", "application": "Application", "storage": "Storage",
	"changePool": "Storage", "offers": "ApplicationOffers", "users": "UserManager", "changeUser": "UserManager", "switchBlock": "Block", "modifyKeys": "KeyManager"}

var (
	namedRequest  = regexp.MustCompile(`"([A-Z]\w+)(?:", (?:[\w.]+, )?"| \d+ )([A-Z]\w+)"`) // a watch has no version
	helperRequest = regexp.MustCompile(`\bc\.(\w+)\(ctx, "([A-Z]\w+)"`)
)

// sentIn returns the requests that files send, as "Facade.Method".
func sentIn(t *testing.T, patterns ...string) map[string]bool {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		some, err := filepath.Glob(pattern)
		if err != nil || len(some) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, some...)
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

// recordedBy returns which clients of others have sent each method, as "Facade.Method", in the requests that
// TestRecordedRequests replays.
func recordedBy(t *testing.T) map[string][]string {
	t.Helper()
	by := map[string][]string{}
	for _, file := range recordedFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		client := strings.TrimSuffix(filepath.Base(file), ".txt")
		for line := range strings.Lines(string(text)) {
			r, ok := parseRequest(t, line)
			if name := r.facade + "." + r.method; ok && !slices.Contains(by[name], client) {
				by[name] = append(by[name], client)
			}
		}
	}
	return by
}

// access says who may use what these roles may.
func access(who facades.Roles) string {
	var names []string
	for _, role := range []struct {
		role facades.Roles
		name string
	}{{facades.Reader, "read"}, {facades.Writer, "write"}, {facades.Admin, "admin"}} {
		if who&role.role != 0 {
			names = append(names, role.name)
		}
	}
	if len(names) == 0 {
		return "agents"
	}
	return names[0] // an access includes the lower ones
}

// endpointTable returns the table of what is served beside the API.
func endpointTable() string {
	var rows []string
	for pattern := range (*Server)(nil).otherPaths() {
		who := "a login"
		switch {
		case strings.Contains(pattern, BinariesPath), strings.HasSuffix(pattern, openapi.Path), strings.HasSuffix(pattern, "z"):
			who = "all"
		case strings.Contains(pattern, facades.CharmObjectPath):
			who = access(facades.Writer)
		case strings.Contains(pattern, metricsPath):
			who = access(facades.Reader) + " to the model controller"
		}
		method, path, _ := strings.Cut(strings.NewReplacer("{uuid}", "UUID", "{model}", "model-UUID", "{sha256}", "SHA256").Replace(pattern), " ")
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", method, path, who))
	}
	for _, v := range views() {
		rows = append(rows, fmt.Sprintf("| GET | %s | a token |", v.path))
	}
	for _, e := range endpoints() {
		rows = append(rows, fmt.Sprintf("| %s | /model/UUID%s | %s |", e.method, e.path, access(e.who)))
	}
	slices.Sort(rows)
	return "| HTTP method | path | access |\n|---|---|---|\n" + strings.Join(slices.Compact(rows), "\n") + "\n\n"
}

// apiTable returns the table of doc/api.md.
func apiTable(t *testing.T) string {
	byClient, byTests, byOthers := sentIn(t, "client/*.go"), sentIn(t, "*_test.go", "facades/*_test.go"), recordedBy(t)
	versions := map[string][]string{}
	for _, v := range facades.FacadeVersions() {
		versions[v.Facade] = append(versions[v.Facade], fmt.Sprintf("%d (%s)", v.Version, v.Since))
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
		tested = append(tested, byOthers[r.Facade+"."+r.Method]...)
		if byTests[r.Facade+"."+r.Method] {
			tested = append(tested, "request")
		}
		if len(tested) == 0 {
			t.Errorf("no test sends %s.%s", r.Facade, r.Method)
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s |", r.Facade, strings.Join(all, ", "), r.Method, at, strings.Join(tested, ", ")))
	}
	slices.Sort(rows)
	return "| facade | versions | method | at | tested by |\n|---|---|---|---|---|\n" + strings.Join(rows, "\n") + "\n"
}

// The page on the API lists the paths and every method for users, at which versions, and which client or test sends it.
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
	want := string(before) + mark + endpointTable() + apiTable(t)
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
