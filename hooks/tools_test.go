package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"juju/hooks/hooktools"
	"juju/hooks/tool"
	"juju/state/entity"
)

var update = flag.Bool("update", false, "write what the tools print into testdata")

// TestTools runs the scripts of testdata: what charms type, and what they get. It uses the real
// program and a real shell. What the tools alone decide, such as which arguments they take, is in the
// scripts of package hooktools. A script consists of four kinds of lines:
//
//	# a comment
//	hook KIND [RELATION [UNIT]]  begins a hook, in a new world; KIND can be "action"
//	world WORDS                  changes the world, or shows its calls, changes or log
//	$ COMMAND                    runs a command in the hook
//
// The lines after the last two, up to an empty line, are the output, with a dot for each empty
// line. A command that fails adds its exit code.
func TestTools(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := gocmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (run with -update to accept):\n%s", file, diff)
			}
		})
	}
}

// runScript runs a script and returns it with what was really printed.
func runScript(t *testing.T, script string) string {
	var got strings.Builder
	s := &scriptHook{t: t, dir: t.TempDir()}
	defer s.end()
	expected := false // the line is of the last command's output
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		output := ""
		switch {
		case line == "":
			if !expected {
				got.WriteString("\n")
			}
			expected = false
			continue
		case expected:
			continue
		case word == "hook":
			s.begin(strings.Fields(rest))
		case word == "world":
			output, expected = s.world(rest), true
		case word == "$":
			output, expected = s.run(rest), true
		case word == "#":
		default:
			t.Fatalf("cannot understand line %q", line)
		}
		got.WriteString(line + "\n")
		if output != "" {
			for line := range strings.SplitSeq(strings.TrimSuffix(output, "\n"), "\n") {
				got.WriteString(cmp.Or(line, ".") + "\n")
			}
		}
		if expected {
			got.WriteString("\n")
		}
	}
	return strings.TrimSuffix(got.String(), "\n\n") + "\n"
}

// scriptHook is the hook that a script is in.
type scriptHook struct {
	t       *testing.T
	dir     string
	backend *fakeBackend
	log     *logRecorder
	hook    *Context
	mu      sync.RWMutex // a tool runs, or the world changes
	server  *tool.Server
	socket  string
	made    []string // the IDs of secrets that the hook has made
}

func (s *scriptHook) begin(words []string) {
	s.t.Helper()
	s.end()
	info := Info{Kind: Kind(words[0])}
	var task *Task
	if words[0] == "action" {
		info, task = Info{}, nil
		var err error
		if task, err = NewTask(entity.Task{ID: "12", Name: "backup", Params: []byte(
			`{"level":5000000, "ratio":0.5, "outfile":{"path":"out.bz2", "keep":true, "sizes":[1000000]}}`)}); err != nil {
			s.t.Fatal(err)
		}
	}
	if info.Kind.IsStorage() {
		info.Storage = words[1]
	} else if len(words) > 1 {
		info.RelationID, _ = strconv.Atoi(words[1])
	}
	if len(words) > 2 && entity.IsValidService(words[2]) {
		info.RemoteApplication = words[2]
	} else if len(words) > 2 {
		info.RemoteUnit = words[2]
	}
	var err error
	s.backend, s.log, s.made = newBackend(), newLog(), nil
	params := testParams(info)
	params.Leadership, params.Task = s.backend, task
	params.ResourcesDir = filepath.Join(s.dir, "resources")
	if s.hook, err = NewContext(s.backend, params); err != nil {
		s.t.Fatal(err)
	}
	s.hook.log, s.hook.charmDir = s.log.log, filepath.Join(s.dir, "charm")
	if err := os.MkdirAll(s.hook.charmDir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.hook.charmDir, "metadata.yaml"), []byte(metadata), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.socket = filepath.Join(s.t.TempDir(), "s")
	if s.server, err = tool.Serve(s.socket, s.serve); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scriptHook) serve(ctx context.Context, req tool.Request, read func(string) ([]byte, error)) tool.Reply {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hook.serve(ctx, req, read)
}

func (s *scriptHook) end() {
	if s.server != nil {
		s.server.Close()
	}
}

// run runs a command, and returns what it prints.
func (s *scriptHook) run(command string) string {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = s.dir
	cmd.Env = s.hook.environment(os.Environ(), s.dir, toolsDir, s.socket)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		fmt.Fprintf(&out, "exit %d\n", exit.ExitCode())
	} else if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock() // as the tools have changed what names depend on
	defer s.mu.Unlock()
	return s.named(strings.ReplaceAll(out.String(), s.dir, "DIR"))
}

// named replaces the IDs of secrets that the hook has made, which differ each time, by NEW1, NEW2 and so on.
func (s *scriptHook) named(text string) string {
	for _, made := range s.hook.secrets.changes.Create {
		if !slices.Contains(s.made, made.ID) {
			s.made = append(s.made, made.ID)
		}
	}
	for i, id := range s.made {
		text = strings.ReplaceAll(text, id, fmt.Sprintf("NEW%d", i+1))
	}
	return text
}

// world changes the world, or shows its calls, changes or log.
func (s *scriptHook) world(words string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := strings.Fields(words)
	switch w[0] {
	case "calls":
		return s.backend.takeCalls()
	case "log":
		return strings.Join(s.log.take(), "\n")
	case "changes":
		changes := s.hook.Changes()
		if changes.IsEmpty() {
			return ""
		}
		changes.StorageToken = "" // differs each time
		text, err := yaml.Marshal(changes)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(text)
	case "secrets": // the changes to them
		secrets := s.hook.Changes().Secrets
		if secrets == nil {
			return ""
		}
		text, err := json.MarshalIndent(secrets, "", "  ")
		if err != nil {
			s.t.Fatal(err)
		}
		return s.named(string(text))
	case "refreshed": // the secret has a newer revision
		s.backend.change(func(b *fakeBackend) {
			v := b.secrets[w[1]]
			v.Latest, v.Content = v.Latest+1, secretContent("user", "newest")
			b.secrets[w[1]] = v
		})
	case "title":
		s.backend.change(func(b *fakeBackend) { b.config["title"] = w[1] })
	case "host":
		s.backend.change(func(b *fakeBackend) { b.settings["0 mysql/0"] = map[string]string{"host": w[1]} })
	case "removed": // its relations
		s.backend.change(func(b *fakeBackend) { b.settings = nil })
	case "address":
		s.backend.change(func(b *fakeBackend) { b.info.PrivateAddress = strings.Join(w[1:], "") })
	case "egress": // what the model says
		s.hook.params.Settings = map[string]string{"egress-subnets": w[1]}
	case "bound": // ENDPOINT SPACE [ADDRESS]
		s.backend.change(func(b *fakeBackend) {
			b.info.Bound = map[string]entity.BoundAddress{w[1]: {Space: w[2], Address: strings.Join(w[3:], "")}}
		})
	case "status":
		s.backend.change(func(b *fakeBackend) { b.status = entity.Status{Status: entity.StatusWord(w[1])} })
	case "deposed": // the unit knows it
		s.backend.change(func(b *fakeBackend) { b.epoch, b.term = 0, b.term+1 })
	case "ending": // its leadership, soon
		s.backend.change(func(b *fakeBackend) { b.ending = true })
	case "replaced": // or does not
		s.backend.change(func(b *fakeBackend) { b.term++ })
	case "kept":
		s.backend.change(func(b *fakeBackend) { b.kept = entity.CharmState{w[1]: w[2]} })
	case "resource":
		s.backend.change(func(b *fakeBackend) { b.resources[w[1]] = w[2] })
	case "replaced-by":
		s.backend.change(func(b *fakeBackend) { b.replaced = w[1] })
	case "trusted":
		s.backend.change(func(b *fakeBackend) { b.trusted = true })
	case "damaged":
		s.backend.change(func(b *fakeBackend) { b.damaged = true })
	case "shared":
		s.backend.change(func(b *fakeBackend) { b.shared = entity.LeaderSettings{w[1]: w[2]} })
	case "down":
		s.backend.change(func(b *fakeBackend) {
			b.down = entity.WithHint(entity.Errorf(entity.Unavailable, "controller is away"), "it comes back by itself")
		})
	case "up":
		s.backend.change(func(b *fakeBackend) { b.down = nil })
	default:
		s.t.Fatalf("cannot understand %q", words)
	}
	return ""
}

// TestExamplesInHelp runs the examples in the help of every tool, in a hook about a remote unit.
func TestExamplesInHelp(t *testing.T) {
	for _, help := range hooktools.Helps() {
		name := help.Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(help.Examples) == 0 || !strings.Contains(help.Text, "\nDetails:\n") {
				t.Errorf("%s --help has no examples or no details", name)
			}
			for _, example := range help.Examples {
				s := &scriptHook{t: t, dir: t.TempDir()}
				hook := []string{"relation-changed", "0", "mysql/0"}
				if strings.HasPrefix(name, "action-") || strings.HasPrefix(name, "function-") {
					hook = []string{"action"}
				}
				s.begin(hook)
				// The machine can't be restarted here; see reboot_test.go.
				refused := name == "credential-get" || name == "juju-reboot"
				if out := s.run(example); strings.Contains(out, "exit ") != refused || !strings.Contains(example, name) {
					t.Errorf("%s: %s", example, out)
				}
				s.end()
			}
		})
	}
}
