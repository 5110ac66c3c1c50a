package bundles_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/state/entity"
)

// unplanned is what --dry-run of a bundle says last at a controller that can't plan.
const unplanned = "Which hooks would run is not known: this controller cannot plan changes.\n"

// shopChanges are the changes that deploy the clitest.Shop to an empty model.
const shopChanges = `- upload charm ./log
- deploy application log using ./log
- set annotations for log
- upload charm ./store
- deploy application store using ./store
- set annotations for store
- upload charm ./web
- deploy application web using ./web
- expose all endpoints of web and allow access from CIDRs 0.0.0.0/0 and ::/0
- add new machine 0
- add unit web/0 to new machine 0
- add new machine 1
- add unit web/1 to new machine 1
- add unit store/0 to new machine 1 to satisfy [web/1]
- add unit store/1 to new machine 1
- add unit web/2 to new machine 2
- add unit web/3 to new machine 3
- set annotations for new machine 1
- add relation web:store - store:db
- add relation log:host - web:juju-info
`

// A leavingModel lacks, for some requests, the machine that its status has.
type leavingModel struct {
	*clitest.FakeModel
	lacks int
}

func (l *leavingModel) Annotations(ctx context.Context, of ...entity.Tag) ([]map[string]string, error) {
	if l.lacks--; l.lacks >= 0 {
		return nil, entity.Errorf(entity.NotFound, "machine 0 not found")
	}
	return l.FakeModel.Annotations(ctx, of...)
}

func TestAModelIsReadAgainIfAMachineGoesMeanwhile(t *testing.T) {
	t.Parallel()
	there := &entity.ModelStatus{Machines: []entity.MachineStatus{{ID: "0", Life: entity.Dead}}}
	u := newUser(t)
	u.Model.Returns.Statuses = []*entity.ModelStatus{there, {}}
	api := &leavingModel{u.Model, 1}
	u.Session.Connect = func(context.Context) (io.Closer, error) {
		u.Model.Opened++
		return api, nil
	}
	u.Types("export-bundle")
	u.Sees(1, "", "ERROR nothing to export as there are no applications\n")
	u.Model.Returns.Statuses, api.lacks = []*entity.ModelStatus{there}, 5
	u.Types("export-bundle") // whose model has the machine in each status, but never for other requests
	u.Sees(1, "", "ERROR machine 0 not found\nTo see what is in the model: juju status\n")
}

func TestBundleIsPlannedDeployedAndThere(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	u.Types("deploy", file, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n"+shopChanges, unplanned)
	if got := u.Runs("status", "--format", "oneline"); got != "" {
		t.Errorf("a dry run has made\n%s", got)
	}
	u.Types("deploy", filepath.Dir(file), "-q") // a directory is as good
	u.Sees(0, "Executing changes:\n"+shopChanges, "")
	u.Types("deploy", file)
	u.Sees(0, "", "No changes to apply.\n")
	if got := u.Runs("deploy", file, "--dry-run", "--map-machines", "existing"); got != "Nothing would be changed.\n" {
		t.Errorf("deployed again, it would make\n%s", got)
	}
	if got := u.Runs("diff-bundle", file, "--annotations"); got != "{}\n" {
		t.Errorf("differences: %s", got)
	}
	if got := u.Runs("get", "web", "ratio"); got != "2\n" {
		t.Errorf("ratio %s", got)
	}

	// The bundle can be in an archive.
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("bundle.yaml")
	if err == nil {
		_, err = io.WriteString(w, clitest.ShopBundle)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	zipped := filepath.Join(filepath.Dir(file), "shop.zip")
	clitest.Write(t, zipped, archive.String())
	u.Types("deploy", zipped)
	u.Sees(0, "", "No changes to apply.\n")
}

func TestChangedBundle(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	u.Runs("deploy", file)
	overlay := filepath.Join(filepath.Dir(file), "o.yaml")
	clitest.Write(t, overlay, `applications:
  web:
    num_units: 5
    options: {title: Bye, ratio: , debug: true}
    constraints: mem=2G
    expose: false
  log:
  store: {num_units: 1, to: [web/1], annotations: {note: z, more: y}}
machines:
  "0": {annotations: {rack: d}}
  "1": {annotations: {rack: c}}
---
applications:
  proxy: {charm: ./web, num_units: 1, to: [store/0]}
relations:
- [proxy:store, store:db]
`)
	u.Types("diff-bundle", file, "--overlay", overlay, "--annotations")
	u.Sees(0, `applications:
    log:
        missing: bundle
    proxy:
        missing: model
    store:
        num_units:
            bundle: 1
            model: 2
        annotations:
            more:
                bundle: "y"
                model: null
            note:
                bundle: z
                model: a
    web:
        num_units:
            bundle: 5
            model: 4
        expose:
            bundle: false
            model: true
        options:
            ratio:
                bundle: null
                model: 2
            title:
                bundle: Bye
                model: Hello
        constraints:
            bundle: mem=2G
            model: mem=1024M
machines:
    "0":
        annotations:
            rack:
                bundle: d
                model: null
relations:
    bundle-additions:
        - - proxy:store
          - store:db
    model-additions:
        - - log:host
          - web:juju-info
`, "")
	u.Types("deploy", file, "--overlay", overlay)
	u.Sees(0, `Executing changes:
- upload charm ./web
- deploy application proxy using ./web
- set annotations for store
- set application options for web
- set constraints for web to "mem=2G"
- unexpose web
- add unit proxy/0 to existing machine 1 to satisfy [store/0]
- add unit web/4 to new machine 4
- set annotations for existing machine 0
- add relation proxy:store - store:db
`, "WARNING application \"store\" has 2 units, but the bundle has 1: none are destroyed\n"+
		"Uploading charm \"./web\"\nDeploy of bundle completed.\n")
	u.Types("deploy", file, "--overlay", overlay, "-q")
	u.Sees(0, "", "")

	// Another charm is an upgrade.
	clitest.Write(t, filepath.Join(filepath.Dir(file), "web", "hooks", "start"), "#!/bin/sh\n")
	clitest.Write(t, overlay, "applications: {web: {num_units: 5, options: {title: Bye, debug: true}, constraints: mem=2G, "+
		"expose: false}, store: {annotations: {note: z}}}\n")
	u.Types("deploy", file, "--overlay", overlay, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n- upload charm ./web for series jammy\n"+
		"- upgrade web using charm ./web for series jammy\n", unplanned)
	u.Types("diff-bundle", file, "--overlay", overlay)
	if !strings.Contains(u.Out.String(), "charm:\n            bundle: ./web\n            model: local:jammy/web-0\n") {
		t.Errorf("it does not say that the charm differs:\n%s%s", u.Out.String(), u.Err.String())
	}
	// So is one of which only a mode differs.
	if err := os.Remove(filepath.Join(filepath.Dir(file), "web", "hooks", "start")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(filepath.Dir(file), "web", "config.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	u.Types("deploy", file, "--overlay", overlay)
	if u.Code != 0 || !strings.Contains(u.Out.String(), "- upgrade web using charm ./web for series jammy\n") {
		t.Errorf("exit code %d, %s%s", u.Code, u.Out.String(), u.Err.String())
	}
	u.Types("deploy", file, "--overlay", overlay)
	u.Sees(0, "", "No changes to apply.\n")
	if got := u.Runs("status", "--format", "yaml", "web"); !strings.Contains(got, "charm: local:jammy/web-2\n") {
		t.Errorf("it is not upgraded:\n%s", got)
	}
	// The archive of the same files is the same charm, although it is another archive.
	if err := os.Chmod(filepath.Join(filepath.Dir(file), "web", "config.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	u.Runs("deploy", file, "--overlay", overlay)
	clitest.Repack(t, filepath.Join(filepath.Dir(file), "web"))
	clitest.Write(t, overlay, "applications: {web: {charm: ./web.zip}, log: {charm: ./log}}\n")
	u.Types("deploy", file, "--overlay", overlay, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n- set annotations for store\n- set application options for web\n"+
		"- set constraints for web to \"mem=1G\"\n"+
		"- expose all endpoints of web and allow access from CIDRs 0.0.0.0/0 and ::/0\n",
		"WARNING application \"web\" has 5 units, but the bundle has 4: none are destroyed\n"+unplanned)
}

// The units of a bundle's services get the storage that it says.
func TestDeployABundleWithStorage(t *testing.T) {
	t.Parallel()
	u, file := newUser(t), clitest.Shop(t)
	clitest.Write(t, file, "applications: {store: {charm: ./store, num_units: 0, storage: {data: \"fast,1G,2\"}}}\n")
	u.Types("deploy", file, "-q")
	if calls := strings.Join(u.Model.Calls, "\n"); u.Code != 0 ||
		!strings.Contains(calls, `"Storage":{"data":{"pool":"fast","size":1024,"count":2}}`) {
		t.Errorf("exit code %d, asked %s", u.Code, calls)
	}
}

// A bundle that is deployed again says what storage new units get; those that are there keep theirs.
func TestABundleWithOtherStorage(t *testing.T) {
	u, file := realtest.NewUser(t, newUser(t)), clitest.Shop(t)
	says := func(storage string) {
		clitest.Write(t, file, "applications: {store: {charm: ./store, num_units: 1, storage: {data: \""+storage+"\"}}}\n")
	}
	says("1G")
	u.Runs("deploy", file)
	u.Types("diff-bundle", file)
	u.Sees(0, "{}\n", "")
	says("rootfs,2")
	u.Types("diff-bundle", file)
	u.Sees(0, "applications:\n    store:\n        storage:\n            data:\n                bundle: rootfs,2\n"+
		"                model: dummy,1024M,1\n", "")
	const change = "- set storage for new units of store to data=rootfs,1024M,2\n"
	u.Types("deploy", file, "--dry-run")
	u.Sees(0, "Changes to deploy bundle:\n"+change, unplanned)
	u.Types("deploy", file)
	u.Sees(0, "Executing changes:\n"+change, "Deploy of bundle completed.\n")
	u.Types("deploy", file)
	u.Sees(0, "", "No changes to apply.\n")
	if got := u.Runs("storage"); strings.Count(got, "data/") != 1 {
		t.Errorf("the storage of a unit has changed:\n%s", got)
	}
	if got := u.Runs("export-bundle"); !strings.Contains(got, "data: rootfs,1024M,2\n") {
		t.Errorf("exported is\n%s", got)
	}
}

func TestDiffBundleUsage(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("diff-bundle")
	u.Sees(2, "", "ERROR no bundle specified\nFor usage: juju help diff-bundle\n")
	u.Types("diff-bundle", "a", "b")
	u.Sees(2, "", "ERROR unrecognized args: [\"b\"]\nFor usage: juju help diff-bundle\n")
	u.Types("diff-bundle", "./none")
	u.Sees(1, "", "ERROR cannot read bundle: open ./none: no such file or directory\n"+
		"Give the path of a YAML file, or of a directory or a zip archive with a bundle.yaml.\n")
	u.Asked()
}

var errCut = errors.New("the connection is cut")

// A cutModel fails at one of the changes, and from then on: before it is made, or after it, as
// when the reply is lost.
type cutModel struct {
	*client.Conn
	left  int // changes until then
	after bool
}

func (c *cutModel) change(do func() error) error {
	c.left--
	if c.left < 0 && (c.left < -1 || !c.after) {
		return errCut
	}
	if err := do(); err != nil {
		return err
	}
	if c.left < 0 {
		return errCut
	}
	return nil
}

func (c *cutModel) UploadCharm(ctx context.Context, r io.Reader, series string) (url string, err error) {
	err = c.change(func() error { url, err = c.Conn.UploadCharm(ctx, r, series); return err })
	return url, err
}

func (c *cutModel) Deploy(ctx context.Context, args client.DeployArgs) (w []string, err error) {
	return nil, c.change(func() error { _, err := c.Conn.Deploy(ctx, args); return err })
}

func (c *cutModel) AddUnits(
	ctx context.Context, service string, n int, to []entity.Placement, attach ...string,
) (units, w []string, err error) {
	err = c.change(func() error { units, _, err = c.Conn.AddUnits(ctx, service, n, to, attach...); return err })
	if err != nil {
		units = nil
	}
	return units, nil, err
}

func (c *cutModel) AddMachine(ctx context.Context, args client.MachineArgs) (id string, w []string, err error) {
	err = c.change(func() error { id, _, err = c.Conn.AddMachine(ctx, args); return err })
	return id, nil, err
}

func (c *cutModel) AddRelation(ctx context.Context, ends ...string) (map[string]string, error) {
	return nil, c.change(func() error { _, err := c.Conn.AddRelation(ctx, ends...); return err })
}

func (c *cutModel) SetAnnotations(ctx context.Context, of entity.Tag, values map[string]string) error {
	return c.change(func() error { return c.Conn.SetAnnotations(ctx, of, values) })
}

func (c *cutModel) Expose(ctx context.Context, service string, endpoints entity.ExposedEndpoints) ([]string, error) {
	return nil, c.change(func() error { _, err := c.Conn.Expose(ctx, service, endpoints); return err })
}

// A bundle that fails anywhere goes on when the command is repeated. The one thing that the
// command can't find again is a machine whose addition was not answered.
func TestBundleGoesOnWhenRepeated(t *testing.T) {
	u := realtest.NewUser(t, newUser(t))
	file := clitest.Shop(t)
	connect := u.Session.Connect
	lines := strings.SplitAfter(shopChanges, "\n")
	every := 1
	if testing.Short() {
		every = 5
	}
	for _, after := range []bool{false, true} {
		for cut := rand.IntN(every); ; cut += every {
			about := fmt.Sprintf("cut before change %d", cut)
			if after {
				about = fmt.Sprintf("cut after change %d", cut)
			}
			u.NewModel(fmt.Sprintf("m%d-%v", cut, after))
			machine := false // the change that was cut
			u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
				api, err := u.Connect(ctx)
				return &cutModel{api, cut, after}, err
			}
			u.Types("deploy", file)
			u.Session.Connect = connect
			if u.Code == 0 {
				if cut < 18 {
					t.Fatalf("%s: there were only that many changes", about)
				}
				break
			}
			done := strings.Count(u.Out.String(), "\n- ")
			if want := "Executing changes:\n" + strings.Join(lines[:done], ""); u.Out.String() != want {
				t.Errorf("%s: it says\n%swant\n%s", about, u.Out.String(), want)
			}
			said := fmt.Sprintf("ERROR cannot deploy bundle: cannot %s: the connection is cut\n",
				strings.TrimSpace(strings.TrimPrefix(lines[done], "- ")))
			if !strings.Contains(u.Err.String(), said) || !strings.HasSuffix(u.Err.String(),
				fmt.Sprintf("%d of 20 changes were made. To continue, fix the cause and repeat the command.\n", done)) {
				t.Errorf("%s: it says\n%s", about, u.Err.String())
			}
			machine = after && strings.Contains(lines[done], "add new machine")
			// A machine that got its unit after all can't be removed again.
			if strings.Contains(u.Err.String(), "--map-machines") && !(after && strings.Contains(lines[done], "add unit")) {
				t.Errorf("%s: a machine was not removed again: %s", about, u.Err.String())
			}
			u.Types("deploy", file, "-q")
			if u.Code != 0 {
				t.Fatalf("%s: repeated, it fails: %s", about, u.Err.String())
			}
			if again := u.Runs("deploy", file); again != "" {
				t.Errorf("%s: it is not done when it is repeated:\n%s", about, again)
			}
			status, err := u.State.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			units := 0
			for _, s := range status.Services {
				units += len(s.Units)
			}
			extra := 0
			if machine {
				extra = 1
			}
			if units != 6 || len(status.Machines) > 4+extra {
				t.Errorf("%s: %d units, %d machines", about, units, len(status.Machines))
			}
			diff := u.Runs("diff-bundle", file, "--annotations")
			if diff != "{}\n" && !machine {
				t.Errorf("%s: it differs:\n%s", about, diff)
			}
		}
	}
}
