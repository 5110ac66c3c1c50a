package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// Requests that clients of others have sent are answered, with replies of the same shape as ever. Each file of
// testdata/requests is what one client sends: lines of a connection (controller or model), a facade, a version, a method
// and its arguments. Below a line stands the shape of the reply: the path to each value, and its type. -update writes the
// shapes anew: what an existing client may read must not disappear.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "requests", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no requests (%v)", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" && !*update {
				t.Errorf("(-recorded +now) %s", diff)
			}
		})
	}
}

// replay sends the requests of a file, and returns the file with the shapes of the replies to them.
func replay(t *testing.T, text string) string {
	w := newWorld(t)
	charm := statetest.Charm(t, w.st, "{name: app, summary: s, description: d, requires: {db: {interface: dbi}}}",
		"config.yaml", "options: {title: {type: string, default: hello, description: t}}",
		"actions.yaml", "hi: {description: says hi, params: {who: {type: string}}}")
	for name, url := range map[string]string{"app": charm,
		"db": statetest.Charm(t, w.st, "{name: db, summary: s, description: d, provides: {db: {interface: dbi}}}")} {
		_, err := w.st.AddService(t.Context(), state.AddServiceParams{Name: name, CharmURL: url, Units: 1})
		statetest.OK(t, err)
	}
	_, err := w.st.AddRelation(t.Context(), "app", "db")
	statetest.OK(t, err)
	for _, id := range []string{"0", "1"} {
		m, err := w.st.Machine(t.Context(), id)
		statetest.OK(t, err)
		statetest.OK(t, m.SetProvisioned(t.Context(), entity.Instance{ID: "i-" + id, Nonce: nonce, Addresses: []string{"127.0.1.1"}}))
	}
	conns := map[string]*rawConn{"controller": w.raw("/api"), "model": w.raw(w.modelPath())}
	variables := strings.NewReplacer("$PASSWORD", statetest.Password, "$MODEL", w.st.UUID(), "$CHARM", charm)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") {
			continue
		}
		b.WriteString(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.SplitN(strings.TrimSpace(line), " ", 5)
		if len(words) != 5 {
			t.Fatalf("cannot parse %q", line)
		}
		version, err := strconv.Atoi(words[2])
		statetest.OK(t, err)
		reply := conns[words[0]].call(words[1], version, words[3], json.RawMessage(variables.Replace(words[4])))
		if err := reply.Err(); err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
			continue
		}
		var value any
		statetest.OK(t, json.Unmarshal(reply.Response, &value))
		shape := map[string]bool{}
		addShape(shape, "", value)
		for _, line := range slices.Sorted(maps.Keys(shape)) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// addShape adds the paths and types of a JSON value. Keys that are names or ids of entities are * in it.
func addShape(shape map[string]bool, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if strings.ContainsAny(key, "/:#0123456789") || key == "app" || key == "db" {
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
		shape[path+" string"] = true
	}
}
