package statetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
)

// OpenController opens the controller of a store, or makes it if there is none. The caller closes it.
func OpenController(t testing.TB, store *mongo.Store, o controller.Options) *controller.Controller {
	t.Helper()
	o.PasswordCost = PasswordCost
	OK(t, controller.Initialize(t.Context(), store, controller.InitParams{
		Name: "test", Cloud: "dummy", Series: "jammy", User: Admin, Password: Password}, o))
	return ReopenController(t, store, o)
}

// ReopenController opens a controller that is there, as another process would. The caller closes it.
func ReopenController(t testing.TB, store *mongo.Store, o controller.Options) *controller.Controller {
	t.Helper()
	o.PasswordCost = PasswordCost
	if o.SecretKey == nil {
		o.SecretKey = SecretKey
	}
	c, err := controller.Open(t.Context(), store, o)
	OK(t, err)
	return c
}

// NoStore is the URL of a charm store that no test reaches.
const NoStore = "http://127.0.0.1:1"

// NamedModel describes a model of Admin with a name.
func NamedModel(name string) controller.AddModelParams {
	return controller.AddModelParams{Name: name, Owner: Admin, Series: "jammy", Config: map[string]string{modelconfig.CharmhubURL: NoStore}}
}

// AddModel adds a model with a name.
func AddModel(t testing.TB, c *controller.Controller, name string) *state.State {
	t.Helper()
	st, err := c.AddModel(t.Context(), NamedModel(name))
	OK(t, err)
	return st
}

// BeginRemoval takes an empty model to the start of its removal.
func BeginRemoval(t testing.TB, c *controller.Controller, st *state.State) {
	t.Helper()
	OK(t, st.Destroy(t.Context(), entity.Destruction{}))
	OK(t, st.EnsureDead(t.Context()))
	OK(t, c.RemoveModel(t.Context(), st.UUID()))
}

// ResumeModels resumes, one by one, all models that are not completely created or removed, as a controller
// does. It returns how many remain unfinished, not counting leftovers.
func ResumeModels(
	ctx context.Context, c *controller.Controller, outside func(context.Context, controller.ModelRow) error,
) (left int, err error) {
	all, err := c.Remains(ctx)
	for _, r := range all {
		done, _ := c.ResumeModel(ctx, r, outside) // after a failure, done is false
		if !done && !r.Leftover {
			left++
		}
	}
	return left, err
}

// Nowhere removes a model's resources outside the store, where tests have nothing.
func Nowhere(context.Context, controller.ModelRow) error { return nil }

// CheckResumed checks that no model is left half added or half removed.
func CheckResumed(t testing.TB, c *controller.Controller) {
	t.Helper()
	left, err := ResumeModels(t.Context(), c, Nowhere)
	OK(t, err)
	if left > 0 {
		t.Errorf("%d models are left half done", left)
	}
}

// CheckModels checks that a store holds what the complete models of its controller need, and nothing else.
func CheckModels(t testing.TB, c *controller.Controller, store *mongo.Store) {
	t.Helper()
	ctx := t.Context()
	rows, err := c.Models(ctx)
	OK(t, err)
	want := map[string][]string{"databases": {controller.DB}}
	for _, row := range rows {
		if row.IsRemoving() {
			t.Errorf("model %q is still being removed", row.Name)
		}
		want["databases"] = append(want["databases"], row.UUID)
		want["names"] = append(want["names"], row.Name)
		st, err := c.Model(ctx, row.UUID)
		OK(t, err)
		dump, err := st.Dump(ctx)
		OK(t, err)
		for _, doc := range dump["charms"] {
			archive, _, err := st.Charms().Archive(ctx, field(t, doc, "_id"))
			OK(t, err)
			OK(t, archive.Close())
			want["archives"] = append(want["archives"], field(t, doc, "sha256"))
		}
	}
	got := map[string][]string{}
	got["databases"], err = store.Databases(ctx)
	OK(t, err)
	all, err := TakeSnapshot(ctx, store)
	OK(t, err)
	got["names"] = all.Values(t, "modelnames", "name")
	got["archives"] = all.Values(t, "blobs", "_id")
	for k := range got {
		for _, m := range []map[string][]string{got, want} {
			slices.Sort(m[k])
			m[k] = slices.Compact(m[k])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the store does not hold what it should: %s", diff)
	}
	if names, files := all.Values(t, "blobs", "file"), all.Values(t, "charms.files", "filename"); !slices.Equal(names, files) {
		t.Errorf("got files %v for archives %v", files, names)
	}
	if left := all.Values(t, "oldfiles", "_id"); len(left) > 0 {
		t.Errorf("unreferenced files are left: %v", left)
	}
}

// field returns a field of a dumped document.
func field(t testing.TB, raw json.RawMessage, name string) string {
	t.Helper()
	doc := map[string]any{}
	OK(t, json.Unmarshal(raw, &doc))
	return fmt.Sprint(doc[name])
}
