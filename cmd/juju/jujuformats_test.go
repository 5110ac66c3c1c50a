package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
	"juju/cmd/juju/store"
	"juju/doc/tools/generated"
	"juju/doc/tools/verify"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A shape is what testdata/formats.txt says of a value in the JSON of Juju.
type shape struct {
	name     string // where the table has it
	kind     string // "map", "list", "string", "number", "bool" or "any"; or the name of a type
	optional bool
	remark   string            // why only we have it, or why it is absent
	fields   map[string]*shape // of a map
	each     *shape            // of a list, or of a map whose keys are names
	seen     bool
}

const (
	oursOnly = "ours: "
	absent   = "absent: "
	notSeen  = "unseen: "
)

// jujuFormats is the content of testdata/formats.txt.
type jujuFormats struct {
	types    map[string]*shape
	commands []jujuFormat
	without  map[string]string // why commands are not compared, by name
	missing  []string          // commands that print no JSON
	absent   []*shape          // what is never printed, in order
}

// A jujuFormat is what command lines print.
type jujuFormat struct {
	lines []string
	*shape
}

func readJujuFormats(t *testing.T) jujuFormats {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "formats.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := jujuFormats{types: map[string]*shape{}, without: map[string]string{}}
	for _, paragraph := range strings.Split(string(text), "\n\n") {
		at := &shape{kind: "map"}
		var typed []string
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "type "); ok && !strings.HasPrefix(name, " ") { // not a key
				at.name, all.types[name] = name, at
			} else if command, ok := strings.CutPrefix(line, "$ "); ok {
				at.name, typed = strings.Fields(command)[0], append(typed, command)
			} else if names, ok := strings.CutPrefix(line, "without "); ok {
				names, reason, _ := strings.Cut(names, ": ")
				for _, name := range strings.Fields(names) {
					all.without[name] = reason
				}
			} else if names, ok := strings.CutPrefix(line, "missing "); ok {
				all.missing = append(all.missing, strings.Fields(names)...)
			} else if line != "" && !strings.HasPrefix(line, "#") {
				one, err := at.add(line)
				if err != nil {
					t.Fatalf("%s: %q: %v", at.name, line, err)
				}
				if strings.HasPrefix(one.remark, absent) {
					all.absent = append(all.absent, one)
				}
			}
		}
		if typed != nil {
			all.commands = append(all.commands, jujuFormat{typed, at})
		}
	}
	return all
}

var columns = regexp.MustCompile("  +")

// add adds a line of the table.
func (s *shape) add(line string) (*shape, error) {
	words := columns.Split(line, 3)
	if len(words) < 2 {
		return nil, fmt.Errorf("it has no kind")
	}
	one := s
	if words[0] != "." {
		for _, step := range strings.Split(strings.TrimPrefix(strings.ReplaceAll(words[0], "[]", ".[]"), "."), ".") {
			switch parent := one; {
			case parent.kind == "":
				return nil, fmt.Errorf("what it is in has no line")
			case step == "[]" || step == "*":
				if one = parent.each; one == nil {
					one = &shape{}
					parent.each = one
				}
				if parent == s && step == "[]" {
					s.kind = "list"
				}
			default:
				if one = parent.fields[step]; one == nil {
					one = &shape{}
					if parent.fields == nil {
						parent.fields = map[string]*shape{}
					}
					parent.fields[step] = one
				}
			}
		}
		if one.kind != "" {
			return nil, fmt.Errorf("it is there twice")
		}
		one.name = s.name + ": " + words[0]
	}
	one.kind, one.optional = strings.CutSuffix(words[1], "?")
	one.remark = strings.Join(words[2:], "")
	if one.remark != "" && !strings.HasPrefix(one.remark, oursOnly) && !strings.HasPrefix(one.remark, absent) && !strings.HasPrefix(one.remark, notSeen) {
		return nil, fmt.Errorf("its remark begins with none of %q, %q and %q", oursOnly, absent, notSeen)
	}
	return one, nil
}

// of returns what is in s, with what is in its type.
func (f jujuFormats) of(s *shape) (kind string, fields map[string]*shape, each *shape) {
	named := f.types[s.kind]
	if named == nil {
		return s.kind, s.fields, s.each
	}
	fields = maps.Clone(named.fields)
	maps.Copy(fields, s.fields)
	return named.kind, fields, named.each
}

// check compares a value that a command has printed with its shape, and returns the differences.
func (f jujuFormats) check(s *shape, v any) (bad []string) {
	s.seen = true
	kind, fields, each := f.of(s)
	if named := f.types[s.kind]; named != nil {
		named.seen = true
	}
	switch is := kindOf(v); {
	case strings.HasPrefix(s.remark, absent):
		return []string{s.name + " is there, and the table says " + s.remark}
	case kind == "any":
		return nil
	case is != kind:
		return []string{fmt.Sprintf("%s is a %s, in Juju a %s", s.name, is, kind)}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			if of := fields[name]; of != nil {
				bad = append(bad, f.check(of, one)...)
			} else if each != nil {
				bad = append(bad, f.check(each, one)...)
			} else {
				bad = append(bad, fmt.Sprintf("%s has %s, which Juju has not", s.name, name))
			}
		}
		for name, of := range fields {
			if _, ok := v[name]; !ok && !of.optional && of.remark == "" {
				bad = append(bad, of.name+" is missing, which Juju always has")
			}
		}
	case []any:
		for _, one := range v {
			bad = append(bad, f.check(each, one)...)
		}
	}
	return bad
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	case bool:
		return "bool"
	case float64:
		return "number"
	}
	return "string"
}

// unseen returns the lines of the table that nothing has shown, but for those below one that is absent.
func (f jujuFormats) unseen(s *shape) (all []string) {
	if strings.HasPrefix(s.remark, absent) || strings.HasPrefix(s.remark, notSeen) {
		return nil
	}
	if !s.seen {
		return []string{s.name}
	}
	for _, one := range s.fields {
		all = append(all, f.unseen(one)...)
	}
	if s.each != nil {
		all = append(all, f.unseen(s.each)...)
	}
	return all
}

// richUser is a user of a controller and a model in which everything that can be printed is there.
func richUser(t *testing.T) *clitest.User {
	f := filler{text: "web", plain: true}
	u := newUser(t).WithModels()
	u.Session.ConnectController = func(context.Context, cli.Target) (io.Closer, error) {
		return richController{filledController{u.Controller, f}}, nil
	}
	u.Session.AskController = u.Session.ConnectController
	ca, err := os.ReadFile(filepath.Join("testdata", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	u.Note(func(c *store.Contents) {
		one := filled[store.Controller](f)
		was := c.Controllers["prod"]
		one.User, one.Models, one.Model, one.CACert = was.User, was.Models, was.Model, string(ca)
		c.Controllers["prod"] = &one
	})
	clitest.Write(t, filepath.Join(u.Env["JUJU_DATA"], "clouds.yaml"),
		"clouds: {rack: {type: lxd, description: d, auth-types: [certificate], endpoint: 'https://rack:8443', config: {a: b}, regions: {north: {endpoint: 'https://north:8443'}}}}\n")
	clitest.Write(t, filepath.Join(u.Env["JUJU_DATA"], "credentials.yaml"),
		"credentials: {rack: {default-credential: ops, default-region: north, ops: {auth-type: certificate, client-cert: c, client-key: k}}}\n")
	r := &u.Model.Returns
	r.Statuses, r.Unit, r.Blocks = filled[[]*entity.ModelStatus](f), filled[client.UnitInfo](f), filled[[]entity.Block](f)
	r.History, r.Payloads, r.Storage = filled[[]entity.PastStatus](f), filled[[]entity.UnitPayload](f), filled[[]entity.StorageStatus](f)
	r.Spaces, r.SpaceUse, r.Resources = filled[[]entity.Space](f), filled[entity.SpaceUse](f), filled[entity.ResourcesOf](f)
	r.Secrets = append(filled[[]client.Secret](f), filled[[]client.Secret](f)...)
	r.Secrets[0].ID, r.Secrets[0].Owner = "a", entity.ModelTag("d")
	r.Secrets[1].ID, r.Secrets[1].ContentError = "b", errors.New("lost")
	r.Resources.Units = map[string]map[string]entity.ResourceFile{"web/0": r.Resources.Units["web"]}
	r.Config = filled[client.ServiceConfig](f)
	r.Config.Settings["title"] = r.Config.Settings["web"]
	r.Actions = map[string]client.ActionInfo{"go": {Description: "goes", Schema: map[string]any{"properties": map[string]any{}}}}
	r.ModelConfig = modelconfig.Config{modelconfig.DefaultSeries: filled[modelconfig.Value](f)}
	r.Tasks = filled[[]entity.Task](f)
	r.Tasks[0].Params, r.Tasks[0].Results = json.RawMessage(`{"a": 1}`), json.RawMessage(`{"stdout": "x", "return-code": 0}`)
	r.Tasks[0].Receiver, r.Tasks[0].Status = "web/0", entity.TaskCompleted
	if r.Constraints, err = constraints.Parse("arch=amd64 container=lxd cores=1 cpu-power=1 mem=1 root-disk=1 root-disk-source=a tags=a " +
		"instance-role=a instance-type=a spaces=a virt-type=a zones=a allocate-public-ip=true image-id=a"); err != nil {
		t.Fatal(err)
	}
	u.Session.Connect = func(context.Context) (io.Closer, error) {
		u.Model.Opened++
		return richModel{u.Model}, nil
	}
	return u
}

// A richController is of a name that commands take.
type richController struct{ filledController }

func (richController) Models(context.Context) ([]client.Model, error) {
	return []client.Model{{Name: "default", UUID: "d", Owner: "admin"}}, nil
}

func (c richController) ControllerNodes(ctx context.Context) ([]entity.ControllerNode, *entity.ControllerUpgrade, error) {
	nodes, upgrade, err := c.filledController.ControllerNodes(ctx)
	return append(nodes, entity.ControllerNode{Machine: "1", Seen: clitest.SomeTime}), upgrade, err
}

func (richController) ControllerConfig(context.Context) (map[string]any, error) {
	return map[string]any{"api-port": 17070}, nil
}

// A richModel has a storage pool with attributes.
type richModel struct{ *clitest.FakeModel }

func (richModel) StoragePools(context.Context, []string, []string) ([]entity.StoragePool, error) {
	return []entity.StoragePool{{Name: "fast", Provider: "lxd", Attributes: map[string]string{"a": "b"}}}, nil
}

// bareUser is a user of a controller and a model in which nothing has more than it must have.
func bareUser(t *testing.T) *clitest.User {
	u := newUser(t).WithModels()
	clitest.Write(t, filepath.Join(u.Env["JUJU_DATA"], "clouds.yaml"), "clouds: {rack: {type: lxd, endpoint: 'https://rack:8443'}}\n")
	r := &u.Model.Returns
	r.Statuses = []*entity.ModelStatus{{Machines: []entity.MachineStatus{{ID: "0"}},
		Services: []entity.ServiceStatus{{Name: "web", Units: []entity.UnitStatus{{Name: "web/0"}}}},
		Remotes:  []entity.RemoteStatus{{Name: "db"}}, Offers: []entity.OfferStatus{{Name: "web"}}}}
	r.Unit.Relations = []entity.RelationData{{Endpoint: "db"}}
	r.Config.Settings = map[string]entity.ConfigSetting{"title": {}}
	r.Blocks, r.History = []entity.Block{{}}, []entity.PastStatus{{}}
	r.Spaces = []entity.Space{{Name: "web", Subnets: []entity.Subnet{{CIDR: "10.0.0.0/24"}}}}
	r.Storage = []entity.StorageStatus{{ID: "web/0"}}
	r.Payloads = []entity.UnitPayload{{}}
	r.Secrets = []client.Secret{{SecretInfo: entity.SecretInfo{ID: "a"}}}
	r.Resources = entity.ResourcesOf{Resources: []entity.Resource{{Name: "site"}},
		Units: map[string]map[string]entity.ResourceFile{"web/0": {}}}
	r.Tasks = []entity.Task{{ID: "2", Receiver: "web/0", Name: "go", Status: entity.TaskCompleted, Enqueued: clitest.SomeTime},
		{ID: "3", Receiver: "0", Name: entity.CommandTask, Status: entity.TaskCompleted, Enqueued: clitest.SomeTime}}
	r.Actions = map[string]client.ActionInfo{"go": {}}
	return u
}

// What every command prints as JSON has the names, the types and the nesting of Juju 3.6, which scripts and clients read, but
// for what testdata/formats.txt gives a reason for.
func TestJSONIsThatOfJuju(t *testing.T) {
	t.Parallel()
	formats := readJujuFormats(t)
	compared := map[string]bool{}
	bad := map[string]bool{}
	for _, u := range []*clitest.User{richUser(t), bareUser(t)} {
		for _, one := range formats.commands {
			for _, line := range one.lines {
				name, rest, _ := strings.Cut(line, " ")
				compared[name] = true
				u.Types(strings.Fields(name + " --format json " + rest)...)
				var v any
				if err := json.Unmarshal(u.Out.Bytes(), &v); err != nil {
					t.Errorf("juju %s: %v\n%s%s", line, err, u.Out.String(), u.Err.String())
					continue
				}
				for _, text := range formats.check(one.shape, v) {
					bad[text] = true
				}
			}
		}
	}
	for _, one := range formats.commands {
		for _, name := range formats.unseen(one.shape) {
			bad[name+" is not printed"] = true
		}
	}
	for _, one := range formats.types {
		for _, name := range formats.unseen(one) {
			bad[name+" is not printed"] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(bad)) {
		t.Error(text)
	}
	for _, cmd := range commands.New(newUser(t).Session).Commands() {
		printed, reason := slices.Contains(cli.Formats(cmd), "json"), formats.without[cmd.Name()]
		if printed && compared[cmd.Name()] == (reason != "") {
			t.Errorf("juju %s prints JSON: compared: %v; has a reason not to be: %q", cmd.Name(), compared[cmd.Name()], reason)
		}
		delete(formats.without, cmd.Name())
		if printed && slices.Contains(formats.missing, cmd.Name()) {
			t.Errorf("juju %s prints JSON, and the table says that it is missing", cmd.Name())
		}
	}
	if len(formats.without) > 0 {
		t.Errorf("these are no commands: %v", formats.without)
	}
}

// doc/coming-from-juju.md lists what is never printed.
func TestAbsentInJSON(t *testing.T) {
	verify.Smoke(t)
	t.Parallel()
	var reasons []string
	values := map[string][]string{}
	for _, one := range readJujuFormats(t).absent {
		reason := strings.TrimPrefix(one.remark, absent)
		if values[reason] == nil {
			reasons = append(reasons, reason)
		}
		in, path, _ := strings.Cut(one.name, ": ")
		if value := fmt.Sprintf("`%s` (%s)", path, in); !slices.Contains(values[reason], value) {
			values[reason] = append(values[reason], value)
		}
	}
	table := "| value | why it is never there |\n|---|---|\n"
	for _, reason := range reasons {
		table += fmt.Sprintf("| %s | %s |\n", strings.Join(values[reason], ", "), reason)
	}
	generated.Part(t, filepath.Join("..", "..", "doc", "coming-from-juju.md"), "json", table, *update)
}
