package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/simulationtest"
	"juju/state/statetest"
)

// A hiddenDoc is a document of secrets, of any kind.
type hiddenDoc struct {
	ID         string                            `bson:"_id"`
	Kind       string                            `bson:"kind"`
	Token      string                            `bson:"token"`
	Owner      string                            `bson:"owner"`
	Label      string                            `bson:"label"`
	Rotate     entity.RotatePolicy               `bson:"rotate"`
	NextRotate time.Time                         `bson:"nextrotate"`
	RotateDue  int                               `bson:"rotatedue"`
	AutoPrune  bool                              `bson:"autoprune"`
	Latest     int                               `bson:"latest"`
	Checksum   string                            `bson:"checksum"`
	Revisions  map[string]modeldb.SecretRevision `bson:"revisions"`
	Secret     string                            `bson:"secret"`
	OwnerToken string                            `bson:"ownertoken"`
	Subject    string                            `bson:"subject"`
	Scope      string                            `bson:"scope"`
	ScopeToken string                            `bson:"scopetoken"`
	Unit       string                            `bson:"unit"`
	Tracked    int                               `bson:"tracked"`
	Told       int                               `bson:"told"`
	Sealed     []byte                            `bson:"sealed"`

	sum string // of the content
}

// A hiding is a copy of the documents of secrets.
type hiding struct {
	docs    map[string]*hiddenDoc
	facts   map[string]string // nil if they are to be told again
	changed bool
}

func newHiding() hiding { return hiding{docs: map[string]*hiddenDoc{}} }

// find reads the documents of secrets that match.
func (h *hiding) find(ctx context.Context, st *state.State, query any) error {
	var docs []hiddenDoc
	err := st.Write(ctx, modeldb.SecretsC, func(c *mgo.Collection) error { return c.Find(query).All(&docs) })
	if err != nil {
		return err
	}
	h.facts, h.changed = nil, true
	for i := range docs {
		d := &docs[i]
		if d.Kind == modeldb.KindContent {
			if d.sum, err = opened(st, d); err != nil {
				return err
			}
		}
		h.docs[d.ID] = d
	}
	return nil
}

// opened returns the checksum of a revision's content.
func opened(st *state.State, d *hiddenDoc) (string, error) {
	text, err := statetest.SecretKey.Open(st.UUID()+"/"+d.ID, d.Sealed)
	var content entity.SecretContent
	if err == nil {
		err = json.Unmarshal(text, (*map[string]string)(&content))
	}
	return content.Checksum(), err
}

// refresh reads what was touched, and what the cleaner might have deleted without a transaction.
func (h *hiding) refresh(ctx context.Context, st *state.State, touched map[string]bool, cleaned bool) error {
	if err := h.again(ctx, st, touched); err != nil || !cleaned {
		return err
	}
	ended := map[string]bool{}
	for id, d := range h.docs {
		if !h.stands(d) {
			ended[id] = true
		}
	}
	return h.again(ctx, st, ended)
}

// again reads documents anew.
func (h *hiding) again(ctx context.Context, st *state.State, ids map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	for id := range ids {
		delete(h.docs, id)
	}
	return h.find(ctx, st, bson.M{"_id": bson.M{"$in": slices.Collect(maps.Keys(ids))}})
}

// stale names the documents that differ from those that were read anew.
func (h *hiding) stale(fresh *hiding) (ids []string) {
	for id := range maps.Keys(h.docs) {
		if fresh.docs[id] == nil {
			ids = append(ids, "secrets "+id+" is gone")
		}
	}
	for id, d := range fresh.docs {
		if old := h.docs[id]; old == nil || fmt.Sprintf("%+v", *old) != fmt.Sprintf("%+v", *d) {
			ids = append(ids, "secrets "+id)
		}
	}
	return ids
}

// is reports whether a party is there, with a token.
func (h *hiding) is(key, token string) bool { return h.docs[key] != nil && h.docs[key].Token == token }

// secret returns a secret, unless it has ended.
func (h *hiding) secret(id string) *hiddenDoc {
	if d := h.docs[id]; d != nil && d.Kind == modeldb.KindSecret && h.is(d.Owner, d.Token) {
		return d
	}
	return nil
}

// stands reports whether a document is of something that has not ended.
func (h *hiding) stands(d *hiddenDoc) bool {
	switch d.Kind {
	case modeldb.KindParty:
		return true
	case modeldb.KindSecret:
		return h.secret(d.ID) != nil
	}
	of := h.secret(d.Secret)
	switch {
	case of == nil:
		return false
	case d.Kind == modeldb.KindContent:
		_, n, _ := strings.Cut(d.ID, "/")
		_, there := of.Revisions[n]
		return there
	case d.Kind == modeldb.KindGrant:
		return d.OwnerToken == of.Token && (d.Token == "" || h.is(d.Subject, d.Token)) && h.is(d.Scope, d.ScopeToken)
	}
	return d.OwnerToken == of.Token && h.is(modeldb.UnitKey(d.Unit), d.Token)
}

// secrets returns the secrets that there are. Their owners are in m.
func (h *hiding) secrets(m *simulationtest.Model) map[string]*simulationtest.Secret {
	all := map[string]*simulationtest.Secret{}
	for id, d := range h.docs {
		if h.secret(id) == nil {
			continue
		}
		x := &simulationtest.Secret{ID: id, Label: d.Label, Latest: d.Latest, Prunes: d.AutoPrune, Rotate: d.Rotate, NextRotate: d.NextRotate,
			Rotating: d.RotateDue, Revisions: map[int]*simulationtest.Revision{}, Granted: map[string]*simulationtest.Relation{}}
		switch tag := modeldb.PartyTag(d.Owner, ""); tag.Kind {
		case entity.KindUnit:
			x.Unit = m.Units[tag.ID]
		case entity.KindService:
			x.Service = m.Services[tag.ID]
		}
		for n, r := range d.Revisions {
			number, _ := strconv.Atoi(n)
			revision := &simulationtest.Revision{Expire: r.Expire, Retry: r.Retry, Expired: r.Due, Told: r.Told}
			if content := h.docs[id+"/"+n]; content != nil {
				revision.Sum = content.sum
			}
			x.Revisions[number] = revision
		}
		all[id] = x
	}
	for _, g := range h.docs {
		if g.Kind == modeldb.KindGrant && h.stands(g) {
			var while *simulationtest.Relation
			if n, ok := strings.CutPrefix(g.Scope, "r#"); ok {
				number, _ := strconv.Atoi(n)
				while = m.Relations[number]
			}
			all[g.Secret].Granted[modeldb.PartyTag(g.Subject, "").ID] = while
		}
	}
	return all
}

// bare returns a model with the names of what secrets refer to.
func (h *hiding) bare() *simulationtest.Model {
	m := simulationtest.New()
	for key, d := range h.docs {
		if d.Kind != modeldb.KindParty || key == modeldb.ModelKey {
			continue
		}
		if n, ok := strings.CutPrefix(key, "r#"); ok {
			id, _ := strconv.Atoi(n)
			m.Relations[id] = &simulationtest.Relation{ID: id}
			continue
		}
		switch tag := modeldb.PartyTag(key, ""); tag.Kind {
		case entity.KindUnit:
			m.Units[tag.ID] = &simulationtest.Unit{Name: tag.ID}
		case entity.KindService:
			m.Services[tag.ID] = &simulationtest.Service{Name: tag.ID}
		}
	}
	return m
}

// reader returns what a unit reads of a secret.
func (d *hiddenDoc) reader(u *simulationtest.Unit) *simulationtest.Reader {
	return &simulationtest.Reader{Unit: u, Secret: d.Secret, Label: d.Label, Tracked: d.Tracked, Latest: d.Latest, Told: d.Told}
}

// tell adds a line for each secret, and for each unit that reads one.
func (h *hiding) tell(facts map[string]string) {
	if h.facts == nil {
		h.facts = map[string]string{}
		for id, x := range h.secrets(h.bare()) {
			h.facts["x#"+id] = simulationtest.SecretFact(x, func(n int) (int, bool) {
				r := h.docs[id].Revisions[strconv.Itoa(n)]
				return r.Readers, r.Obsolete
			})
		}
		for _, d := range h.docs {
			if d.Kind == modeldb.KindConsumer {
				r := d.reader(&simulationtest.Unit{Name: d.Unit})
				h.facts[r.Key()] = r.Fact()
			}
		}
	}
	maps.Copy(facts, h.facts)
}

// hidden checks that all documents of secrets are of something that is there, or that the cleaner will delete them.
func (c *checker) hidden() {
	owed := map[string]bool{}
	for _, d := range c.docs["cleanups"] {
		owed[d.Kind+" "+d.Arg] = true
	}
	for id, d := range c.hiding.docs {
		switch {
		case d.Kind == modeldb.KindParty:
			if !c.isThere(id) {
				c.complain("%s is gone, but not what it has of secrets", id)
			}
		case !c.hiding.stands(d) && !c.isOwed(owed, d):
			c.complain("%s %s is left over", d.Kind, id)
		case d.Kind == modeldb.KindSecret && d.Checksum != c.hiding.checksum(d):
			c.complain("secret %s has the wrong checksum", id)
		}
	}
}

// checksum returns the checksum of the latest revision; "" if it was removed.
func (h *hiding) checksum(d *hiddenDoc) string {
	if content := h.docs[modeldb.SecretContentID(d.ID, d.Latest)]; content != nil {
		return content.sum
	}
	return ""
}

// isThere reports whether the entity of a party is there.
func (c *checker) isThere(key string) bool {
	kind, name, _ := strings.Cut(key, "#")
	switch kind {
	case "u":
		return c.docs["units"][name] != nil
	case "s":
		return c.docs["services"][name] != nil
	case "r":
		n, _ := strconv.Atoi(name)
		return c.relation(n) != nil
	}
	return key == modeldb.ModelKey
}

// isOwed reports whether the cleaner will delete a document of secrets.
func (c *checker) isOwed(owed map[string]bool, d *hiddenDoc) bool {
	return owed["secret "+d.Secret] || owed["grants "+d.Scope] || owed["party "+d.Token] || owed["party "+d.OwnerToken] ||
		c.hiding.docs[d.Secret] != nil && owed["party "+c.hiding.docs[d.Secret].Token]
}

// adoptSecrets sets the secrets of a model to those that state holds, and their readers, of which the cleaner might still
// have to remove some.
func (s *sim) adoptSecrets(m *simulationtest.Model) {
	h := &s.shadow.hiding
	m.Secrets = h.secrets(m)
	for _, d := range h.docs {
		if d.Kind != modeldb.KindConsumer {
			continue
		}
		u := m.Units[d.Unit]
		if u == nil {
			u = &simulationtest.Unit{Name: d.Unit, Life: simulationtest.Life{Life: entity.Gone}}
		}
		if m.AddReader(d.reader(u)); m.Secrets[d.Secret] == nil {
			m.Linger(d.Secret)
		}
	}
}

// onlyUsers checks that no secrets are left but those of the model.
func (h *hiding) onlyUsers() (n int, err error) {
	for id, d := range h.docs {
		owner := d
		if d.Kind == modeldb.KindContent {
			owner = h.docs[d.Secret]
		}
		if id != modeldb.ModelKey && (owner == nil || owner.Owner != modeldb.ModelKey) {
			return 0, fmt.Errorf("%s %s is left", d.Kind, id)
		}
	}
	return len(h.docs), nil
}
