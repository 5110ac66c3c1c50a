package bundles_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/state/entity"
)

// emptyPlan is what --dry-run says last if the controller foresees nothing.
const emptyPlan = "To do this only if the model is still the same: --if-unchanged \n"

// What can't be deployed is refused by name, before anything is changed and most of it before
// there is a connection.
func TestBundleRefusals(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
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
		{"what is not there yet", "applications: {web: {charm: ./web, storage: {a: 1G, b: x_y}, devices: {o: {}}}}", "", 1,
			"ERROR the provided bundle has the following errors:\n" +
				"  application \"web\": devices: not supported yet\n" +
				"  invalid storage \"a\" in application \"web\": charm \"web\" has no store called \"a\"\n" +
				"  invalid storage \"b\" in application \"web\": unrecognized storage constraint \"x_y\" not valid\n" +
				"Nothing was changed.\n", 0},
		{"charms of a store", "applications: {web: {charm: web}, mysql: {charm: \"cs:trusty/mysql-5\"}, " +
			"web-b: {charm: ./none}}", "", 1,
			"ERROR the provided bundle has the following errors:\n" +
				"  application \"mysql\" refers to non-existent charm \"cs:trusty/mysql-5\": only local charms are supported: " +
				"a path that starts with a dot, or a charm in a --repository\n" +
				"  application \"web\" refers to non-existent charm \"web\": only local charms are supported: " +
				"a path that starts with a dot, or a charm in a --repository\n" +
				"  charm path in application \"web-b\" does not exist: " + dir + "/none\nNothing was changed.\n", 0},
		{"an overlay that is not there", "applications: {web: {charm: ./web}}", "--overlay nope.yaml", 1,
			"ERROR cannot read bundle: open nope.yaml: no such file or directory\n" +
				"Give the path of a YAML file, or of a directory or a zip archive with a bundle.yaml.\n", 0},
		{"an included file that is not there",
			"applications: {web: {charm: ./web, options: {title: include-file://nope}}}", "", 1,
			"ERROR the provided bundle has the following errors:\n  " + file + ":1: applications.web.options.title: " +
				"cannot include: open " + dir + "/nope: no such file or directory\n", 0},
		{"constraints", "applications: {web: {charm: ./web, constraints: mem=much}}", "", 1,
			"ERROR the provided bundle has the following errors:\n  invalid constraints \"mem=much\" in application \"web\": " +
				"bad \"mem\" constraint: must be a non-negative float with optional M/G/T/P suffix\nNothing was changed.\n", 0},
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
				"supported series are: noble\nNothing was changed. To deploy to another series: juju deploy --force\n", 1},
	} {
		t.Run(test.about, func(t *testing.T) {
			clitest.Write(t, file, test.bundle+"\n")
			u.Types(append([]string{"deploy", file}, strings.Fields(test.flags)...)...)
			u.Sees(test.code, "", test.want)
			if len(u.Model.Calls) != test.asked {
				t.Errorf("asked %q", u.Model.Calls)
			}
		})
	}

	// What the cloud refuses is refused before the first change.
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 1}, store: {charm: ./store}}\n")
	u.Model.Returns.Refused = entity.WithHint(entity.Errorf(entity.Invalid, "no such machine"), "Try another")
	u.Types("deploy", file)
	u.Asked("Status")
	u.Sees(1, "", "ERROR cannot deploy bundle: no such machine\n  no such machine\nTry another\n"+
		"Nothing was changed. To deploy to another series: juju deploy --force\n")
	u.Model.Returns.Refused = nil

	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 1, to: [\"0\"]}}\n"+
		"machines: {\"0\": {constraints: mem=9T}}\n")
	u.Model.Returns.Refuse = func(args client.DeployArgs) error {
		if args.Constraints.IsEmpty() {
			return nil
		}
		return entity.Errorf(entity.Invalid, "cannot deploy %q: no machine is that large", args.Service)
	}
	u.Types("deploy", file)
	u.Asked("Status")
	u.Sees(1, "", "ERROR cannot deploy bundle: machine \"0\": cannot deploy \"web\": no machine is that large\n"+
		"Nothing was changed.\n")
	u.Model.Returns.Refuse = nil

	// Machines have the series of their units, unless that is forced.
	clitest.Write(t, file, "applications: {web: {charm: ./web, series: jammy, num_units: 1, to: [\"0\"]}}\n"+
		"machines: {\"0\": {series: focal}}\n")
	u.Types("deploy", file)
	u.Asked("Status")
	u.Sees(1, "", "ERROR cannot deploy bundle: cannot place application \"web\", which has series \"jammy\", "+
		"on machine \"0\", which has \"focal\"\nNothing was changed.\n")
	u.Types("deploy", file, "--force", "-q")
	if !strings.Contains(strings.Join(u.Model.Calls, "\n"), `AddMachine "jammy"`) || u.Code != 0 {
		t.Errorf("exit code %d, asked %q", u.Code, u.Model.Calls)
	}

	// What is there need not be available any more.
	clitest.Write(t, file, "applications: {web: {charm: \"local:jammy/web-0\"}}\n")
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Services: []entity.ServiceStatus{
		{Name: "web", CharmURL: "local:jammy/web-0", Series: "jammy"}}}}
	u.Model.Returns.Refused = entity.Errorf(entity.Invalid, "no such machine")
	u.Types("deploy", file)
	u.Sees(0, "", "No changes to apply.\n")
	clitest.Write(t, file, "applications: {web: {charm: \"local:jammy/web-0\", constraints: mem=1G}}\n")
	u.Types("deploy", file)
	u.Sees(1, "", "ERROR cannot deploy bundle: no such machine\n"+
		"Nothing was changed. To deploy to another series: juju deploy --force\n")
	u.Model.Returns.Refused, u.Model.Returns.Statuses = nil, nil

	// --trust and --force let it through.
	clitest.Write(t, file, "series: focal\napplications: {later: {charm: ./later, series: jammy, trust: true, num_units: 0}}\n")
	u.Types("deploy", file, "--trust", "--force", "-q")
	u.Asked("Status", "UploadCharm jammy", `Deploy {"Service":"later","CharmURL":"local:jammy/web-0","Series":"jammy",`+
		`"Units":0,"Placement":null,"Config":null,"ConfigYAML":"later:\n    trust: true\n","Constraints":{},"Force":true}`)
	u.Sees(0, "Executing changes:\n- upload charm ./later for series jammy\n"+
		"- deploy application later on jammy using ./later\n", "")
	// A bundle can come from standard input; its paths are relative to the current directory.
	u.Session.Stdin = strings.NewReader("applications: {web: {charm: " + filepath.Dir(file) + "/web, num_units: 0}}\n")
	u.Types("deploy", "-", "--dry-run")
	if u.Code != 0 || !strings.Contains(u.Out.String(), "- deploy application web ") {
		t.Errorf("from standard input: exit code %d\n%s%s", u.Code, u.Out.String(), u.Err.String())
	}
	u.Session.Stdin = strings.NewReader("applications: [")
	u.Types("deploy", "-", "--dry-run")
	if u.Code != 1 || !strings.Contains(u.Err.String(), "standard input") {
		t.Errorf("damaged standard input: exit code %d\n%s", u.Code, u.Err.String())
	}
	// The series of the whole bundle is for the charms that have it.
	clitest.Write(t, file, "series: focal\napplications: {later: {charm: ./later, num_units: 0}, "+
		"web: {charm: ./web, num_units: 0}}\n")
	u.Types("deploy", file, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n- upload charm ./later\n- deploy application later using ./later\n"+
		"- upload charm ./web for series focal\n- deploy application web on focal using ./web\n\nNothing would be changed.\n", emptyPlan)
	// By force it is for all.
	u.Types("deploy", file, "--dry-run", "--force")
	u.Sees(0, "Changes to deploy bundle:\n- upload charm ./later for series focal\n- deploy application later on focal using ./later\n"+
		"- upload charm ./web for series focal\n- deploy application web on focal using ./web\n\nNothing would be changed.\n", emptyPlan)
}

// Everything that a bundle says reaches the controller.
func TestBundleRequests(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
	clitest.Write(t, filepath.Join(filepath.Dir(file), "title"), "good\nmorning")
	clitest.Write(t, file, `series: jammy
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
	u.Model.Returns.Warnings = []string{"no tags here"}
	u.Types("deploy", file)
	u.Asked("Status", "UploadCharm jammy",
		`Deploy {"Service":"web","CharmURL":"local:jammy/web-0","Series":"jammy","Units":0,"Placement":null,"Config":null,`+
			`"ConfigYAML":"web:\n    debug: yes\n    ratio: 1\n    title: |-\n        good\n        morning\n",`+
			`"Constraints":{"mem":1024},"Force":false}`,
		"Expose web", "SetAnnotations service-web map[a:b]", `AddMachine "jammy" "cores=2" ""`, "AddUnits web 1 [5]",
		"AddUnits web 2 []", "Status web", "SetAnnotations machine-5 map[c:d]")
	u.Sees(0, `Executing changes:
- upload charm ./web for series jammy
- deploy application web on jammy using ./web
- expose all endpoints of web and allow access from CIDRs 0.0.0.0/0 and ::/0
- set annotations for web
- add new machine 5 (bundle machine 0)
- add unit web/0 to new machine 5
- add unit web/0 to new machine 1
- add unit web/1 to new machine 2
- set annotations for new machine 5
`, "WARNING "+file+":11: applications.web.channel: ignored: there is no charm store\n"+
		"WARNING no tags here\nUploading charm \"./web\"\nDeploy of bundle completed.\n")
}

// A dry run prints each warning of the cloud and of charms that the deployment prints.
func TestDryRunWarns(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
	dir := filepath.Dir(file)
	clitest.Write(t, filepath.Join(dir, "web", "metadata.yaml"), "name: web\nsummary: s\ndescription: d\nterms: [x]\n")
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 1}, again: {charm: ./web, num_units: 1}}\n")
	u := newUser(t)
	u.Model.Returns.Warnings = []string{"no tags here"}
	u.Types("deploy", file, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n- upload charm ./web\n"+
		"- deploy application again using ./web\n- deploy application web using ./web\n"+
		"- add unit again/0 to new machine 0\n- add unit web/0 to new machine 1\n\nNothing would be changed.\n",
		"WARNING no tags here\n"+
			"WARNING charm \"web\": metadata.yaml: terms \"x\": users are not asked to agree to them\n"+emptyPlan)
}

// A unit on a machine of the model is not added with those that get machines of their own.
func TestBundleUnitsAreAddedTogether(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 4, to: [new, new, \"3\", new]}}\n"+
		"machines: {\"3\": {}}\n")
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Machines: []entity.MachineStatus{{ID: "7", Series: "jammy"}}}}
	u.Types("deploy", file, "--map-machines", "3=7", "-q")
	if got, want := strings.Join(u.Model.Calls[4:], ", "),
		"AddUnits web 2 [new new], Status web, AddUnits web 1 [7], AddUnits web 1 [new], Status web"; got != want || u.Code != 0 {
		t.Errorf("exit code %d, asked %s, want %s", u.Code, got, want)
	}
}

func TestMachinesThatCannotBeMapped(t *testing.T) {
	t.Parallel()
	file := clitest.Shop(t)
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 1, to: [\"0\"]}}\nmachines: {\"0\": {}}\n")
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{{Machines: []entity.MachineStatus{{ID: "0", Life: entity.Dying}, {ID: "1"},
		{ID: "2", Manager: true}, {ID: "3"}}}}
	for _, test := range []struct{ flag, word, want string }{
		{"0=0", "0=0", "the model has no machine 0"},
		{"0=2", "0=2", "the model has no machine 2"},
		{"0=1,0=3", "0=3", "machine 0 is mapped twice"},
	} {
		u.Types("deploy", file, "--map-machines", test.flag)
		u.Sees(2, "", "ERROR invalid --map-machines parameter \""+test.word+"\": "+test.want+
			"\nFor usage: juju help deploy\n")
	}
	u.Types("deploy", file, "--map-machines", "existing", "--dry-run") // it is on its way out
	if !strings.Contains(u.Out.String(), "add new machine 4 (bundle machine 0)\n") {
		t.Error(u.Out.String())
	}
	clitest.Write(t, file, "applications: {web: {charm: ./web, num_units: 2, to: [\"0\", \"1\"]}}\n"+
		"machines: {\"0\": {}, \"1\": {}}\n")
	u.Types("deploy", file, "--map-machines", "existing,0=3", "--dry-run", "-q")
	u.Sees(0, "Changes to deploy bundle:\n- upload charm ./web\n- deploy application web using ./web\n"+
		"- add unit web/0 to existing machine 3\n- add unit web/1 to existing machine 1\n\nNothing would be changed.\n", "") // the fake's plan is empty
}

// What the controller refuses half way is named, with what is done, and a machine without a unit
// is removed.
func TestBundleIsRefusedHalfWay(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	other := filepath.Join(filepath.Dir(file), "other.yaml")
	clitest.Write(t, other, "applications: {web: {charm: ./web, num_units: 2, to: [\"0\"], constraints: \"\"}}\n"+
		"machines: {\"0\": {}}\n")
	connect := u.Session.Connect
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		api, err := u.Connect(ctx)
		return meanwhile{api, func() {
			if _, _, err := api.DestroyServices(ctx, entity.Destruction{}, "web"); err != nil {
				t.Error(err)
			}
		}}, err
	}
	u.Types("deploy", other)
	u.Session.Connect = connect
	u.Sees(1, "Executing changes:\n- upload charm ./web\n- deploy application web using ./web\n- add new machine 0\n",
		"Uploading charm \"./web\"\nMachine 0 is removed, because it has no unit yet.\n"+
			"ERROR cannot deploy bundle: cannot add unit web/0 to new machine 0: service \"web\" not found\n"+
			"To see what is in the model: juju status\n3 of 5 changes were made. To continue, fix the cause and repeat the command.\n")
	if got := u.Runs("status", "--format", "yaml"); !strings.Contains(got, "machines: {}") {
		t.Errorf("the machine is left:\n%s", got)
	}

	// It is removed too if the command is interrupted then.
	ctx, cancel := context.WithCancel(t.Context())
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		api, err := u.Connect(ctx)
		return meanwhile{api, cancel}, err
	}
	u.TypesUntil(ctx, "deploy", other)
	u.Session.Connect = connect
	u.Sees(1, "Executing changes:\n- upload charm ./web\n- deploy application web using ./web\n"+
		"- add new machine 1 (bundle machine 0)\n",
		"Uploading charm \"./web\"\nMachine 1 is removed, because it has no unit yet.\nERROR interrupted\nWhat was changed stays. To continue: repeat the command.\n")
	if got := u.Runs("status", "--format", "yaml"); !strings.Contains(got, "machines: {}") {
		t.Errorf("the machine is left:\n%s", got)
	}
	u.Runs("deploy", other)
}

// A meanwhile is a connection of which someone else makes use after a machine was added.
type meanwhile struct {
	*client.Conn
	do func()
}

func (m meanwhile) AddMachine(ctx context.Context, args client.MachineArgs) (string, []string, error) {
	id, warnings, err := m.Conn.AddMachine(ctx, args)
	m.do()
	return id, warnings, err
}
