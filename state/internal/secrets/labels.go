package secrets

import (
	"context"
	"maps"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// freeLabel checks that an owner may give a label to one more secret, and asserts that it stays so. A label of a service is
// none of its units', and the other way around.
func (c *change) freeLabel(ctx context.Context, owner, service, label string) error {
	key := modeldb.ModelKey
	if service != "" {
		key = modeldb.ServiceKey(service)
		if key != owner { // the service exists as long as the unit
			if _, err := c.join(ctx, key); err != nil {
				return err
			}
		}
	}
	p, err := c.party(ctx, key)
	if err != nil {
		return err
	}
	p.labels = true
	var docs []struct {
		ID     string `bson:"_id"`
		Kind   string `bson:"kind"`
		Owner  string `bson:"owner"`
		Secret string `bson:"secret"` // what a unit has read
		Model  string `bson:"model"`
		Unit   string `bson:"unit"`
		Token  string `bson:"token"`
	}
	of := bson.DocElem{Name: "service", Value: service}
	if service == "" {
		of.Value = bson.D{{"$exists", false}}
	}
	if err := c.DB.All(ctx, modeldb.SecretsC, bson.D{{"label", label}, of}, &docs); err != nil {
		return err
	}
	holders := map[string]bool{} // by key
	hold := func(key, token string) error {
		p, err := c.party(ctx, key)
		if p.doc.Token == token { // otherwise it has ended with its owner
			holders[key] = true
		}
		return err
	}
	for _, d := range docs { // but for those that the transaction changes
		var err error
		if d.Kind == modeldb.KindConsumer && c.consumers[d.ID] == nil {
			if d.Model == "" {
				if _, err := c.secret(ctx, d.Secret); entity.IsNotFound(err) {
					continue // it has ended, and the cleaner has not come to it
				} else if err != nil {
					return err
				}
			}
			err = hold(modeldb.UnitKey(d.Unit), d.Token)
		} else if d.Kind == modeldb.KindSecret && c.secrets[d.ID] == nil {
			err = hold(d.Owner, d.Token)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range c.secrets {
		if !e.removed && e.doc.Label == label && e.doc.Service == service {
			if err := hold(e.doc.Owner, e.doc.Token); err != nil {
				return err
			}
		}
	}
	for _, r := range c.consumers {
		if !r.removed && r.doc.Label == label && r.doc.Service == service {
			if err := hold(modeldb.UnitKey(r.doc.Unit), r.doc.Token); err != nil {
				return err
			}
		}
	}
	for _, holder := range slices.Sorted(maps.Keys(holders)) {
		ofUnit := strings.HasPrefix(holder, "u#")
		switch {
		case holder == owner && owner == modeldb.ModelKey:
			return entity.Errorf(entity.AlreadyExists, "secret with name %q already exists", label)
		case holder == owner:
			return entity.Errorf(entity.AlreadyExists, "secret with label %q already exists", label)
		case !ofUnit:
			return entity.Errorf(entity.AlreadyExists, "secret label %q for application %q already exists", label, service)
		case !strings.HasPrefix(owner, "u#"):
			return entity.Errorf(entity.AlreadyExists, "secret label %q for a unit of application %q already exists", label,
				service)
		}
	}
	return nil
}
