package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/state/entity"
)

// What can't be deployed is refused by name, before anything is changed and most of it before
// there is a connection.
func TestBundleRefusals(t *testing.T) {
	file := shop(t)
	dir := filepath.Dir(file)
	u := newUser(t)
	for _, test := range []struct {
		about, bundle string
		flags         string
		code          int
		want          string
		asked         int // calls
	}{
		{"flags for charms", "applications: {web: {charm: ./web}}",
			"-n 2 --to 0 --config a=b --constraints mem=1G --series jammy", 2,
			"ERROR Flags provided but not supported when deploying a bundle: --config, --constraints, --num-units, --series, " +
				"--to.\nFor usage: juju help deploy\n", 0},
		{"a name", "applications: {web: {charm: ./web}}", "shop", 2,
			"ERROR a bundle has no name: unrecognized args: [\"shop\"]\nFor usage: juju help deploy\n", 0},
		{"trust", "applications: {web: {charm: ./web, trust: true}, store: {charm: ./store, trust: yes}}", "", 1,
			"ERROR Bundle cannot be deployed without trusting applications with your cloud credentials.\n" +
				"  Please repeat the deploy command with the --trust argument if you consent to trust the following " +
				"application(s):\n    - store\n    - web\n", 0},
		{"what is not there yet", "applications: {web: {charm: ./web, storage: {a: 1G}, " +
			"offers: {o: {endpoints: [site]}}}}\nsaas: {x: {url: a.b}}", "", 1,
			"ERROR the provided bundle has the following errors:\n  saas: not supported yet\n" +
				"  application \"web\": storage: not supported yet\n  application \"web\": offers: not supported yet\n" +
				"Nothing has been changed\n", 0},
		{"charms of a store", "applications: {web: {charm: web}, mysql: {charm: \"cs:trusty/mysql-5\"}, " +
			"web-b: {charm: ./none}}", "", 1,
			"ERROR the provided bundle has the following errors:\n" +
				"  application \"mysql\" refers to non-existent charm \"cs:trusty/mysql-5\": only local charms are supported: " +
				"a path that begins with a dot, or a charm in a --repository\n" +
				"  application \"web\" refers to non-existent charm \"web\": only local charms are supported: " +
				"a path that begins with a dot, or a charm in a --repository\n" +
				"  charm path in application \"web-b\" does not exist: " + dir + "/none\nNothing has been changed\n", 0},
		{"an overlay that is not there", "applications: {web: {charm: ./web}}", "--overlay nope.yaml", 1,
			"ERROR cannot read bundle: open nope.yaml: no such file or directory\n", 0},
		{"an included file that is not there",
			"applications: {web: {charm: ./web, options: {title: include-file://nope}}}", "", 1,
			"ERROR the provided bundle has the following errors:\n  " + file + ":1: applications.web.options.title: " +
				"cannot include: open " + dir + "/nope: no such file or directory\n", 0},
		{"constraints", "applications: {web: {charm: ./web, constraints: mem=much}}", "", 1,
			"ERROR the provided bundle has the following errors:\n  invalid constraints \"mem=much\" in application \"web\": " +
				"bad \"mem\" constraint: must be a non-negative float with optional M/G/T/P suffix\nNothing has been changed\n", 0},
		{"a map of machines that is none", "applications: {web: {charm: ./web}}", "--map-machines existing,0", 2,
			"ERROR invalid --map-machines parameter \"0\": expected existing or BUNDLE-MACHINE=MODEL-MACHINE\n" +
				"For usage: juju help deploy\n", 1},
		{"a map of other machines", "applications: {web: {charm: ./web}}", "--map-machines 0=0", 2,
			"ERROR invalid --map-machines parameter \"0=0\": the bundle has no machine 0\nFor usage: juju help deploy\n", 1},
		{"a map to other machines", "applications: {web: {charm: ./web, num_units: 1, to: [\"0\"]}}\nmachines: {\"0\": {}}",
			"--map-machines 0=3", 2,
			"ERROR invalid --map-machines parameter \"0=3\": the model has no machine 3\nFor usage: juju help deploy\n", 1},
		{"a series that the charm has not", "applications: {later: {charm: ./later, series: jammy}}", "", 1,
			"ERROR cannot deploy bundle: application \"later\": series \"jammy\" not supported by charm, " +
				"supported series are: noble\nNothing has been changed. To deploy it to another series: juju deploy --force\n", 1},
		{"containers", "applications: {web: {charm: ./web, num_units: 1, to: [\"lxd:new\"]}}", "", 1,
			"ERROR cannot deploy bundle: placement \"lxd:new\" of application \"web\": containers are not supported yet\n" +
				"Nothing has been changed\n", 1},
	} {
		t.Run(test.about, func(t *testing.T) {
			write(t, file, test.bundle+"\n")
			u.types(append([]string{"deploy", file}, strings.Fields(test.flags)...)...)
			u.sees(test.code, "", test.want)
			if len(u.fake.calls) != test.asked {
				t.Errorf("asked %q", u.fake.calls)
			}
		})
	}

	// What the cloud refuses is refused before the first change.
	write(t, file, "applications: {web: {charm: ./web, num_units: 1}, store: {charm: ./store}}\n")
	u.fake.refused = entity.WithHint(entity.Errorf(entity.Invalid, "no such machine"), "Try another")
	u.types("deploy", file)
	u.asked("Status")
	u.sees(1, "", "ERROR cannot deploy bundle: no such machine\n  no such machine\nTry another\n"+
		"Nothing has been changed. To deploy it to another series: juju deploy --force\n")
	u.fake.refused = nil

	write(t, file, "applications: {web: {charm: ./web, num_units: 1, to: [\"0\"]}}\n"+
		"machines: {\"0\": {constraints: mem=9T}}\n")
	u.fake.refuse = func(args client.DeployArgs) error {
		if args.Constraints.IsEmpty() {
			return nil
		}
		return entity.Errorf(entity.Invalid, "cannot deploy %q: no machine is that large", args.Service)
	}
	u.types("deploy", file)
	u.asked("Status")
	u.sees(1, "", "ERROR cannot deploy bundle: machine \"0\": cannot deploy \"web\": no machine is that large\n"+
		"Nothing has been changed\n")
	u.fake.refuse = nil

	// Machines have the series of their units, unless that is forced.
	write(t, file, "applications: {web: {charm: ./web, series: jammy, num_units: 1, to: [\"0\"]}}\n"+
		"machines: {\"0\": {series: focal}}\n")
	u.types("deploy", file)
	u.asked("Status")
	u.sees(1, "", "ERROR cannot deploy bundle: machine \"0\" has series \"focal\", and application \"web\", which is to be "+
		"placed on it, has \"jammy\"\nNothing has been changed\n")
	u.types("deploy", file, "--force", "-q")
	if !strings.Contains(strings.Join(u.fake.calls, "\n"), `AddMachine "jammy"`) || u.code != 0 {
		t.Errorf("exit code %d, asked %q", u.code, u.fake.calls)
	}

	// What is there need not be available any more.
	write(t, file, "applications: {web: {charm: \"local:jammy/web-0\"}}\n")
	u.fake.statuses = []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "web", CharmURL: "local:jammy/web-0", Series: "jammy"}}}}
	u.fake.refused = entity.Errorf(entity.Invalid, "no such machine")
	u.types("deploy", file)
	u.sees(0, "", "No changes to apply.\n")
	write(t, file, "applications: {web: {charm: \"local:jammy/web-0\", constraints: mem=1G}}\n")
	u.types("deploy", file)
	u.sees(1, "", "ERROR cannot deploy bundle: no such machine\n"+
		"Nothing has been changed. To deploy it to another series: juju deploy --force\n")
	u.fake.refused, u.fake.statuses = nil, nil

	// --trust and --force let it through.
	write(t, file, "series: focal\napplications: {later: {charm: ./later, series: jammy, trust: true, num_units: 0}}\n")
	u.types("deploy", file, "--trust", "--force", "-q")
	u.asked("Status", "UploadCharm jammy", `Deploy {"Service":"later","CharmURL":"local:jammy/web-0","Series":"jammy",`+
		`"Units":0,"Placement":null,"Config":null,"ConfigYAML":"","Constraints":{},"Force":true}`)
	u.sees(0, "Executing changes:\n- upload charm ./later for series jammy\n"+
		"- deploy application later on jammy using ./later\n", "")
	// The series of the whole bundle is for the charms that have it.
	write(t, file, "series: focal\napplications: {later: {charm: ./later, num_units: 0}, "+
		"web: {charm: ./web, num_units: 0}}\n")
	u.types("deploy", file, "--dry-run")
	u.sees(0, "Changes to deploy bundle:\n- upload charm ./later\n- deploy application later using ./later\n"+
		"- upload charm ./web for series focal\n- deploy application web on focal using ./web\n", "")
}

// Everything that a bundle says reaches the controller.
func TestBundleRequests(t *testing.T) {
	file := shop(t)
	write(t, filepath.Join(filepath.Dir(file), "title"), "good\nmorning")
	write(t, file, `series: jammy
applications:
  web:
    charm: ./web
    num_units: 3
    to: ["0", new]
    options: {title: "include-file://title", debug: yes, ratio: 1}
    constraints: mem=1G
    expose: true
    annotations: {a: b}
    channel: edge
machines: {"0": {constraints: cores=2, annotations: {c: d}}}
`)
	u := newUser(t)
	u.fake.warnings = []string{"no tags here"}
	u.types("deploy", file)
	u.asked("Status", "UploadCharm jammy",
		`Deploy {"Service":"web","CharmURL":"local:jammy/web-0","Series":"jammy","Units":0,"Placement":null,"Config":null,`+
			`"ConfigYAML":"web:\n    debug: yes\n    ratio: 1\n    title: |-\n        good\n        morning\n",`+
			`"Constraints":{"mem":1024},"Force":false}`,
		"Expose web", "SetAnnotations service-web map[a:b]", `AddMachine "jammy" "cores=2" ""`, "AddUnits web 1 [5]",
		"AddUnits web 2 []", "Status web", "SetAnnotations machine-5 map[c:d]")
	u.sees(0, `Executing changes:
- upload charm ./web for series jammy
- deploy application web on jammy using ./web
- expose all endpoints of web and allow access from CIDRs 0.0.0.0/0 and ::/0
- set annotations for web
- add new machine 5 (bundle machine 0)
- add unit web/0 to new machine 5
- add unit web/0 to new machine 1
- add unit web/1 to new machine 2
- set annotations for new machine 5
`, "WARNING "+file+":11: applications.web.channel: ignored: it is about a charm store\n"+
		"Uploading charm \"./web\"\nWARNING no tags here\nDeploy of bundle completed.\n")
}

// A unit on a machine of the model is not added with those that get machines of their own.
func TestBundleUnitsAreAddedTogether(t *testing.T) {
	file := shop(t)
	write(t, file, "applications: {web: {charm: ./web, num_units: 4, to: [new, new, \"3\", new]}}\nmachines: {\"3\": {}}\n")
	u := newUser(t)
	u.fake.statuses = []*entity.ModelStatus{{Machines: []entity.MachineStatus{{ID: "7", Series: "jammy"}}}}
	u.types("deploy", file, "--map-machines", "3=7", "-q")
	if got, want := strings.Join(u.fake.calls[4:], ", "),
		"AddUnits web 2 [], Status web, AddUnits web 1 [7], AddUnits web 1 [], Status web"; got != want || u.code != 0 {
		t.Errorf("exit code %d, asked %s, want %s", u.code, got, want)
	}
}

func TestMachinesThatCannotBeMapped(t *testing.T) {
	file := shop(t)
	write(t, file, "applications: {web: {charm: ./web, num_units: 1, to: [\"0\"]}}\nmachines: {\"0\": {}}\n")
	u := newUser(t)
	u.fake.statuses = []*entity.ModelStatus{{Machines: []entity.MachineStatus{{ID: "0", Life: entity.Dying}, {ID: "1"},
		{ID: "2", Manager: true}, {ID: "3"}}}}
	for _, test := range []struct{ flag, word, want string }{
		{"0=0", "0=0", "the model has no machine 0"},
		{"0=2", "0=2", "the model has no machine 2"},
		{"0=1,0=3", "0=3", "machine 0 is mapped twice"},
	} {
		u.types("deploy", file, "--map-machines", test.flag)
		u.sees(2, "", "ERROR invalid --map-machines parameter \""+test.word+"\": "+test.want+
			"\nFor usage: juju help deploy\n")
	}
	u.types("deploy", file, "--map-machines", "existing", "--dry-run") // it is on its way out
	if !strings.Contains(u.out.String(), "add new machine 4 (bundle machine 0)\n") {
		t.Error(u.out.String())
	}
	write(t, file, "applications: {web: {charm: ./web, num_units: 2, to: [\"0\", \"1\"]}}\nmachines: {\"0\": {}, \"1\": {}}\n")
	u.types("deploy", file, "--map-machines", "existing,0=3", "--dry-run", "-q")
	u.sees(0, "Changes to deploy bundle:\n- upload charm ./web\n- deploy application web using ./web\n"+
		"- add unit web/0 to existing machine 3\n- add unit web/1 to existing machine 1\n", "")
}

// What the controller refuses half way is named, with what is done, and a machine without a unit
// is removed.
func TestBundleIsRefusedHalfWay(t *testing.T) {
	u := newRealUser(t)
	file := shop(t)
	other := filepath.Join(filepath.Dir(file), "other.yaml")
	write(t, other, "applications: {web: {charm: ./web, num_units: 2, to: [\"0\"], constraints: \"\"}}\n"+
		"machines: {\"0\": {}}\n")
	connect := u.session.connect
	u.session.connect = func(ctx context.Context) (modelAPI, error) {
		api, err := connect(ctx)
		return meanwhile{api, func() {
			if _, _, err := api.DestroyServices(ctx, entity.Destruction{}, "web"); err != nil {
				t.Error(err)
			}
		}}, err
	}
	u.types("deploy", other)
	u.session.connect = connect
	u.sees(1, "Executing changes:\n- upload charm ./web\n- deploy application web using ./web\n- add new machine 0\n",
		"Uploading charm \"./web\"\nMachine 0, which has no unit yet, is removed again.\n"+
			"ERROR cannot deploy bundle: cannot add unit web/0 to new machine 0: service \"web\" not found\n"+
			"See what there is: juju status\n3 of 5 changes are done. To go on, mend the cause and repeat the command\n")
	if got := u.runs("status", "--format", "yaml"); !strings.Contains(got, "machines: {}") {
		t.Errorf("the machine is left:\n%s", got)
	}

	// It is removed too if the command is interrupted then.
	ctx, cancel := context.WithCancel(t.Context())
	u.session.connect = func(ctx context.Context) (modelAPI, error) {
		api, err := connect(ctx)
		return meanwhile{api, cancel}, err
	}
	u.typesUntil(ctx, "deploy", other)
	u.session.connect = connect
	u.sees(1, "Executing changes:\n- upload charm ./web\n- deploy application web using ./web\n- add new machine 1 (bundle machine 0)\n",
		"Uploading charm \"./web\"\nMachine 1, which has no unit yet, is removed again.\nERROR interrupted\n")
	if got := u.runs("status", "--format", "yaml"); !strings.Contains(got, "machines: {}") {
		t.Errorf("the machine is left:\n%s", got)
	}
	u.runs("deploy", other)
}

func TestExportBundle(t *testing.T) {
	u := newUser(t)
	u.types("export-bundle")
	u.sees(1, "", "ERROR nothing to export as there are no applications\n")
	u.types("export-bundle", "x")
	u.sees(2, "", "ERROR unrecognized args: [\"x\"]\nFor usage: juju help export-bundle\n")

	u.fake.statuses = []*entity.ModelStatus{{
		Machines: []entity.MachineStatus{{ID: "0", Series: "jammy", Constraints: "mem=1024M"}, {ID: "1", Series: "focal"},
			{ID: "2", Series: "jammy"}, {ID: "3", Series: "jammy", Manager: true}},
		Services: []entity.ServiceStatus{
			{Name: "log", CharmURL: "local:jammy/log-0", Series: "jammy", Subordinate: true},
			{Name: "old", CharmURL: "local:focal/web-0", Series: "focal",
				Units: []entity.UnitStatus{{Name: "old/0", Machine: "1"}}},
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
	u.fake.config.Settings = map[string]entity.ConfigSetting{
		"title": {Value: "x: y", Source: entity.SourceUser}, "port": {Value: int64(80), Source: entity.SourceDefault},
		"none": {Source: entity.SourceUnset}}
	u.fake.annotations = map[string]string{"a": "1"}
	file := filepath.Join(t.TempDir(), "out.yaml")
	u.types("export-bundle", "--filename", file)
	u.sees(0, "", "WARNING application \"going\" is being destroyed and left out\n"+
		"WARNING relation \"going:juju-info log:host\" is being destroyed and left out\n"+
		"WARNING relation \"old:juju-info log:host\" is being destroyed and left out\n"+
		"Bundle successfully exported to "+file+"\n")
	const want = `series: jammy
applications:
  log:
    charm: local:jammy/log-0
    options:
      title: 'x: y'
    annotations:
      a: "1"
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
`
	u.types("export-bundle", "-q")
	u.sees(0, want, "")
	text, err := readFile(file, 1<<20)
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
	u.types("export-bundle", "-q", "--include-charm-defaults")
	if got := u.out.String(); strings.Count(got, "port: 80\n") != 3 || strings.Contains(got, "none") {
		t.Errorf("with defaults:\n%s", got)
	}
	u.types("export-bundle", "-q", "--filename", filepath.Join(file, "x"))
	if u.code != 1 || !strings.HasPrefix(u.err.String(), "ERROR cannot write bundle: ") {
		t.Errorf("exit code %d, %s", u.code, u.err.String())
	}
}

func TestDiffBundleUsage(t *testing.T) {
	u := newUser(t)
	u.types("diff-bundle")
	u.sees(2, "", "ERROR no bundle specified\nFor usage: juju help diff-bundle\n")
	u.types("diff-bundle", "a", "b")
	u.sees(2, "", "ERROR unrecognized args: [\"b\"]\nFor usage: juju help diff-bundle\n")
	u.types("diff-bundle", "./none")
	u.sees(1, "", "ERROR cannot read bundle: open ./none: no such file or directory\n")
	u.asked()
}

// A charm's URL names one in the local repository, or one of the model.
func TestCharmsByURL(t *testing.T) {
	u := newRealUser(t)
	dir := filepath.Dir(shop(t))
	repo := t.TempDir()
	for _, c := range []struct{ at, name, revision string }{
		{"trusty/mysql-dir", "mysql", "7"}, {"trusty/mysql", "mysql", "5"},
		{"trusty/z-mysql", "mysql", "2"}, {"trusty/web", "web", "0"},
		{"jammy/web", "web", "3"}, {"jammy/odd", "odd", "1"},
	} {
		write(t, filepath.Join(repo, c.at, "metadata.yaml"), "name: "+c.name+"\nsummary: s\ndescription: d\n")
		write(t, filepath.Join(repo, c.at, "revision"), c.revision)
	}
	write(t, filepath.Join(repo, "jammy", "broken", "metadata.yaml"), "name: broken\n")
	write(t, filepath.Join(repo, "jammy", "README"), "no charm")
	write(t, filepath.Join(repo, "README"), "no series")
	repack(t, filepath.Join(dir, "web"))
	text, err := readFile(filepath.Join(dir, "web.zip"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(repo, "noble", "any.charm"), string(text))
	u.env["JUJU_REPOSITORY"] = repo
	for _, test := range []struct{ url, want string }{
		{"local:trusty/mysql", "local:trusty/mysql-7"},
		{"local:trusty/mysql-5", "local:trusty/mysql-8"}, // its own 5 is in the repository; the model has a 7
		{"cs:trusty/mysql-9", "local:trusty/mysql-9"},
		{"odd", "local:jammy/odd-1"},
		{"local:noble/web", "local:noble/web-0"},
		{"local:jammy/web", "local:jammy/web-3"},
	} {
		name := strings.NewReplacer(":", "-", "/", "-", "5", "five", "9", "nine").Replace(test.url)
		u.types("deploy", test.url, name, "-n", "1")
		if !strings.HasSuffix(u.err.String(), "Service \""+name+"\" is deployed from charm "+test.want+" with 1 unit.\n") {
			t.Errorf("%s: exit code %d, %s", test.url, u.code, u.err.String())
		}
	}
	for url, want := range map[string]string{
		"web": "ERROR charm \"ch:web\" is in repository \"" + repo + "\" for several series\n" +
			"Name one: ch:noble/web\n",
		"local:jammy/mysql": "ERROR charm not found in \"" + repo + "\": local:jammy/mysql\n",
		"cs:jammy/broken":   "ERROR cannot read charm in \"" + repo + "/jammy/broken\": metadata.yaml:",
		"local:x y":         "ERROR cannot deploy charm \"local:x y\": cannot parse charm URL ",
	} {
		u.types("deploy", url)
		if u.code != 1 || !strings.HasPrefix(u.err.String(), want) {
			t.Errorf("%s: exit code %d, %s", url, u.code, u.err.String())
		}
	}

	delete(u.env, "JUJU_REPOSITORY")
	u.types("deploy", "local:trusty/mysql-8", "again", "--wait=1ms")
	if !strings.Contains(u.err.String(), "Service \"again\" is deployed from charm local:trusty/mysql-8 with 1 unit.\n") {
		t.Errorf("exit code %d, %s", u.code, u.err.String())
	}
	u.types("deploy", "local:trusty/mysql-80")
	if u.code != 1 || !strings.HasPrefix(u.err.String(), "ERROR charm \"local:trusty/mysql-80\" not found") {
		t.Errorf("exit code %d, %s", u.code, u.err.String())
	}
	u.types("deploy", "local:trusty/mysql", "--repository", repo, "last", "--trust", "-n", "1")
	if u.code != 0 || !strings.Contains(u.err.String(), "WARNING --trust has no effect yet") {
		t.Errorf("exit code %d, %s", u.code, u.err.String())
	}

	// In a bundle they are warned of if they stand for others.
	file := filepath.Join(dir, "urls.yaml")
	write(t, file, "series: trusty\napplications:\n  a: {charm: \"cs:mysql-1\", num_units: 0}\n"+
		"  b: {charm: \"local:trusty/mysql-8\", num_units: 0}\n  c: {charm: \"local:web\", num_units: 0}\n")
	u.types("deploy", file, "--repository", repo, "--dry-run")
	u.sees(0, "Changes to deploy bundle:\n- upload charm cs:mysql-1 for series trusty\n"+
		"- deploy application a on trusty using cs:mysql-1\n"+
		"- deploy application b on trusty using local:trusty/mysql-8\n"+
		"- upload charm local:web for series trusty\n- deploy application c on trusty using local:web\n",
		"WARNING charm \"cs:mysql-1\" is taken from "+repo+"/trusty/mysql-dir\n")
	write(t, file, "applications: {b: {charm: \"local:trusty/mysql-8\", num_units: 0}}\n")
	u.types("deploy", file, "--dry-run")
	u.sees(0, "Changes to deploy bundle:\n- deploy application b on trusty using local:trusty/mysql-8\n", "")
	u.runs("deploy", file)
	u.types("deploy", file)
	u.sees(0, "", "No changes to apply.\n")
}

// A meanwhile is a connection of which someone else makes use after a machine was added.
type meanwhile struct {
	modelAPI
	do func()
}

func (m meanwhile) AddMachine(ctx context.Context, args client.MachineArgs) (string, []string, error) {
	id, warnings, err := m.modelAPI.AddMachine(ctx, args)
	m.do()
	return id, warnings, err
}
