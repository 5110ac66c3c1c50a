package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/hooks/hooktools"
	"juju/hooks/tool"
)

// Whatever a charm types, a tool answers with an exit code of its own and, if it fails, with an
// error that says so. What it buffers is within the limits of what is committed.
func FuzzToolArguments(f *testing.F) {
	names := hooktools.Names()
	for _, line := range []string{"relation-set -r 0 a=b c=", "relation-get - mysql/0 --format json",
		"open-port 80-90/udp",
		"network-get db --primary-address", "status-set active ok", "juju-log -l WARNING -- --x", "config-get --all",
		"payload-register docker monitor id", "add-metric -l a=b x=1", "juju-fail no", "action-set a.b=c",
		"goal-state -o x", "relation-set --file -", "open-port --endpoints a,,b 1", "unit-get private-address"} {
		words := strings.Fields(line)
		f.Add(uint8(slices.Index(names, words[0])), strings.Join(words[1:], "\x00"), "a: b\n", true)
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte(metadata), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint8, args, file string, inRelation bool) {
		info := Info{Kind: Install}
		if inRelation {
			info = Info{Kind: RelationChanged, RelationID: 0, RemoteUnit: "mysql/0"}
		}
		backend, params := newBackend(), testParams(info)
		params.Leadership = backend
		hook, err := NewContext(backend, params)
		if err != nil {
			t.Fatal(err)
		}
		hook.charmDir = dir
		hook.log = func(string, loggo.Level, string) {}
		req := tool.Request{Context: hook.id, Tool: names[int(which)%len(names)], Args: strings.Split(args, "\x00")}
		if args == "" {
			req.Args = nil
		}
		reply := hook.serve(context.Background(), req, func(name string) ([]byte, error) {
			if name != "-" {
				return nil, errors.New("no such file")
			}
			return []byte(file), nil
		})
		failed := reply.Code != 0
		if reply.Code < 0 || reply.Code > 2 || failed != strings.HasPrefix(string(reply.Stderr), "ERROR ") {
			t.Errorf("%s %q: exit code %d, %q", req.Tool, req.Args, reply.Code, reply.Stderr)
		}
		if failed && (len(reply.Stdout) > 0 || !hook.Changes().IsEmpty()) {
			t.Errorf("%s %q fails with %q, prints %q and changes %v", req.Tool, req.Args, reply.Stderr, reply.Stdout,
				hook.Changes())
		}
		for id, settings := range hook.Changes().Relations {
			for key := range settings {
				if key == "" || id != 0 && testParams(info).Relations[id].Name == "" {
					t.Errorf("%s %q sets %q of relation %d", req.Tool, req.Args, key, id)
				}
			}
		}
	})
}
