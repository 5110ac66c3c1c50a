package bundles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func TestExportBundle(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("export-bundle")
	u.Sees(1, "", "ERROR nothing to export as there are no applications\n")
	u.Types("export-bundle", "x")
	u.Sees(2, "", "ERROR unrecognized args: [\"x\"]\nFor usage: juju help export-bundle\n")

	u.Model.Returns.Statuses = []*entity.ModelStatus{{
		Machines: []entity.MachineStatus{{ID: "0", Series: "jammy", Constraints: "mem=1024M"}, {ID: "1", Series: "focal"},
			{ID: "2", Series: "jammy"}, {ID: "3", Series: "jammy", Manager: true}},
		Services: []entity.ServiceStatus{
			{Name: "log", CharmURL: "local:jammy/log-0", Series: "jammy", Subordinate: true},
			{Name: "old", CharmURL: "local:focal/web-0", Series: "focal", Exposed: true,
				Endpoints: entity.ExposedEndpoints{"": {CIDRs: []string{"0.0.0.0/0"}}, "site": {Spaces: []string{"alpha"}}},
				Units:     []entity.UnitStatus{{Name: "old/0", Machine: "1"}}},
			{Name: "going", CharmURL: "local:jammy/web-1", Series: "jammy", Life: entity.Dying},
			{Name: "web", CharmURL: "local:jammy/web-1", Series: "jammy", Exposed: true,
				Units: []entity.UnitStatus{{Name: "web/1", Machine: "0"}, {Name: "web/2", Machine: "0"},
					{Name: "web/3", Machine: "1", Life: entity.Dying}}},
		},
		Relations: []entity.RelationStatus{
			{Endpoints: []entity.EndpointStatus{{Service: "web", Name: "ring"}}},
			{Endpoints: []entity.EndpointStatus{{Service: "web", Name: "juju-info"}, {Service: "log", Name: "host"}}},
			{Endpoints: []entity.EndpointStatus{{Service: "old", Name: "juju-info"}, {Service: "log", Name: "host"}},
				Life: entity.Dying},
			{Endpoints: []entity.EndpointStatus{{Service: "going", Name: "juju-info"}, {Service: "log", Name: "host"}}},
		},
	}}
	u.Model.Returns.Config.Storage = map[string]entity.StorageConstraints{"data": {Pool: "fast", Size: 1024, Count: 2},
		"cache": {Pool: "local", Size: 1024}}
	u.Model.Returns.Config.Settings = map[string]entity.ConfigSetting{
		"title": {Value: "x: y", Source: entity.SourceUser}, "port": {Value: int64(80), Source: entity.SourceDefault},
		"none": {Source: entity.SourceUnset}}
	u.Model.Returns.Annotations = map[string]string{"a": "1"}
	file := filepath.Join(t.TempDir(), "out.yaml")
	u.Types("export-bundle", "--filename", file)
	u.Sees(0, "", "WARNING application \"going\" is being destroyed, and is omitted\n"+
		"WARNING relation \"going:juju-info log:host\" is being destroyed, and is omitted\n"+
		"WARNING relation \"old:juju-info log:host\" is being destroyed, and is omitted\n"+
		"Bundle successfully exported to "+file+"\n")
	const want = `series: jammy
applications:
  log:
    charm: local:jammy/log-0
    options:
      title: 'x: y'
    annotations:
      a: "1"
    storage:
      data: fast,1024M,2
  old:
    charm: local:focal/web-0
    series: focal
    num_units: 1
    to:
      - "1"
    options:
      title: 'x: y'
    annotations:
      a: "1"
    storage:
      data: fast,1024M,2
  web:
    charm: local:jammy/web-1
    num_units: 2
    to:
      - "0"
      - "0"
    expose: true
    options:
      title: 'x: y'
    annotations:
      a: "1"
    storage:
      data: fast,1024M,2
machines:
  "0":
    constraints: mem=1024M
    annotations:
      a: "1"
  "1":
    annotations:
      a: "1"
    series: focal
relations:
  - - web:juju-info
    - log:host
--- # overlay.yaml
applications:
  old:
    exposed-endpoints:
      "":
        expose-to-cidrs:
          - 0.0.0.0/0
      site:
        expose-to-spaces:
          - alpha
`
	u.Types("export-bundle", "-q")
	u.Sees(0, want, "")
	text, err := cli.ReadFile(file, 1<<20)
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	u.Types("export-bundle", "-q", "--include-charm-defaults")
	if got := u.Out.String(); strings.Count(got, "port: 80\n") != 3 || strings.Contains(got, "none") {
		t.Errorf("with defaults:\n%s", got)
	}
	u.Types("export-bundle", "-q", "--filename", filepath.Join(file, "x"))
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "ERROR cannot write bundle: ") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}

	// Invisible characters are escaped in a file, too: it may be shown on a terminal later.
	u.Model.Returns.Annotations = map[string]string{"a": "x\u202ey"}
	u.Types("export-bundle", "-q", "--filename", file)
	if text, err := os.ReadFile(file); u.Code != 0 || err != nil || !strings.Contains(string(text), `a: "x\u202ey"`) {
		t.Errorf("exit code %d: %q (%v)", u.Code, text, err)
	}
}
