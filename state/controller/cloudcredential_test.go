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
	w.refused(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "other"), entity.NotFound, `credential "other" not found`)
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "dev"))
	w.ok(w.ctrl.RemoveCloudCredential(w.ctx, "ops"))
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "ops"), entity.NotFound, `credential "ops" not found`)
	// A model that begins to use it while it is being removed keeps it.
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), ""))
	w.before(func() { w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), "dev")) })
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "dev"), entity.InUse, "models use it: "+statetest.Admin+"/one")
	// So does what was left in the cloud by a model that is gone.
	w.ok(w.ctrl.SetModelCredential(w.ctx, st.UUID(), ""))
	w.ok(w.db().With(t.Context(), "modelleftovers", func(c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": "x", "name": "gone", "owner": statetest.Admin, "credential": "dev"})
	}))
	w.refused(w.ctrl.RemoveCloudCredential(w.ctx, "dev"), entity.InUse, "models use it: "+statetest.Admin+"/gone")
	remains, err := w.ctrl.Remains(w.ctx)
	w.ok(err)
	if len(remains) != 1 || remains[0].Credential != "dev" {
		t.Errorf("what remains is %v", remains)
	}
}
