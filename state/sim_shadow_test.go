package state_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/simulationtest"
)

// A simDoc is a document of any collection; More holds the fields specific to
// one.
type simDoc struct {
	ID          string          `bson:"_id"`
	Life        entity.Life     `bson:"life"`
	Strength    entity.Strength `bson:"strength"`
	Deadline    time.Time       `bson:"deadline"`
	Machines    bool            `bson:"machines"`
	WithStorage bool            `bson:"withstorage"`
	ForUnits    bool            `bson:"forunits"`
	Number      int             `bson:"id"`
	Service     string          `bson:"service"`
	Machine     string          `bson:"machine"`
	Principal   string          `bson:"principal"`
	Host        string          `bson:"host"`
	Instance    string          `bson:"instance"`
	Unit        string          `bson:"unit"`
	Parent      string          `bson:"parent"`
	Relation    any             `bson:"relation"` // a number, or a key
	Started     bool            `bson:"started"`
	Clean       bool            `bson:"clean"`
	Resolved    string          `bson:"resolved"`
	Jobs        []string        `bson:"jobs"`
	Kind        string          `bson:"kind"`
	Filesystem  string          `bson:"filesystem"`
	Release     bool            `bson:"release"`
	Location    string          `bson:"location"`
	Operation   string          `bson:"operation"`
	Task        int             `bson:"number"`
	Status      string          `bson:"status"`
	Completed   time.Time       `bson:"completed"`
	Arg         string          `bson:"arg"`
	Offer       string          `bson:"offer"`  // that a relation uses
	Remote      string          `bson:"remote"` // the unit of another model in a scope
	Suspended   bool            `bson:"suspended"`
	Charm       string          `bson:"charm"`
	ForceCharm  bool            `bson:"forcecharm"`
	Rollout     modeldb.Rollout `bson:"rollout"` // its ID is "" if there is none
	Turn        modeldb.Turn    `bson:"turn"`
	Ports       []struct {
		Unit string `bson:"unit"`
	} `bson:"ports"`
	Endpoints []struct {
		Service   string `bson:"service"`
		Remote    bool   `bson:"remote"`
		Interface string `bson:"interface"`
	} `bson:"endpoints"`
	More map[string]any `bson:",inline"`
}

func (d *simDoc) life() simulationtest.Life {
	return simulationtest.Life{Life: d.Life, Strength: d.Strength, Deadline: d.Deadline, Machines: d.Machines,
		WithStorage: d.WithStorage}
}

// peers returns the interface of a peer relation; "" for any other relation.
func (d *simDoc) peers() string {
	if len(d.Endpoints) == 1 {
		return d.Endpoints[0].Interface
	}
	return ""
}

// storage returns the instance that an attachment is of.
func (d *simDoc) storage() string {
	_, id, _ := strings.Cut(d.ID, "#")
	return id
}

// simCollections lists the collections of entities, and of what must be removed
// with them.
var simCollections = []string{"machines", "units", "services", "remotes", "offers", "relations", "endpoints", "scopes", "deployments",
	"settings",
	"leaders", "storage", "attachments", "operations", "tasks", "constraints", "counts",
	"statuses", "ports", "payloads", "credentials", "cleanups", "leftovers"}

// A shadow is a copy of a model's database. After each step it reads only the
// documents that the step's operations named.
type shadow struct {
	docs   map[string]map[string]*simDoc
	hiding hiding

	mu      sync.Mutex // guards what follows: several goroutines run operations
	touched map[string]map[string]bool
	seen    int // how many transactions
}

func newShadow() *shadow {
	s := &shadow{docs: map[string]map[string]*simDoc{}, hiding: newHiding(), touched: map[string]map[string]bool{}}
	for _, c := range simCollections {
		s.docs[c] = map[string]*simDoc{}
	}
	return s
}

// see records what a transaction is about to touch.
func (s *shadow) see(ops []txn.Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	for _, op := range ops {
		if op.Insert == nil && op.Update == nil && !op.Remove {
			continue
		}
		id, _ := op.Id.(string)
		if s.touched[op.C] == nil {
			s.touched[op.C] = map[string]bool{}
		}
		s.touched[op.C][id] = true
	}
}

// refresh reads what was touched, and the settings of removed relations, which
// are deleted without transactions.
func (s *shadow) refresh(ctx context.Context, st *state.State) error {
	s.mu.Lock()
	touched := s.touched
	s.touched = map[string]map[string]bool{}
	s.mu.Unlock()
	for _, c := range simCollections {
		ids := touched[c]
		if c == "settings" { // after the relations
			ids = s.outlived(ids)
		}
		if len(ids) == 0 {
			continue
		}
		var docs []simDoc
		if err := documents(ctx, st, c, bson.M{"_id": bson.M{"$in": slices.Collect(maps.Keys(ids))}}, &docs); err != nil {
			return err
		}
		for id := range ids {
			delete(s.docs[c], id)
		}
		s.put(c, docs)
	}
	return s.hiding.refresh(ctx, st, touched[modeldb.SecretsC], len(touched["cleanups"]) > 0)
}

// outlived adds the settings of removed relations to what was touched.
func (s *shadow) outlived(touched map[string]bool) map[string]bool {
	all := map[string]bool{}
	maps.Copy(all, touched)
	for id, d := range s.docs["settings"] {
		if n, ok := d.Relation.(int); ok && s.relation(n) == nil {
			all[id] = true
		}
	}
	return all
}

// documents reads documents of a collection.
func documents(ctx context.Context, st *state.State, collection string, query any, docs *[]simDoc) error {
	return st.Write(ctx, collection, func(c *mgo.Collection) error { return c.Find(query).All(docs) })
}

func (s *shadow) put(c string, docs []simDoc) {
	for i := range docs {
		for _, field := range mongo.TxnFields { // not part of the document itself
			delete(docs[i].More, field)
		}
		s.docs[c][docs[i].ID] = &docs[i]
	}
}

// readAll reads everything again, and names the documents that differ from the
// copy.
func (s *shadow) readAll(ctx context.Context, st *state.State) (stale []string, err error) {
	fresh := newShadow()
	for _, c := range simCollections {
		var docs []simDoc
		if err := documents(ctx, st, c, nil, &docs); err != nil {
			return nil, err
		}
		fresh.put(c, docs)
		for id, d := range fresh.docs[c] {
			if old := s.docs[c][id]; old == nil || fmt.Sprintf("%+v", *old) != fmt.Sprintf("%+v", *d) {
				stale = append(stale, c+" "+id)
			}
			delete(s.docs[c], id)
		}
		for id := range s.docs[c] {
			stale = append(stale, c+" "+id+" is gone")
		}
	}
	if err := fresh.hiding.find(ctx, st, nil); err != nil {
		return nil, err
	}
	stale = append(stale, s.hiding.stale(&fresh.hiding)...)
	s.docs, s.hiding = fresh.docs, fresh.hiding
	return stale, nil
}

// relation returns the relation with an id.
func (s *shadow) relation(n int) *simDoc {
	for _, r := range s.docs["relations"] {
		if r.Number == n {
			return r
		}
	}
	return nil
}

// facts returns a line for each entity, as simulationtest.Model does.
func (s *shadow) facts() map[string]string {
	facts := map[string]string{}
	for id, m := range s.docs["machines"] {
		facts["m#"+id] = simulationtest.MachineFact(m.life(), m.Instance != "",
			slices.Contains(m.Jobs, modeldb.JobManageModel), m.Clean, m.ForUnits)
	}
	for id, d := range s.docs["services"] {
		facts["s#"+id] = simulationtest.ServiceFact(d.life(), d.Charm, d.ForceCharm, d.rolloutFact())
	}
	for id, d := range s.docs["remotes"] {
		facts["rs#"+id] = d.life().String()
	}
	for id, d := range s.docs["offers"] {
		facts["o#"+id] = fmt.Sprintf("%s of %s", d.life(), d.Service)
	}
	for id, u := range s.docs["units"] {
		facts["u#"+id] = simulationtest.UnitFact(u.life(), u.Service, u.Machine, u.Principal, u.Started, u.Resolved != "") + s.charmFact(u)
	}
	for id, d := range s.docs["storage"] {
		facts["st#"+id] = simulationtest.StorageFact(d.life(), d.Machine, d.Filesystem != "", d.Release)
	}
	for _, d := range s.docs["attachments"] {
		facts["at#"+d.Unit+":"+d.storage()] = simulationtest.AttachmentFact(d.life(), d.Location != "")
	}
	for _, d := range s.docs["tasks"] {
		facts[fmt.Sprintf("t#%d", d.Task)] = simulationtest.TaskFact(d.Operation, d.Unit, entity.TaskStatus(d.Status),
			d.Completed)
	}
	for id, d := range s.docs["leaders"] {
		if holder, _ := d.More["holder"].(string); holder != "" {
			facts["l#"+id] = holder
		}
	}
	s.hiding.tell(facts)
	in := map[int][]string{}
	for _, d := range s.docs["scopes"] {
		n, _ := d.Relation.(int)
		in[n] = append(in[n], d.Unit+d.Remote)
	}
	for key, r := range s.docs["relations"] {
		slices.Sort(in[r.Number])
		facts[fmt.Sprintf("r#%d", r.Number)] = simulationtest.RelationFact(r.life(), r.Suspended, key, r.peers(), in[r.Number])
	}
	return facts
}

// names returns the ids of a collection, sorted.
func (s *shadow) names(collection string) []string {
	return slices.Sorted(maps.Keys(s.docs[collection]))
}

// deployed returns the units that a machine or a unit deploys, by its tag.
func (s *shadow) deployed(parent string) (units []string) {
	for _, d := range s.docs["deployments"] {
		if d.Parent == parent {
			units = append(units, d.Unit)
		}
	}
	slices.Sort(units)
	return units
}

// subordinate returns the unit of a service beside a principal that is not
// known yet, or "".
func (s *shadow) subordinate(principal, service string, known func(string) bool) string {
	for name, u := range s.docs["units"] {
		if u.Principal == principal && u.Service == service && !known(name) {
			return name
		}
	}
	return ""
}

// transactions returns how many transactions were seen.
func (s *shadow) transactions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}
