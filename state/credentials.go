package state

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/secret"
	"juju/state/watcher"
)

// agentPasswordLength is the number of random bytes in an agent's password: enough for a fast hash (see
// secret.HashRandom).
const agentPasswordLength = 24

// NewAgentPassword returns a new random password.
func NewAgentPassword() string {
	b := make([]byte, agentPasswordLength)
	if _, err := rand.Read(b); err != nil {
		panic(err) // crypto/rand.Read never fails
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// Agents are the agents of a model.
type Agents struct{ st *State }

// Agents returns the model's agents.
func (st *State) Agents() Agents { return Agents{st} }

// Check returns nil if password is the agent's and, for a provisioned machine, nonce is the machine's.
func (a Agents) Check(ctx context.Context, tag entity.Tag, password, nonce string) error {
	var doc modeldb.Credential
	if err := a.st.db.Get(ctx, modeldb.CredentialsC, tag.String(), &doc, tag.String()); entity.IsNotFound(err) {
		return secret.Refused()
	} else if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(doc.Hash), []byte(secret.HashRandom(password))) != 1 {
		return secret.Refused()
	}
	if tag.Kind != entity.KindMachine {
		return nil
	}
	m, err := a.st.Machine(ctx, tag.ID)
	if entity.IsNotFound(err) {
		return secret.Refused()
	} else if err != nil {
		return err // a rejected agent terminates
	}
	if m.doc.InstanceID == "" || m.doc.Nonce != nonce {
		// An agent that started before its instance was recorded retries. One on an abandoned instance never succeeds.
		return entity.Errorf(entity.NotProvisioned, "machine %s not provisioned", tag.ID)
	}
	return nil
}

// AgentStamp returns a stamp that changes with an agent's password and reveals nothing about it.
func AgentStamp(password string) string { return secret.Stamp(secret.HashRandom(password)) }

// Stamps returns the AgentStamps of the current passwords of agents, of those that have one.
func (a Agents) Stamps(ctx context.Context, tags []entity.Tag) (map[entity.Tag]string, error) {
	ids := make([]string, len(tags))
	for i, tag := range tags {
		ids[i] = tag.String()
	}
	var docs []modeldb.Credential
	if err := a.st.db.All(ctx, modeldb.CredentialsC, bson.D{{"_id", bson.D{{"$in", ids}}}}, &docs); err != nil {
		return nil, err
	}
	stamps := map[entity.Tag]string{}
	for _, d := range docs {
		if tag, err := entity.ParseTag(d.ID); err == nil {
			stamps[tag] = secret.Stamp(d.Hash)
		}
	}
	return stamps, nil
}

// WatchPasswords sends the ids of agents whose password was set, changed or removed; nil stands for all. It reads no
// passwords: most agents are not connected when they get theirs.
func (a Agents) WatchPasswords(ctx context.Context) (<-chan []string, error) {
	return watcher.Changes(ctx, a.st.hub, watcher.Collection(modeldb.CredentialsC)), nil
}

// SetPassword replaces the password of a machine's or unit's agent.
func (a Agents) SetPassword(ctx context.Context, tag entity.Tag, password string) error {
	if len(password) < agentPasswordLength {
		return entity.Errorf(entity.Invalid, "password is only %d bytes long, and is not a valid Agent password",
			len(password))
	}
	tried := false
	return a.st.change(ctx, func(o *ops) error {
		if tried { // what hashOps asserts did not hold
			n, err := a.st.db.Count(ctx, ofAgent(tag), bson.D{{"_id", tag.ID}})
			if err == nil && n == 0 {
				err = entity.Errorf(entity.NotFound, "%s %q not found", tag.Kind, tag.ID)
			}
			if err != nil {
				return err
			}
		}
		tried = true
		return a.st.hashOps(ctx, o, tag, secret.HashRandom(password))
	})
}

// Started returns the tags of the agents that have started and should still be running: of a unit or machine, of a
// service's units, or of all for the zero tag; none for other entities.
func (a Agents) Started(ctx context.Context, of entity.Tag) ([]entity.Tag, error) {
	var all []entity.Tag
	notDead := bson.DocElem{Name: "life", Value: bson.D{{"$ne", entity.Dead}}}
	units := bson.D{{"started", true}, notDead}
	switch of.Kind {
	case entity.KindUnit:
		units = append(units, bson.DocElem{Name: "_id", Value: of.ID})
	case entity.KindService:
		units = append(units, bson.DocElem{Name: "service", Value: of.ID})
	}
	if of.Kind == entity.KindUnit || of.Kind == entity.KindService || of.IsZero() {
		ids, err := a.st.db.IDs(ctx, modeldb.UnitsC, units)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(ids, entity.CompareNatural)
		for _, id := range ids {
			all = append(all, entity.UnitTag(id))
		}
	}
	if of.Kind != entity.KindMachine && !of.IsZero() {
		return all, nil
	}
	machines := bson.D{notDead}
	if of.Kind == entity.KindMachine {
		machines = append(machines, bson.DocElem{Name: "_id", Value: of.ID})
	}
	ids, err := a.st.db.IDs(ctx, modeldb.MachinesC, machines)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = modeldb.MachineKey(id)
	}
	started, err := a.st.db.IDs(ctx, modeldb.StatusesC, bson.D{{"_id", bson.D{{"$in", keys}}}, {"status", entity.StatusStarted}})
	slices.SortFunc(started, entity.CompareNatural)
	for _, key := range started {
		all = append(all, entity.MachineTag(strings.TrimPrefix(key, modeldb.MachineKey(""))))
	}
	return all, err
}

// Machines returns the machines on which the agents of a unit or of a service's units run, or the machine itself; none for
// other entities.
func (a Agents) Machines(ctx context.Context, of entity.Tag) (all []entity.Tag, err error) {
	query := bson.D{{"_id", of.ID}}
	switch of.Kind {
	case entity.KindMachine:
		return []entity.Tag{of}, nil
	case entity.KindService:
		query = bson.D{{"service", of.ID}}
	case entity.KindUnit:
	default:
		return nil, nil
	}
	units, err := a.st.db.Units(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		id, err := a.st.db.MachineOf(ctx, u)
		if err != nil && !entity.IsNotFound(err) { // a principal that was removed in the meantime
			return nil, err
		}
		if tag := entity.MachineTag(id); id != "" && !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all, nil
}

// hashOps stores the password hash of a machine's or unit's agent, and asserts that the machine or unit exists.
func (st *State) hashOps(ctx context.Context, o *ops, tag entity.Tag, hash string) error {
	id := tag.String()
	if n, err := st.db.Count(ctx, modeldb.CredentialsC, bson.D{{"_id", id}}); err != nil {
		return err
	} else if n > 0 {
		o.Update(modeldb.CredentialsC, id, modeltxn.Exists, bson.D{{"$set", bson.D{{"hash", hash}}}})
		return nil
	}
	// The credential of a removed entity would stay, because it is removed with the entity.
	o.Assert(ofAgent(tag), tag.ID, modeltxn.Exists)
	o.Insert(modeldb.CredentialsC, id, modeldb.Credential{ID: id, Hash: hash})
	return nil
}

// ofAgent returns the collection of the machine or unit whose agent has a tag.
func ofAgent(tag entity.Tag) string {
	if tag.Kind == entity.KindMachine {
		return modeldb.MachinesC
	}
	return modeldb.UnitsC
}
