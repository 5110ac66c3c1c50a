package charmstore

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/charm/charmhub"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// packed returns a .charm with a manifest of bases, SYSTEM@RELEASE/ARCHITECTURE; with none, a charm without a manifest.
func packed(t testing.TB, name, marker string, bases ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(file, text string) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: file, ExternalAttrs: 0o755 << 16})
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("metadata.yaml", fmt.Sprintf("name: %s\nsummary: The %s charm\ndescription: d\nprovides: {site: {interface: http}}\n"+
		"resources: {page: {type: file, filename: page.html}}\n# %s\n", name, name, marker))
	if len(bases) > 0 {
		manifest := "bases:\n"
		for _, b := range bases {
			system, arch, _ := strings.Cut(b, "/")
			of, release, _ := strings.Cut(system, "@")
			manifest += fmt.Sprintf("- {name: %s, channel: %q, architectures: [%s]}\n", of, release, arch)
		}
		add("manifest.yaml", manifest)
	}
	add("hooks/install", "#!/bin/sh\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const jammy, noble = "ubuntu@22.04/amd64", "ubuntu@24.04/amd64"

// A fixture is a store with its server and a client.
type fixture struct {
	testing.TB
	dir    *Directory
	client *charmhub.Client
	url    string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{TB: t, dir: dir}
	server := httptest.NewServer(unstalled{NewServer(dir, "")})
	t.Cleanup(server.Close)
	f.url = server.URL
	if f.client, err = charmhub.New(charmhub.Options{URL: server.URL}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.client.Close)
	return f
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// publishes uploads a charm and releases it.
func (f *fixture) publishes(content []byte, channels ...string) int {
	f.Helper()
	up, err := f.dir.Upload(f.Context(), bytes.NewReader(content))
	f.ok(err)
	if len(channels) > 0 {
		f.ok(f.dir.Release(f.Context(), up.Name, up.Revision, channels, nil))
	}
	return up.Revision
}

// gets returns the revision that a client gets, and from where; or the error.
func (f *fixture) gets(name, channel, base string) string {
	f.Helper()
	c, err := charmhub.ParseChannel(channel)
	f.ok(err)
	want := charmhub.Choice{Name: name, Channel: c, Revision: -1, Base: charmhub.Base{Architecture: "amd64"}}
	if base != "" {
		system, arch, _ := strings.Cut(base, "/")
		want.Base.Name, want.Base.Channel, _ = strings.Cut(system, "@")
		want.Base.Architecture = arch
	}
	answer, err := f.client.Choose(f.Context(), charmhub.Install, want)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return text
	}
	return fmt.Sprintf("%d from %s", answer.Entity.Revision, answer.EffectiveChannel)
}

func (f *fixture) is(got, want string) {
	f.Helper()
	if got != want {
		f.Errorf("%s, want %s", got, want)
	}
}

// Who asks for a channel gets what is released there for the base, or in the next more stable channel.
func TestChannels(t *testing.T) {
	f := newFixture(t)
	f.publishes(packed(t, "web", "1", jammy), "2/stable")
	f.publishes(packed(t, "web", "2", noble, "ubuntu@24.04/arm64"), "2/stable", "2/edge")
	f.publishes(packed(t, "web", "3", jammy), "2/edge/fix")
	f.is(f.gets("web", "2/stable", jammy), "1 from 2/stable")
	f.is(f.gets("web", "2/stable", noble), "2 from 2/stable")
	f.is(f.gets("web", "2/edge", jammy), "1 from 2/stable") // edge has none for it
	f.is(f.gets("web", "2/beta", noble), "2 from 2/stable")
	f.is(f.gets("web", "2/edge/fix", jammy), "3 from 2/edge/fix")
	f.is(f.gets("web", "2/edge/fix", noble), "2 from 2/edge")
	f.is(f.gets("web", "stable", ""), "2 from 2/stable") // the track of the first release is the default
	f.is(f.gets("web", "2/stable", "ubuntu@24.04/arm64"), "2 from 2/stable")
	f.is(f.gets("web", "2/stable", "ubuntu@22.04/arm64"), `selecting releases: charm or bundle not found for channel "2/stable", base "ubuntu@22.04"`)
	f.is(f.gets("web", "3/stable", ""), `selecting releases: charm or bundle not found for channel "3/stable"`)
	f.is(f.gets("nosuch", "stable", ""), `resolving error: No charm or bundle with name "nosuch" was found.`)

	f.publishes(packed(t, "web", "4", jammy), "2/stable")
	f.is(f.gets("web", "2/stable", jammy), "4 from 2/stable")
	f.is(f.gets("web", "2/stable", noble), "2 from 2/stable")
	f.ok(f.dir.Shut(t.Context(), "web", "2/stable"))
	f.is(f.gets("web", "2/stable", jammy), `selecting releases: charm or bundle not found for channel "2/stable", base "ubuntu@22.04"`)
	f.is(f.gets("web", "2/edge", noble), "2 from 2/edge")
	if err := f.dir.Shut(t.Context(), "web", "2/stable"); !entity.IsNotFound(err) {
		t.Errorf("closed twice: %v", err)
	}

	f.publishes(packed(t, "old", "1"), "stable") // it says nothing of bases, and so runs on all
	f.is(f.gets("old", "stable", noble), "1 from stable")
	f.is(f.gets("old", "edge", ""), "1 from stable")
}

// What a controller has installed is told what is newer in its channel.
func TestRefresh(t *testing.T) {
	f := newFixture(t)
	f.publishes(packed(t, "web", "1", jammy), "stable")
	info, err := f.client.Info(t.Context(), "web", "")
	f.ok(err)
	f.publishes(packed(t, "web", "2", jammy), "stable")
	answers, err := f.client.Refresh(t.Context(), charmhub.RefreshRequest{
		Context: []charmhub.Context{{InstanceKey: "a", ID: info.ID, Revision: 1, TrackingChannel: "stable", Base: charmhub.Base{Name: "ubuntu", Channel: "22.04", Architecture: "amd64"}},
			{InstanceKey: "b", ID: "gone", Revision: 1, TrackingChannel: "stable"}},
		Actions: []charmhub.Action{{Action: charmhub.Refresh, InstanceKey: "b", ID: "gone"}, {Action: charmhub.Refresh, InstanceKey: "a", ID: info.ID}},
	})
	f.ok(err)
	if answers[0].Error == nil || answers[0].Error.Code != charmhub.CodeIDNotFound || answers[1].Entity == nil || answers[1].Entity.Revision != 2 {
		t.Errorf("%+v", answers)
	}
	for want, q := range map[string]charmhub.RefreshRequest{
		"an action has no instance-key":       {Actions: []charmhub.Action{{Action: charmhub.Install}}},
		"two actions have the instance-key x": {Actions: []charmhub.Action{{Action: charmhub.Install, InstanceKey: "x", Name: "web"}, {InstanceKey: "x"}}},
	} {
		if _, err := f.client.Refresh(t.Context(), q); err == nil || !strings.Contains(err.Error(), want[:15]) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// A charm is found by its name and summary, its publisher and its interfaces; info has each channel with each base.
func TestInfoAndFind(t *testing.T) {
	f := newFixture(t)
	f.publishes(packed(t, "web", "1", jammy, noble), "2/stable", "2/edge")
	f.publishes(packed(t, "webcache", "1", jammy), "stable")
	f.publishes(packed(t, "other", "1", jammy)) // not released
	names := func(q charmhub.Query) string {
		t.Helper()
		all, err := f.client.Find(t.Context(), q)
		f.ok(err)
		var names []string
		for _, one := range all {
			names = append(names, one.Name)
		}
		return strings.Join(names, " ")
	}
	f.is(names(charmhub.Query{}), "web webcache")
	f.is(names(charmhub.Query{Text: "webcache"}), "webcache")
	f.is(names(charmhub.Query{Text: "CACHE CHARM"}), "webcache")
	f.is(names(charmhub.Query{Text: "x", Provides: "http"}), "")
	f.is(names(charmhub.Query{Text: "web", Provides: "http", Channel: "2/edge"}), "web")
	f.is(names(charmhub.Query{Text: "web", Type: "bundle"}), "")
	f.is(names(charmhub.Query{Text: "web", Publisher: "acme"}), "")
	info, err := f.client.Info(t.Context(), "web", "")
	f.ok(err)
	var all []string
	for _, r := range info.ChannelMap {
		all = append(all, r.Channel.Name+" "+r.Channel.Base.String())
	}
	if want := []string{"2/stable ubuntu@22.04", "2/stable ubuntu@24.04", "2/edge ubuntu@22.04", "2/edge ubuntu@24.04"}; !slices.Equal(all, want) {
		t.Errorf("the channels are %q", all)
	}
	if len(info.ID) != 32 || !strings.Contains(info.DefaultRelease.Revision.MetadataYAML, "name: web") || info.DefaultRelease.Channel.Name != "2/stable" {
		t.Errorf("%+v", info)
	}
	if info, err = f.client.Info(t.Context(), "web", "2/edge"); err != nil || len(info.ChannelMap) != 2 {
		t.Errorf("in a channel: %+v, %v", info, err)
	}
	if _, err := f.client.Info(t.Context(), "nosuch", ""); !entity.IsNotFound(err) {
		t.Errorf("of none: %v", err)
	}
}

// A release has the resources that were the newest when it was made, or those that were named, and what is downloaded has the
// hashes that were promised.
func TestResources(t *testing.T) {
	f := newFixture(t)
	f.publishes(packed(t, "web", "1", jammy))
	upload := func(content string) took {
		up, err := f.dir.UploadResource(t.Context(), "web", "page", strings.NewReader(content))
		f.ok(err)
		return took{up.Revision, up.Had}
	}
	if a, b, again := upload("one"), upload("two"), upload("one"); a != (took{1, false}) || b != (took{2, false}) || again != (took{1, true}) {
		t.Errorf("the revisions are %v, %v, %v", a, b, again)
	}
	f.ok(f.dir.Release(t.Context(), "web", 1, []string{"stable"}, nil))
	f.ok(f.dir.Release(t.Context(), "web", 1, []string{"edge"}, map[string]int{"page": 1}))
	for channel, want := range map[string]string{"stable": "two", "edge": "one"} {
		c, _ := charmhub.ParseChannel(channel)
		answer, err := f.client.Choose(t.Context(), charmhub.Download, charmhub.Choice{Name: "web", Channel: c, Revision: -1, Base: charmhub.Base{Architecture: "amd64"}})
		f.ok(err)
		f.is(f.fetched(answer.Entity.Resources[0].Download), want)
		f.fetched(answer.Entity.Download)
	}
	all, err := f.client.Resources(t.Context(), "web", "page")
	f.ok(err)
	if len(all) != 2 || all[0].Revision != 2 || all[0].Filename != "page.html" || all[0].Download.HashSHA384 == "" {
		t.Errorf("%+v", all)
	}
	answer, err := f.client.Choose(t.Context(), charmhub.Download, charmhub.Choice{Name: "web", Revision: 1, Resources: map[string]int{"page": 1}})
	f.ok(err)
	if len(answer.Entity.Resources) != 1 || answer.Entity.Resources[0].Revision != 1 || answer.EffectiveChannel != "" {
		t.Errorf("by revision: %+v", answer)
	}
	for _, err := range []error{f.dir.Release(t.Context(), "web", 1, []string{"stable"}, map[string]int{"page": 9}),
		f.dir.Release(t.Context(), "web", 9, []string{"stable"}, nil)} {
		if !entity.IsNotFound(err) {
			t.Errorf("what is not there is released: %v", err)
		}
	}
	if _, err := f.dir.UploadResource(t.Context(), "web", "nosuch", strings.NewReader("x")); !entity.IsNotFound(err) {
		t.Errorf("a resource that is not declared: %v", err)
	}
	if _, err := f.client.Resources(t.Context(), "web", "nosuch"); !entity.IsNotFound(err) {
		t.Errorf("of none: %v", err)
	}
}

type took struct {
	revision int
	had      bool
}

func (f *fixture) fetched(of charmhub.File) string {
	f.Helper()
	path := filepath.Join(f.TempDir(), "file")
	w, err := os.Create(path)
	f.ok(err)
	defer w.Close()
	f.ok(f.client.Fetch(f.Context(), of, w, 1<<20, nil))
	text, err := os.ReadFile(path)
	f.ok(err)
	return string(text)
}

// Uploads at the same time get revisions of their own, the same content the same one, and what is no charm leaves nothing.
func TestUploads(t *testing.T) {
	f := newFixture(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	revisions := map[int]int{}
	for i := range 12 {
		content := packed(t, "web", fmt.Sprint(i/2), jammy)
		wg.Go(func() {
			up, err := f.dir.Upload(t.Context(), bytes.NewReader(content))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			revisions[up.Revision]++
		})
	}
	wg.Wait()
	for n := 1; n <= 6; n++ {
		if revisions[n] != 2 {
			t.Errorf("the revisions are %v", revisions)
		}
	}
	for _, bad := range [][]byte{nil, []byte("no zip"), packed(t, "no name", "1")} {
		if _, err := f.dir.Upload(t.Context(), bytes.NewReader(bad)); err == nil {
			t.Errorf("%.20q is taken", bad)
		}
	}
	files, err := filepath.Glob(filepath.Join(f.dir.path, "[a-z]*"))
	f.ok(err)
	drafts, err := os.ReadDir(filepath.Join(f.dir.path, draftsDir))
	f.ok(err)
	if len(files) != 1 || len(drafts) != 0 {
		t.Errorf("left are %q, %v", files, drafts)
	}
}

// What an upload that was cut off has left is removed by the next who opens the store, and one that goes on is not.
func TestCutOffUploads(t *testing.T) {
	f := newFixture(t)
	goes, err := f.dir.draft()
	f.ok(err)
	defer goes.drop()
	cut := filepath.Join(f.dir.path, draftsDir, "cut")
	f.ok(os.WriteFile(cut, []byte("half"), 0o600))
	_, err = Open(f.dir.path)
	f.ok(err)
	if _, err := os.Stat(cut); err == nil {
		t.Error("half a file is left")
	}
	if _, err := os.Stat(goes.Name()); err != nil {
		t.Errorf("an upload that goes on: %v", err)
	}
}

// People may put charms into the directory, and write its releases.
func TestFilesThatPeoplePut(t *testing.T) {
	f := newFixture(t)
	f.ok(os.Mkdir(f.dir.folder("web"), 0o755))
	f.is(f.gets("web", "stable", ""), `resolving error: No charm or bundle with name "web" was found.`)
	f.ok(os.WriteFile(f.dir.charmPath("web", 7), packed(t, "web", "1", jammy), 0o644))
	f.ok(os.WriteFile(filepath.Join(f.dir.folder("web"), recordFile), []byte("publisher: Acme\nreleases:\n- {channel: stable, revision: 7}\n"), 0o644))
	f.is(f.gets("web", "stable", ""), "7 from stable")
	info, err := f.client.Info(t.Context(), "web", "")
	f.ok(err)
	if info.Result.Publisher["display-name"] != "Acme" || len(info.ID) != 32 {
		t.Errorf("%+v", info)
	}
	again, err := f.client.Info(t.Context(), "web", "")
	if err != nil || again.ID != info.ID {
		t.Errorf("it has another id: %v", err)
	}
	f.ok(os.WriteFile(f.dir.charmPath("web", 8), []byte("damaged"), 0o644))
	f.is(f.gets("web", "stable", ""), "7 from stable")
	f.ok(os.Remove(f.dir.charmPath("web", 7)))
	f.is(f.gets("web", "stable", ""), `resolving error: No charm or bundle with name "web" was found.`)
	for _, bad := range []string{"releases: [{channel: a/b/c/d, revision: 1}]\n", "relases: []\n", "id: [\n"} {
		f.ok(os.WriteFile(filepath.Join(f.dir.folder("web"), recordFile), []byte(bad), 0o644))
		if _, err := f.dir.find(t.Context(), "web"); err == nil || entity.IsNotFound(err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Only who has a token publishes through the server, over https or on its host, until the token is removed.
func TestTokens(t *testing.T) {
	f := newFixture(t)
	token, err := f.dir.AddToken(t.Context(), "ci")
	f.ok(err)
	if _, err := f.dir.AddToken(t.Context(), "ci"); err == nil {
		t.Error("a second token has the name of the first")
	}
	content := packed(t, "web", "1", jammy)
	upload := func(token string) error {
		r, err := NewRemote(f.url, token, "")
		f.ok(err)
		if _, err = r.Upload(t.Context(), bytes.NewReader(content)); err == nil {
			err = r.Release(t.Context(), "web", 1, []string{"2/edge"}, nil)
		}
		if err == nil {
			_, err = r.UploadResource(t.Context(), "web", "page", strings.NewReader("x"))
		}
		return err
	}
	for _, other := range []string{"", "x", token + "x"} {
		if err := upload(other); err == nil {
			t.Errorf("the token %q publishes", other)
		}
	}
	f.ok(upload(token))
	f.is(f.gets("web", "2/edge", jammy), "1 from 2/edge")
	r, err := NewRemote(f.url, token, "")
	f.ok(err)
	f.ok(r.Shut(t.Context(), "web", "2/edge"))
	if err := r.Shut(t.Context(), "web", "2/edge"); err == nil || !strings.Contains(err.Error(), "no release in channel 2/edge") {
		t.Errorf("closed twice: %v", err)
	}
	from := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://store/publish/charms", bytes.NewReader(content))
	from.RemoteAddr = "192.0.2.1:1234"
	from.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	if NewServer(f.dir, "").ServeHTTP(w, from); w.Code != http.StatusForbidden {
		t.Errorf("without https from elsewhere: %d", w.Code)
	}
	f.ok(f.dir.RemoveToken(t.Context(), "ci"))
	if err := upload(token); err == nil {
		t.Error("a token that was removed publishes")
	}
	text, err := os.ReadFile(filepath.Join(f.dir.path, tokenFile))
	if err != nil || strings.Contains(string(text), token) {
		t.Errorf("the store keeps %q, %v", text, err)
	}
}

// A copy of a store has the same charms under the same revisions and ids, with their resources, and again fetches nothing.
func TestMirrors(t *testing.T) {
	f, copied := newFixture(t), newFixture(t)
	f.publishes(packed(t, "web", "0", jammy)) // not released, and so not copied
	f.publishes(packed(t, "web", "1", jammy))
	if _, err := f.dir.UploadResource(t.Context(), "web", "page", strings.NewReader("one")); err != nil {
		t.Fatal(err)
	}
	f.ok(f.dir.Release(t.Context(), "web", 2, []string{"2/stable", "2/edge"}, nil))
	f.publishes(packed(t, "web", "2", jammy, noble), "2/edge")
	mirror := func(channels ...charmhub.Channel) (did []string) {
		t.Helper()
		f.ok(copied.dir.Mirror(t.Context(), f.client, Wish{"web", channels}, func(what string) { did = append(did, what) }))
		return did
	}
	if did := mirror(charmhub.Channel{Track: "2", Risk: "stable"}); !slices.Equal(did, []string{"charm web, revision 2", "resource page of charm web, revision 1"}) {
		t.Errorf("it has copied %q", did)
	}
	if did := mirror(); !slices.Equal(did, []string{"charm web, revision 3"}) {
		t.Errorf("then it has copied %q", did)
	}
	if did := mirror(); did != nil {
		t.Errorf("again it has copied %q", did)
	}
	copied.is(copied.gets("web", "stable", jammy), "2 from 2/stable")
	copied.is(copied.gets("web", "2/edge", noble), "3 from 2/edge")
	before, err := f.client.Info(t.Context(), "web", "")
	f.ok(err)
	after, err := copied.client.Info(t.Context(), "web", "")
	f.ok(err)
	if before.ID != after.ID {
		t.Errorf("the ids are %s and %s", before.ID, after.ID)
	}
	if err := copied.dir.Mirror(t.Context(), f.client, Wish{"web", []charmhub.Channel{{Track: "9", Risk: "stable"}}}, nil); !entity.IsNotFound(err) {
		t.Errorf("a channel that is not there: %v", err)
	}
}

// A server that ends lets a download end, and its address is free again.
func TestServe(t *testing.T) {
	f := newFixture(t)
	f.publishes(packed(t, "web", "1", jammy), "stable")
	ctx, cancel := context.WithCancel(t.Context())
	l := listen(t)
	ended := make(chan error, 1)
	go func() { ended <- NewServer(f.dir, "http://elsewhere/").Serve(ctx, l, "", "") }()
	c, err := charmhub.New(charmhub.Options{URL: "http://" + l.Addr().String()})
	f.ok(err)
	defer c.Close()
	answer, err := c.Choose(t.Context(), charmhub.Install, charmhub.Choice{Name: "web", Revision: 1})
	f.ok(err)
	f.is(answer.Entity.Download.URL, "http://elsewhere/download/charm/web_r1.charm")
	c.Close()
	cancel()
	f.ok(<-ended)
	if _, err := c.Info(t.Context(), "web", ""); err == nil {
		t.Error("it still serves")
	}
}

// BenchmarkFind looks for a charm among 10,000, whose files were read before.
func BenchmarkFind(b *testing.B) {
	f := newFixture(b)
	f.publishes(packed(b, "web", "1", jammy), "stable")
	e, err := f.dir.find(b.Context(), "web")
	f.ok(err)
	content, err := os.ReadFile(f.dir.charmPath("web", 1))
	f.ok(err)
	record, err := safeyaml.Marshal(e.record, 2)
	f.ok(err)
	for i := range 10_000 {
		name := fmt.Sprintf("charm-x%d-x", i)
		f.ok(os.Mkdir(f.dir.folder(name), 0o755))
		f.ok(os.WriteFile(f.dir.charmPath(name, 1), content, 0o644))
		f.ok(os.Chtimes(f.dir.charmPath(name, 1), time.Time{}, e.Revisions[0].Modified))
		f.ok(os.WriteFile(filepath.Join(f.dir.folder(name), recordFile), record, 0o644))
	}
	f.ok(f.dir.Load(b.Context()))
	for b.Loop() {
		if all, err := f.client.Find(b.Context(), charmhub.Query{Text: "x77-"}); err != nil || len(all) != 1 {
			b.Fatal(len(all), err)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
