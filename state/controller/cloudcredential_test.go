package controller_test

import (
	"reflect"
	"testing"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

func keyed(key string) entity.CloudCredential {
	return entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{"client-cert": "C", "client-key": key}}
}

// The cloud's credentials have names, models use them, and one that is used stays.
func TestModelsUseCredentials(t *testing.T) {
	w := newWorld(t)
	w.ok(w.ctrl.AddCloudCredential(w.ctx, "ops", keyed("K")))
	w.refused(w.ctrl.AddCloudCredential(w.ctx, "ops", keyed("L")), entity.AlreadyExists, `credential "ops" already exists`)
	w.ok(w.ctrl.SetCloudCredential(w.ctx, "dev", keyed("M")))
	names, err := w.ctrl.CloudCredentials(w.ctx)
	w.ok(err)
	if want := []string{"dev", "ops"}; !reflect.DeepEqual(names, want) {
		t.Errorf("the credentials are %v", names)
	}
	got, err := w.ctrl.CloudCredential(t.Context(), "ops")
	w.ok(err)
	if want := keyed("K"); !reflect.DeepEqual(*got, want) {
		t.Errorf("the credential is %v", got)
	}
	var doc struct {
		Attributes, Password map[string]string
	}
	w.ok(w.db().Get(t.Context(), "cloudcredentials", "#ops", &doc, "it"))
	if _, ok := doc.Attributes["client-key"]; ok || doc.Password["client-key"] != "K" {
		t.Errorf("the key is in %v", doc)
	}

	_, err = w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "none", Owner: statetest.Admin, Credential: "other"})
	w.refused(err, entity.NotFound, `cannot add model "none": credential "other" not found`)
	st, err := w.ctrl.AddModel(w.ctx, controller.AddModelParams{Name: "one", Owner: statetest.Admin, Credential: "ops"})
	w.ok(err)
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "ops"), entity.InUse, "models use it: "+statetest.Admin+"/one")
	users := func(name string) []string {
		t.Helper()
		users, err := w.ctrl.CredentialUsers(w.ctx, name)
		w.ok(err)
		return users
	}
	w.same("the users of ops", users("ops"), []string{"admin/one"})
	w.same("the users of the first credential", users(""), []string{"admin/controller", "admin/default"})
	events, err := w.ctrl.WatchModelRow(w.ctx, st.UUID())
	w.ok(err)
	<-events
	w.refused(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "other"), entity.NotFound, `credential "other" not found`)
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "dev"))
	<-events
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "dev"))
	if row, err := w.ctrl.ModelRow(w.ctx, st.UUID()); err != nil || row.Credential != "dev" {
		t.Errorf("the model is %+v, %v", row, err)
	}
	w.ok(w.ctrl.RemoveCloudCredential(w.ctx, "ops"))
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "ops"), entity.NotFound, `credential "ops" not found`)
	// A model that begins to use it while it is being removed keeps it.
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), ""))
	w.before(func() { w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "dev")) })
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "dev"), entity.InUse, "models use it: "+statetest.Admin+"/one")
	// So does what was left in the cloud by a model that is gone.
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), ""))
	w.ok(w.db().With(t.Context(), "modelleftovers", func(c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "x", "name": "gone", "owner": statetest.Admin, "credential": "dev"},
			bson.M{"_id": "y", "name": "away", "owner": statetest.Admin, "credential": "other"})
	}))
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "dev"), entity.InUse, "models use it: "+statetest.Admin+"/gone")
	w.same("the users of dev", users("dev"), []string{"admin/gone"})
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "dev"))
	w.ok(w.ctrl.SetModelCredential(w.ctx, w.st.UUID(), "dev"))
	w.same("the users of dev", users("dev"), []string{"admin/default", "admin/gone", "admin/one"})
	remains, err := w.ctrl.Remains(w.ctx)
	w.ok(err)
	if len(remains) != 2 || remains[0].Credential != "dev" || !remains[0].Leftover || !remains[0].IsRemoving() {
		t.Errorf("what remains is %v", remains)
	}
	// A model that is being removed gets no other.
	w.before(func() { w.beginRemoval(w.st) })
	w.refused(w.ctrl.SetModelCredential(w.ctx, w.st.UUID(), ""), entity.NotFound, "not found")
}

// A credential is replaced whole. The first one is that of the controller's processes until a document replaces it.
func TestCredentialsAreReplaced(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"", "ops"} {
		got, err := w.ctrl.CloudCredential(w.ctx, name)
		if name == "" {
			w.ok(err)
		} else {
			w.refused(err, entity.NotFound, `credential "ops" not found`)
		}
		if got != nil {
			t.Errorf("there is a credential %q: %v", name, got)
		}
		other := entity.CloudCredential{AuthType: "userpass", Attributes: map[string]string{"user": "u", "password": "P"}}
		for _, want := range []entity.CloudCredential{keyed("K"), keyed("L"), other, other} {
			w.ok(w.ctrl.SetCloudCredential(w.ctx, name, want))
			got, err := w.ctrl.CloudCredential(w.ctx, name)
			w.ok(err)
			w.same("the credential", *got, want)
		}
	}
	names, err := w.ctrl.CloudCredentials(w.ctx)
	w.ok(err)
	w.same("the names", names, []string{"ops"})
	// One that is removed meanwhile is added, and one that is set meanwhile does not stay as it was.
	w.before(func() { w.ok(w.ctrl.RemoveCloudCredential(w.ctx, "ops")) })
	w.ok(w.ctrl.SetCloudCredential(w.ctx, "ops", keyed("M")))
	got, err := w.ctrl.CloudCredential(w.ctx, "ops")
	w.ok(err)
	w.same("the credential", *got, keyed("M"))
}
