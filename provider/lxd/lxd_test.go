package lxd

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"juju/provider"
	"juju/provider/providertest"
	"juju/state/constraints"
	"juju/state/entity"
)

func TestConformance(t *testing.T) {
	socket(t)
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		c := tiny(t, ownBridge(t))
		var otherwise []string
		rules, err := environOf(t, c).ConstraintRules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"root-disk", "zones"} {
			if slices.Contains(rules.Unsupported, key) {
				otherwise = append(otherwise, key)
			}
		}
		return providertest.Harness{
			Profile:    providertest.LXD,
			Controller: c.config.Controller,
			Open:       c.Open,
			Agents:     func(t *testing.T) []string { return agents(t, c) },
			Expanded: func(t *testing.T, id string) provider.Profile {
				i, err := c.instance(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				return provider.Profile{LXDProfile: entity.LXDProfile{Config: i.ExpandedConfig, Devices: i.ExpandedDevices}}
			},
			Kept: func(t *testing.T) (names []string) {
				all, err := c.profiles(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range all {
					names = append(names, p.Name)
				}
				slices.Sort(names)
				return names
			},
			Otherwise: otherwise,
			Tools:     tools(),
		}
	})
}

// A container of an interrupted start is listed, and the next start completes it.
func TestInterruptedStart(t *testing.T) {
	c, ctx := tiny(t, nil), within(t)
	e, p := environOf(t, c), params("0/lxd/1", "n")
	if err := provider.CheckStart(e.config, &p); err != nil {
		t.Fatal(err)
	}
	cons, err := constraints.Parse("cores=1 mem=100M")
	if err != nil {
		t.Fatal(err)
	}
	p.Constraints = cons
	name := instanceName(p)
	if !strings.HasPrefix(name, "juju-000000-0-lxd-1-") {
		t.Errorf("the name is %s", name)
	}
	request, member, err := e.request(ctx, name, p)
	if err == nil {
		_, err = c.client.do(ctx, http.MethodPost, "/1.0/instances", target(member), request)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.Instances(ctx)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v, want the half of an instance", all, err)
	}
	want := provider.Instance{ID: name, Controller: c.config.Controller, Model: providertest.ModelA, MachineID: "0/lxd/1",
		Nonce: "n", Hardware: provider.Hardware{Arch: all[0].Hardware.Arch, Cores: 1, Mem: 100}, Status: "stopped"}
	if diff := cmp.Diff(want, all[0]); diff != "" {
		t.Errorf("half an instance (-want +got):\n%s", diff)
	}
	inst, err := e.StartInstance(ctx, p)
	if err != nil || inst.ID != name || len(inst.Addresses) == 0 {
		t.Fatalf("got %v, %v, want it completed", inst, err)
	}
	if got := agents(t, c); len(got) != 1 {
		t.Errorf("agents %v", got)
	}
	// A stopped container is started again.
	if _, err := c.client.do(ctx, http.MethodPut, instancePath(name, "state"), nil,
		api.InstanceStatePut{Action: "stop", Force: true, Timeout: -1}); err != nil {
		t.Fatal(err)
	}
	again, err := e.StartInstance(ctx, p)
	if diff := cmp.Diff(inst, again); diff != "" || err != nil {
		t.Errorf("started again: %v (-first +second)\n%s", err, diff)
	}
	// A container of that name with another's tags is left alone.
	if err := c.remove(ctx, name); err != nil {
		t.Fatal(err)
	}
	request.Config[nonceKey] = "another"
	if _, err := c.client.do(ctx, http.MethodPost, "/1.0/instances", nil, request); err != nil {
		t.Fatal(err)
	}
	if _, err := e.StartInstance(ctx, p); !errors.Is(err, entity.Invalid) {
		t.Errorf("got error %v for a name that is taken", err)
	}
	if err := e.StopInstances(ctx, name); err != nil {
		t.Error(err)
	}
}

// cutter cancels a caller's context when the nth changing request is sent or, with late, when its response arrives.
type cutter struct {
	http.RoundTripper
	left int
	late bool
	cut  context.CancelFunc
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	counts := r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/wait")
	if counts {
		c.left--
	}
	if counts && c.left == 0 && !c.late {
		c.cut()
	}
	resp, err := c.RoundTripper.RoundTrip(r)
	if counts && c.left == 0 && c.late {
		c.cut()
	}
	return resp, err
}

// A start that is canceled at any request leaves nothing behind, except containers that Instances lists.
func TestCanceledStart(t *testing.T) {
	points := 8 // instance, its wait, three directories, the file, the start, its wait
	for n := 1; n <= points; n++ {
		if testing.Short() && n%3 != 1 {
			continue
		}
		c, ctx := tiny(t, nil), within(t)
		e := environOf(t, c)
		cut, cancel := context.WithCancel(ctx)
		if _, err := c.server(ctx); err != nil {
			t.Fatal(err)
		}
		whole := c.client.http.Transport
		c.client.http.Transport = &cutter{whole, n, n%2 == 0, cancel}
		_, err := e.StartInstance(cut, params("0", "n"))
		c.client.http.Transport = whole
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cut off at request %d: %v", n, err)
		}
		var all []api.Instance
		if err := c.client.get(ctx, "/1.0/instances", recursion(1), &all); err != nil {
			t.Fatal(err)
		}
		listed, err := e.Instances(ctx)
		if err != nil || len(listed) != len(all) {
			t.Errorf("cut off at request %d: there are %d containers, and %d are listed (%v)", n, len(all), len(listed), err)
		}
		if len(all) > 0 { // LXD has time enough to make it, and then to delete it
			t.Errorf("cut off at request %d: %s is left", n, all[0].Name)
		}
		if inst, err := e.StartInstance(ctx, params("0", "n")); err != nil || len(agents(t, c)) != 1 {
			t.Errorf("started again: %v, %v", inst, err)
		}
		if err := e.Destroy(ctx); err != nil {
			t.Error(err)
		}
	}
}

// A mortal forwards requests until LXD has accepted one to create an instance; then it fails like a killed process.
type mortal struct {
	http.RoundTripper
	dead bool
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.dead {
		return nil, errors.New("this process is dead")
	}
	m.dead = r.Method == http.MethodPost && r.URL.Path == "/1.0/instances"
	return m.RoundTripper.RoundTrip(r)
}

// Destruction includes containers that LXD is still creating for a controller that has just stopped.
func TestDestroyWhileLXDCreatesAContainer(t *testing.T) {
	for range 3 {
		c := tiny(t, nil)
		whole := c.client.http.Transport
		c.client.http.Transport = &mortal{RoundTripper: whole}
		if _, err := environOf(t, c).StartInstance(within(t), params("0", "n")); err == nil {
			t.Error("the start that was cut off succeeded")
		}
		c.client.http.Transport = whole
		if err := environOf(t, c).DestroyController(within(t), false); err != nil {
			t.Error(err)
		}
		if left, err := c.find(within(t), ""); err != nil || len(left) > 0 {
			t.Fatalf("left are %d containers (%v)", len(left), err)
		}
	}
}

func TestFilesystems(t *testing.T) {
	c, ctx := tiny(t, nil), within(t)
	e := environOf(t, c)
	inst, err := e.StartInstance(ctx, params("0", "n"))
	if err != nil {
		t.Fatal(err)
	}
	has := func(id, path, text string) {
		t.Helper()
		if _, err := c.exec(ctx, id, "sh", "-c", `[ "$(cat "$1")" = "$2" ]`, "sh", path, text); err != nil {
			t.Errorf("%s does not hold %q: %v", path, text, err)
		}
	}
	put := func(id, path, text string) {
		t.Helper()
		if _, err := c.exec(ctx, id, "sh", "-c", `echo "$2" >"$1"`, "sh", path, text); err != nil {
			t.Error(err)
		}
	}
	for _, pool := range []string{"lxd", entity.PoolRootFS} {
		storage := "data/" + map[string]string{"lxd": "0", entity.PoolRootFS: "1"}[pool]
		make := provider.FilesystemParams{Storage: storage, Pool: entity.StoragePool{Name: pool, Provider: pool}, Size: 10,
			Instance: inst.ID}
		f, err := e.CreateFilesystem(ctx, make)
		if err != nil {
			t.Fatal(err)
		}
		at := provider.AttachmentParams{Filesystem: f.ID, Instance: inst.ID, Mount: "/srv/" + pool}
		for range 2 {
			if location, err := e.AttachFilesystem(ctx, at); location != at.Mount || err != nil {
				t.Fatalf("%s is attached at %q (%v)", pool, location, err)
			}
		}
		put(inst.ID, at.Mount+"/file", pool)
		if again, err := e.CreateFilesystem(ctx, make); again != f || err != nil {
			t.Errorf("made again: %v (%v), want %v", again, err, f)
		}
		for range 2 {
			if err := e.DetachFilesystem(ctx, at); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.exec(ctx, inst.ID, "sh", "-c", `[ ! -e "$1" ]`, "sh", at.Mount+"/file"); err != nil {
			t.Errorf("%s is still there: %v", at.Mount, err)
		}
		at.Mount = "/srv/again"
		if _, err := e.AttachFilesystem(ctx, at); err != nil {
			t.Error(err)
		}
		has(inst.ID, "/srv/again/file", pool)
		if err := e.DetachFilesystem(ctx, at); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := e.DestroyFilesystem(ctx, f.ID); err != nil {
				t.Error(err)
			}
		}
		put(inst.ID, "/file", "x")
		if _, err := e.AttachFilesystem(ctx, provider.AttachmentParams{Filesystem: inst.ID + "/data-1", Instance: inst.ID,
			Mount: "/file"}); !errors.Is(err, entity.InUse) {
			t.Errorf("attached over a file: %v", err)
		}
	}
	// A volume outlives its container and its model, and is only destroyed on request.
	own := entity.StoragePool{Name: "lxd", Provider: "lxd"}
	volume := func(e *environ, storage string) string {
		t.Helper()
		f, err := e.CreateFilesystem(ctx, provider.FilesystemParams{Storage: storage, Pool: own, Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	there := func(id string, want bool) {
		t.Helper()
		at, _ := volumePath(id)
		if err := c.client.get(ctx, at, nil, nil); isNotFound(err) == want {
			t.Errorf("volume %s: %v", id, err)
		}
	}
	kept, left := volume(e, "data/2"), volume(e, "data/3")
	if _, err := e.AttachFilesystem(ctx, provider.AttachmentParams{Filesystem: kept, Instance: inst.ID,
		Mount: "/kept"}); err != nil {
		t.Fatal(err)
	}
	if err := e.StopInstances(ctx, inst.ID); err != nil {
		t.Fatal(err)
	}
	if err := e.DetachFilesystem(ctx, provider.AttachmentParams{Filesystem: kept, Instance: inst.ID,
		Mount: "/kept"}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := e.ReleaseFilesystem(ctx, kept); err != nil {
			t.Error(err)
		}
	}
	other, err := c.Open(ctx, provider.Config{Controller: c.config.Controller, Model: providertest.ModelB})
	if err != nil {
		t.Fatal(err)
	}
	ofOther := volume(other.(*environ), "data/0")
	found, err := c.Volumes(ctx)
	slices.Sort(found)
	want := []string{left, ofOther}
	slices.Sort(want)
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("the controller has volumes %q (%v), want %q", found, err, want)
	}
	if err := e.Destroy(ctx); err != nil {
		t.Error(err)
	}
	if err := e.DestroyController(ctx, true); err != nil {
		t.Error(err)
	}
	there(kept, true)
	there(left, true)
	there(ofOther, false)
	for _, id := range []string{kept, left} {
		if err := e.DestroyFilesystem(ctx, id); err != nil {
			t.Error(err)
		}
		there(id, false)
	}
	// Requests that fail.
	if _, err := e.CreateFilesystem(ctx, provider.FilesystemParams{Storage: "data/4", Pool: own,
		Size: 1 << 40}); err == nil {
		t.Error("there is room for an exabyte")
	}
	bad := own
	bad.Attributes = map[string]string{"storage-dir": "/srv"}
	if _, err := e.CreateFilesystem(ctx, provider.FilesystemParams{Storage: "data/4", Pool: bad}); !errors.Is(err,
		entity.Invalid) {
		t.Errorf("got error %v for an attribute", err)
	}
	if _, err := e.AttachFilesystem(ctx, provider.AttachmentParams{Filesystem: kept, Instance: inst.ID,
		Mount: "/x"}); !errors.Is(
		err, entity.NotProvisioned) {
		t.Errorf("got error %v for a removed instance", err)
	}
}

// Users' volumes can be imported, unless an instance or another controller uses them.
func TestVolumesOfUsersAreImported(t *testing.T) {
	c, ctx := tiny(t, nil), within(t)
	e := environOf(t, c)
	pool, err := c.pool(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own := entity.StoragePool{Name: "lxd", Provider: "lxd"}
	volume := func(name, content string, config map[string]string) string {
		t.Helper()
		name = prefix(e.config.Model) + name + digest(c.config.Controller)
		if _, err := c.client.do(ctx, http.MethodPost, volumesPath(pool), nil, api.StorageVolumesPost{Name: name, Type: "custom",
			ContentType: content, StorageVolumePut: api.StorageVolumePut{Config: config}}); err != nil {
			t.Fatal(err)
		}
		id := pool + ":" + name
		t.Cleanup(func() {
			if err := e.DestroyFilesystem(context.WithoutCancel(ctx), id); err != nil {
				t.Error(err)
			}
		})
		return id
	}
	fails := func(id string, kind entity.Kind, text string) {
		t.Helper()
		_, err := e.ImportFilesystem(ctx, provider.ImportParams{ID: id, Storage: "data/0", Pool: own})
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
			t.Errorf("import of %s: got error %v, want %q of kind %q", id, err, text, kind)
		}
	}
	unlimited := volume("unlimited", "filesystem", nil)
	f, err := e.ImportFilesystem(ctx, provider.ImportParams{ID: unlimited, Storage: "data/0", Pool: own})
	if err != nil || f.ID != unlimited || f.Size == 0 {
		t.Errorf("imported %+v (%v)", f, err)
	}
	fails(volume("block", "block", map[string]string{"size": "8MiB"}), entity.NotSupported, "of kind block, not filesystem")
	fails(volume("other", "filesystem", map[string]string{controllerKey: "other", modelKey: "its", storageKey: "data/0"}),
		entity.InUse, "is storage of model its of controller other")
	fails(pool+":none", entity.NotFound, "not found")
	fails("none:none", entity.NotFound, "not found")
	for _, bad := range []string{"", "data", pool + ":", "i/data-0", pool + ":a/b"} {
		fails(bad, entity.Invalid, "is not a filesystem of this cloud")
	}
	made, err := e.CreateFilesystem(ctx, provider.FilesystemParams{Storage: "data/1", Pool: own, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	fails(made.ID, entity.InUse, "belongs to storage data/1")

	inst, err := e.StartInstance(ctx, params("0", "n"))
	if err != nil {
		t.Fatal(err)
	}
	used := volume("used", "filesystem", nil)
	at := provider.AttachmentParams{Filesystem: used, Instance: inst.ID, Mount: "/srv/used"}
	if _, err := e.AttachFilesystem(ctx, at); err != nil {
		t.Fatal(err)
	}
	fails(used, entity.InUse, "is in use by /1.0/instances/"+inst.ID)
	if err := e.DetachFilesystem(ctx, at); err != nil {
		t.Error(err)
	}
	if err := e.DestroyController(ctx, true); err != nil {
		t.Error(err)
	}
}

// LXD copies a missing image of a series from the configured server, once.
func TestImagesAreCopied(t *testing.T) {
	socket(t) // without an LXD, there need be no busybox for its image either
	image, err := tinyImage("x86_64")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(image); err != nil {
		t.Fatal(err)
	}
	z.Close()
	var downloads atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/streams/v1/index.json", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"format": "index:1.0", "index": {"images": {"datatype": "image-downloads",
"format": "products:1.0", "path": "streams/v1/images.json", "products": ["ubuntu"]}}}`)
	})
	mux.HandleFunc("/streams/v1/images.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"datatype": "image-downloads", "format": "products:1.0", "products": {"ubuntu": {
"aliases": "jam,22.04", "arch": "amd64", "os": "ubuntu", "release": "jammy", "release_title": "22.04",
"versions": {"20260101": {
"items": {"lxd_combined.tar.gz": {"ftype": "lxd_combined.tar.gz", "path": "image.tar.gz",
"size": %d, "sha256": "%x"}}}}}}}`,
			zipped.Len(), sha256.Sum256(zipped.Bytes()))
	})
	mux.HandleFunc("/image.tar.gz", func(w http.ResponseWriter, _ *http.Request) {
		downloads.Add(1)
		w.Write(zipped.Bytes())
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c, ctx := tiny(t, func(c *Config) { c.ImageServer = server.URL }), within(t)
	e := environOf(t, c)
	have, err := e.Series(ctx)
	if err != nil || have[0] != "bookworm" || !slices.Contains(have, "jammy") {
		t.Errorf("series %v (%v), want bookworm, which is there, before what can be copied", have, err)
	}
	p := params("0", "n")
	p.Series = "trixie"
	if _, err := e.StartInstance(ctx, p); !errors.Is(err, entity.Invalid) || entity.Hint(err) == "" {
		t.Errorf("got error %v for a series that the server does not have", err)
	}
	for range 2 {
		if alias, err := c.image(ctx, "jammy"); alias != "juju/jammy" || err != nil {
			t.Errorf("the image is %q (%v)", alias, err)
		}
	}
	if n := downloads.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
	c = tiny(t, nil)
	if have, err := environOf(t, c).Series(ctx); !slices.Equal(have, []string{"bookworm", "jammy"}) {
		t.Errorf("series %v (%v)", have, err)
	}
	if _, err := c.client.do(ctx, http.MethodDelete, "/1.0/images/aliases/"+url.PathEscape("juju/jammy"), nil,
		nil); err != nil {
		t.Error(err)
	}
	p.Series = "jammy"
	if _, err := environOf(t, c).StartInstance(ctx, p); !errors.Is(err, entity.Invalid) ||
		!strings.Contains(entity.Hint(err), "juju/jammy") {
		t.Errorf("got error %v for a series without an image", err)
	}
}
