package client

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"juju/apiserver/params"
	"juju/state/entity"
)

// plansAsked returns the calls of which the server was asked for the plan, and how often it was asked for something else.
func (f *fakeServer) plansAsked(t *testing.T) (calls []params.PlannedCall, others []string) {
	t.Helper()
	for _, request := range f.requests {
		text, ok := strings.CutPrefix(request, "Plans 1 DryRun ")
		if !ok {
			others = append(others, request)
			continue
		}
		var call params.PlannedCall
		if err := json.Unmarshal([]byte(text), &call); err != nil {
			t.Fatal(err)
		}
		calls = append(append(calls, call), call.Then...)
	}
	f.requests = nil
	return calls, others
}

// With PlanOnly, changes are planned: alone, or those that are kept together. What only reads is asked for; what can't be
// planned is refused.
func TestPlans(t *testing.T) {
	t.Parallel()
	f := &fakeServer{replies: map[string]string{"DryRun": `{"token":"t"}`, "Leader": `{"result":"web/0"}`}}
	c := f.dial(t)
	ctx := t.Context()
	if c.Planned() != nil {
		t.Error("there is a plan already")
	}
	c.PlanOnly()
	if leader, err := c.Leader(ctx, "web"); err != nil || leader != "web/0" {
		t.Errorf("%q, %v", leader, err)
	}
	if err := c.EnableUser(ctx, "bob"); !errors.Is(err, entity.NotSupported) || !strings.Contains(entity.Hint(err), "UserManager.EnableUser") {
		t.Errorf("what can't be planned: %v (%s)", err, entity.Hint(err))
	}
	f.requests = nil
	for range 2 { // the second plan does not have the first change
		if err := c.ReloadSpaces(ctx); err != ErrPlanned || c.Planned() == nil || c.Planned().Token != "t" {
			t.Errorf("%v, plan %+v", err, c.Planned())
		}
		if calls, others := f.plansAsked(t); len(calls) != 1 || calls[0].Facade != "Spaces" || calls[0].Version != 6 || calls[0].Method != "ReloadSpaces" || others != nil {
			t.Errorf("asked for a plan of %+v, and %q", calls, others)
		}
	}
	// An upload to a service is a change by itself.
	if err := c.UploadResource(ctx, "web", "data", "", strings.NewReader("x")); err != ErrPlanned {
		t.Error(err)
	}
	const sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" // of "x"
	if calls, _ := f.plansAsked(t); len(calls) != 1 || *calls[0].Resource != (params.PlannedResource{Application: "web", Name: "data", SHA256: sum}) {
		t.Errorf("asked for a plan of %+v", calls)
	}
	f.failure = params.ToError(entity.Errorf(entity.NotFound, "no"))
	if err := c.ReloadSpaces(ctx); !errors.Is(err, entity.NotFound) {
		t.Errorf("a plan that is refused: %v", err)
	}
	f.failure, f.requests = nil, nil

	// A deployment: its charm, the announcement of its files, one of them, the service, and a unit on a new machine.
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"metadata.yaml", "hooks/", "hooks/install", "src/main.py", "actions/run", "dispatch", "config.yaml"} {
		head := &zip.FileHeader{Name: name}
		if head.SetMode(0o755); strings.HasSuffix(name, "/") {
			head.SetMode(fs.ModeDir | 0o755)
		}
		w, err := z.CreateHeader(head)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = w.Write([]byte("is " + name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	c.KeepForPlan()
	var urls []string
	for range 2 {
		url, err := c.UploadCharm(ctx, bytes.NewReader(archive.Bytes()), "jammy")
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, url)
	}
	ids, err := c.AddPendingResources(ctx, "web", urls[1], "data", "logo")
	if err != nil || ids["data"] == ids["logo"] {
		t.Errorf("uploads %q, %v", ids, err)
	}
	more, err := c.AddPendingResources(ctx, "db", urls[0], "data")
	if err != nil || slices.Contains([]string{ids["data"], ids["logo"]}, more["data"]) {
		t.Errorf("uploads %q and %q, %v", ids, more, err)
	}
	if err := c.UploadResource(ctx, "web", "data", ids["data"], strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if _, err := c.Deploy(ctx, DeployArgs{Service: "web", CharmURL: urls[1]}); err != ErrPlanned {
		t.Error(err)
	}
	machines := map[string]bool{}
	for range 2 {
		id, host := c.PlanMachine()
		machines[id], machines[host] = true, true
	}
	if _, _, err := c.AddUnits(ctx, "web", 1, nil); err != ErrPlanned {
		t.Error(err)
	}
	if err := c.PlanKept(ctx); err != ErrPlanned {
		t.Error(err)
	}
	calls, others := f.plansAsked(t)
	if len(calls) != 7 || others != nil {
		t.Fatalf("asked for a plan of %+v, and %q", calls, others)
	}
	if calls[0].CharmURL != urls[0] || calls[1].CharmURL != urls[1] || urls[0] == urls[1] || calls[0].Series != "jammy" {
		t.Errorf("the charms are %q and %q, want %q", calls[0].CharmURL, calls[1].CharmURL, urls)
	}
	if got := calls[2].Uploads; calls[2].Method != "AddPendingResources" || !slices.Equal(got, []string{ids["data"], ids["logo"]}) {
		t.Errorf("the announcement is %+v", calls[2])
	}
	if got := calls[4].Resource; *got != (params.PlannedResource{Application: "web", Name: "data", Upload: ids["data"], SHA256: sum}) {
		t.Errorf("the upload is %+v", got)
	}
	if calls[5].Method != "Deploy" || len(calls[5].Machines) != 2 || len(machines) != 4 || calls[6].Method != "AddUnits" || calls[6].Machines != nil {
		t.Errorf("machines %v; the changes are %+v", machines, calls[5:])
	}
	// Of the charm there is no more than what says what it is, and which hooks and actions it has.
	sent, err := zip.NewReader(bytes.NewReader(calls[0].Charm), int64(len(calls[0].Charm)))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, file := range sent.File {
		if file.Mode().Perm() != 0o755 || (file.UncompressedSize64 > 0) != strings.HasSuffix(file.Name, ".yaml") {
			t.Errorf("%s has mode %v, %d bytes", file.Name, file.Mode(), file.UncompressedSize64)
		}
		files = append(files, file.Name)
	}
	if got := strings.Join(files, " "); got != "metadata.yaml hooks/install actions/run dispatch config.yaml" {
		t.Errorf("the charm has %s", got)
	}
	if _, err := c.UploadCharm(ctx, strings.NewReader("no zip"), ""); err == nil || !strings.HasPrefix(err.Error(), "cannot read the charm: ") {
		t.Errorf("what is no charm: %v", err)
	}
}

// With a token, the first change is made only if the model is unchanged; those after it are not compared with the plan.
func TestChangesOfAPlan(t *testing.T) {
	t.Parallel()
	f := &fakeServer{reply: "{}"}
	c := f.dial(t)
	ctx := t.Context()
	if err := c.CheckUnchanged(ctx); err != nil || f.requests != nil {
		t.Errorf("without a token: %v, asked %q", err, f.requests)
	}
	c.OnlyIfUnchanged("token")
	f.failure = params.ToError(entity.Errorf(entity.Moved, "it has changed"))
	if err := c.ReloadSpaces(ctx); !errors.Is(err, entity.Moved) {
		t.Errorf("in another state: %v", err)
	}
	f.failure, f.requests = nil, nil
	if err := c.CheckUnchanged(ctx); err != nil {
		t.Error(err)
	}
	if calls, _ := f.plansAsked(t); len(calls) != 1 || calls[0].Token != "token" || calls[0].Method != "" {
		t.Errorf("asked %+v", calls)
	}
	for range 2 {
		if err := c.ReloadSpaces(ctx); err != nil {
			t.Error(err)
		}
	}
	if _, asked := f.plansAsked(t); len(asked) != 2 || !strings.HasPrefix(asked[0], `Plans 1 IfUnchanged {"facade":"Spaces","version":6,"method":"ReloadSpaces"`) ||
		!strings.Contains(asked[0], `"token":"token"`) || !strings.HasPrefix(asked[1], "Spaces 6 ReloadSpaces") {
		t.Errorf("asked %q", asked)
	}
}
