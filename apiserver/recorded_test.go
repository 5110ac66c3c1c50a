package apiserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Requests that clients of others have sent are answered, with replies of the same shape as ever. Each file of
// testdata/requests is what one client sends to a model that is empty, or one with two services: lines of a connection
// (controller or model), a facade, a version, a method and its arguments. Of a call on the latest watcher, the facade ends
// in /id or /Id, as the client spells the key. Below a line stands the shape of the reply: the path to each value, and its
// type; or the error. -update writes the shapes anew: what an existing client may read must not disappear.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	for _, file := range recordedFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newReplay(t)
			if filepath.Base(filepath.Dir(file)) == "deployed" {
				p.deploy()
			}
			got := p.all(string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := gocmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" && !*update {
				t.Errorf("(-recorded +now) %s", diff)
			}
		})
	}
}

// recordedFiles returns the paths of the files of requests.
func recordedFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "requests", "*", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	return files
}

// A recordedRequest is a line of such a file.
type recordedRequest struct {
	conn, facade string
	key          string // of the id of the watcher that is called, or ""
	version      int
	method, args string
}

// parseRequest parses a line. It returns false for a comment, or the shape of a reply.
func parseRequest(t testing.TB, line string) (r recordedRequest, ok bool) {
	t.Helper()
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "#") {
		return r, false
	}
	words := strings.SplitN(strings.TrimSpace(line), " ", 5)
	if len(words) != 5 {
		t.Fatalf("cannot parse %q", line)
	}
	version, err := strconv.Atoi(words[2])
	statetest.OK(t, err)
	facade, key, _ := strings.Cut(words[1], "/")
	return recordedRequest{words[0], facade, key, version, words[3], words[4]}, true
}

// recordedCharms are those that the clients deploy.
var recordedCharms = map[string][]string{
	"app": {"{name: app, summary: s, description: d, requires: {db: {interface: dbi}}}",
		"config.yaml", "options: {title: {type: string, default: hello, description: t}, n: {type: int, default: 1}}",
		"actions.yaml", "{hi: {description: says hi, params: {who: {type: string}}}, bad: {description: fails}}"},
	"db":        {"{name: db, summary: s, description: d, provides: {db: {interface: dbi}}}"},
	"mysql":     {statetest.MySQL, "config.yaml", "{options: {size: {type: int, default: 5, description: d}}}"},
	"wordpress": {statetest.Wordpress},
}

// replay sends what was recorded.
type replay struct {
	*world
	conns     map[string]*rawConn
	urls      map[string]string // of the charms, by name
	variables *strings.Replacer
	watcher   string // the latest
}

func newReplay(t *testing.T) *replay {
	p := &replay{world: newWorld(t), urls: map[string]string{}}
	variables := []string{"$PASSWORD", statetest.Password, "$MODEL", p.st.UUID()}
	for name, files := range recordedCharms {
		p.urls[name] = statetest.Charm(t, p.st, files[0], files[1:]...)
		variables = append(variables, "$"+name, p.urls[name])
	}
	p.variables = strings.NewReplacer(variables...)
	p.conns = map[string]*rawConn{"controller": p.raw("/api"), "model": p.raw(p.modelPath())}
	return p
}

// deploy adds two related services, on machines that run.
func (p *replay) deploy() {
	for _, name := range []string{"app", "db"} {
		_, err := p.st.AddService(p.Context(), state.AddServiceParams{Name: name, CharmURL: p.urls[name], Units: 1})
		statetest.OK(p, err)
	}
	_, err := p.st.AddRelation(p.Context(), "app", "db")
	statetest.OK(p, err)
	for _, id := range []string{"0", "1"} {
		m, err := p.st.Machine(p.Context(), id)
		statetest.OK(p, err)
		statetest.OK(p, m.SetProvisioned(p.Context(), entity.Instance{ID: "i-" + id, Nonce: nonce, Addresses: []string{"127.0.1.1"}}))
	}
}

// all sends the requests of a file, and returns the file with the shapes of the replies to them.
func (p *replay) all(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") {
			continue
		}
		b.WriteString(line)
		request, ok := parseRequest(p, line)
		if !ok {
			continue
		}
		reply := p.send(request)
		if err := reply.Err(); err != nil {
			fmt.Fprintf(&b, "  error %v\n", err)
			continue
		}
		var value any
		statetest.OK(p, json.Unmarshal(reply.Response, &value))
		p.watcher = cmp.Or(watcherID(value), p.watcher)
		shape := map[string]bool{}
		addShape(shape, "", value)
		for _, line := range slices.Sorted(maps.Keys(shape)) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

func (p *replay) send(r recordedRequest) params.Response {
	conn := p.conns[r.conn]
	conn.id++
	frame := map[string]any{"request-id": conn.id, "type": r.facade, "version": r.version, "request": r.method,
		"params": json.RawMessage(p.variables.Replace(r.args))}
	if r.key != "" {
		frame[r.key] = p.watcher
	}
	statetest.OK(p, conn.ws.WriteJSON(frame))
	return conn.read()
}

// watcherID finds the id of a new watcher in a JSON value.
func watcherID(value any) string {
	switch value := value.(type) {
	case map[string]any:
		id, _ := value["watcher-id"].(string)
		return cmp.Or(id, watcherID(value["results"]))
	case []any:
		if len(value) == 1 {
			return watcherID(value[0])
		}
	}
	return ""
}

// addShape adds the paths and types of a JSON value. Keys that are names or ids of entities are *. The
// message of an error is part of its shape.
func addShape(shape map[string]bool, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if strings.ContainsAny(key, "/:#0123456789") || recordedCharms[key] != nil {
				key = "*"
			}
			addShape(shape, path+"."+key, v)
		}
	case []any:
		for _, v := range value {
			addShape(shape, path+"[]", v)
		}
	case nil:
		shape[path+" null"] = true
	case bool:
		shape[path+" boolean"] = true
	case float64:
		shape[path+" number"] = true
	case string:
		if strings.HasSuffix(path, ".error.message") {
			shape[path+" "+strconv.Quote(value)] = true
			return
		}
		shape[path+" string"] = true
	}
}
