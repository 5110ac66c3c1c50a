package controller

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/statetest"
)

// A service that is offered shares a secret with one that consumes the offer, in a model of the same controller or of another: that
// one's units read it, are told of new revisions, and keep those that they track.
func TestSecretsAcrossModels(t *testing.T) {
	t.Parallel()
	for where, external := range map[string]*entity.External{
		"the same controller": nil,
		"another controller": {Controller: "b2f0ac36-1a52-4b5c-9b8a-c0f2c9f3a001", Name: "far", Addresses: []string{"far:17070"}, CACert: "cert",
			ID: "0123456789abcdef", Token: "token"},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			w := newSharingWorld(t, external)
			ownerSees := func(want string) {
				w.until("the owner is told: "+want, func() bool { return w.told(w.offering, "mysql/0") == want })
			}
			readerSees := func(want string) {
				w.until("the reader is told: "+want, func() bool { return w.told(w.using, "wordpress/0") == want })
			}
			grant := entity.SecretChanges{Grant: []entity.SecretGrant{{ID: w.id, Relation: w.near.ID(), Subject: w.service}}}
			w.reads(0, "permission denied")
			w.ok(w.owner(grant))
			w.ok(w.owner(grant)) // again, as a hook that runs twice
			w.reads(0, "one in 1 of 1")
			w.tracks(1)
			w.until("the owner's model knows the reader", func() bool { return w.readers() == "[1]" })

			w.sets("two")
			readerSees("changed 2")
			w.reads(1, "one in 1 of 2")
			if events := w.told(w.offering, "mysql/0"); events != "" {
				t.Errorf("the owner is told of %s while revision 1 is read", events)
			}
			w.tracks(2)
			readerSees("")
			ownerSees("remove 1")
			w.ok(w.owner(entity.SecretChanges{Remove: []entity.SecretRemoval{{ID: w.id, Revision: 1}}}))
			w.reads(1, fmt.Sprintf("secret revision 1 of %q not found", w.id))

			// What is granted again is tracked again.
			w.ok(w.owner(entity.SecretChanges{Revoke: []entity.SecretRevocation{{ID: w.id, Subject: w.service}}}))
			w.reads(0, "permission denied")
			w.ok(w.owner(grant))
			w.until("the owner's model knows the reader again", func() bool { return w.readers() == "[2]" })
			w.sets("three")
			readerSees("changed 3")

			// While the relation is suspended, nothing is shared in it, and readers stay known.
			w.ok(w.offering.CrossModel().SuspendRelation(w.ctx, w.near.ID(), true, "pause"))
			w.reads(0, "permission denied")
			w.ok(w.offering.CrossModel().SuspendRelation(w.ctx, w.near.ID(), false, ""))
			w.reads(2, "two in 2 of 3")

			// With the relation ends what was granted in it.
			w.ok(w.far.Destroy(w.ctx, entity.Destruction{}))
			ended := func(st *state.State) bool {
				all, err := st.CrossModel().Connections(w.ctx)
				w.ok(err)
				return len(all) == 0
			}
			w.until("the relation has ended", func() bool { return ended(w.offering) && ended(w.using) }, w.offering, w.using)
			w.reads(0, fmt.Sprintf("relation %d of model %s not found", w.far.ID(), w.using.UUID()))
			w.until("revision 2 is obsolete", func() bool { return w.told(w.offering, "mysql/0") == "remove 2" }, w.offering)
			for _, st := range []*state.State{w.offering, w.using} {
				found, err := st.Check(w.ctx, false)
				w.ok(err)
				if len(found) > 0 {
					t.Errorf("%s: %v", st.Name(), found)
				}
			}
		})
	}
}

// A sharingWorld is an acrossWorld in which mysql/0 leads and has a secret.
type sharingWorld struct {
	*acrossWorld
	id, token string
	service   string          // wordpress, as mysql sees it
	near, far *state.Relation // of mysql and of wordpress
	epoch     int64
	shop      *mongo.Database // of mysql's model
}

func newSharingWorld(t *testing.T, external *entity.External) *sharingWorld {
	w := &sharingWorld{acrossWorld: emptyAcrossWorld(t), id: entity.NewSecretID()}
	w.elsewhere.Store(external != nil)
	w.offering, w.using = w.model("shop", "mysql", statetest.MySQL), w.model("blog", "wordpress", statetest.Wordpress)
	t.Cleanup(w.cancel) // before the workers are awaited
	w.ok(w.offering.CrossModel().AddOffer(w.ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := w.offering.CrossModel().Offers(w.ctx)
	w.ok(err)
	w.ok(w.using.CrossModel().Consume(w.ctx, entity.Consumed{Name: "db", Model: w.offering.UUID(), Offer: offers[0].UUID,
		User: statetest.Admin, URL: "admin/shop.hosted", Endpoints: offers[0].Endpoints, External: external}))
	_, err = w.using.AddRelation(w.ctx, "wordpress", "db")
	w.ok(err)
	w.until("both see each other", func() bool { return w.sees(w.offering, "mysql") && w.sees(w.using, "wordpress") }, w.offering, w.using)
	if external != nil {
		w.token = external.ID
	}
	w.shop = statetest.StoreOf(w.ctrl).Open(w.offering.UUID())
	t.Cleanup(func() { w.shop.Close(errors.New("the test has ended")) })
	w.near, w.far = w.relationIn(w.offering), w.relationIn(w.using)
	relations, err := w.unit(w.offering, "mysql/0").Relations(w.ctx)
	w.ok(err)
	w.service = relations[0].Remote
	w.epoch, err = w.unit(w.offering, "mysql/0").ClaimLeadership(w.ctx, 5*time.Minute)
	w.ok(err)
	w.ok(w.owner(entity.SecretChanges{Create: []entity.NewSecret{{ID: w.id, SecretSettings: entity.SecretSettings{Content: password("one")}}}}))
	return w
}

func password(text string) entity.SecretContent {
	return entity.SecretContent{"password": base64.StdEncoding.EncodeToString([]byte(text))}
}

func (w *sharingWorld) unit(st *state.State, name string) *state.Unit {
	u, err := st.Unit(w.ctx, name)
	w.ok(err)
	return u
}

// owner commits changes of a hook of mysql/0.
func (w *sharingWorld) owner(c entity.SecretChanges) error {
	c.Epoch = w.epoch
	return w.unit(w.offering, "mysql/0").CommitHook(w.ctx, entity.HookChanges{Secrets: &c})
}

func (w *sharingWorld) sets(text string) {
	w.Helper()
	w.ok(w.owner(entity.SecretChanges{Update: []entity.SecretUpdate{{ID: w.id, SecretSettings: entity.SecretSettings{Content: password(text)}}}}))
}

// tracks commits a hook of wordpress/0 that has read a revision.
func (w *sharingWorld) tracks(revision int) {
	w.Helper()
	key := entity.SecretURI{Model: w.offering.UUID(), ID: w.id}.Key(w.using.UUID())
	w.ok(w.unit(w.using, "wordpress/0").CommitHook(w.ctx, entity.HookChanges{Secrets: &entity.SecretChanges{
		Track: []entity.SecretTracking{{ID: key, Revision: revision, Label: "login"}}}}))
	r, err := w.unit(w.using, "wordpress/0").Secret(w.ctx, entity.SecretQuery{Label: "login"})
	w.ok(err)
	if r.Secret.ID != key || r.Secret.Tracked != revision || r.Secret.Content != nil {
		w.Errorf("by its label wordpress/0 reads %+v", r.Secret)
	}
}

// reads checks what wordpress's model reads of the secret.
func (w *sharingWorld) reads(revision int, want string) {
	w.Helper()
	v, err := w.offering.CrossModel().SharedSecret(w.ctx, w.using.UUID(), w.far.ID(), w.token, w.id, revision)
	got := ""
	if err != nil {
		got = err.Error()
	} else {
		text, _ := base64.StdEncoding.DecodeString(v.Content["password"])
		got = fmt.Sprintf("%s in %d of %d", text, v.Revision, v.Latest)
	}
	if got != want {
		w.Errorf("revision %d reads %q, want %q", revision, got, want)
	}
}

// readers are the revisions that mysql's model takes for tracked in the other.
func (w *sharingWorld) readers() string {
	var grant struct {
		Tracked []int `bson:"tracked"`
	}
	w.ok(w.shop.Get(w.ctx, "secrets", w.id+"#s#"+w.service, &grant, "grant"))
	return fmt.Sprint(grant.Tracked)
}

// told returns what a unit is to be told of secrets.
func (w *sharingWorld) told(st *state.State, unit string) string {
	info, err := w.unit(st, unit).Info(w.ctx)
	w.ok(err)
	text := ""
	for _, e := range info.Secrets {
		text += fmt.Sprintf("%s %d", e.Kind, e.Revision)
	}
	return text
}
