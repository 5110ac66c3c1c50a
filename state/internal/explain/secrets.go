package explain

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/secrets"
	"juju/state/lifecycle"
)

// toldOf returns the secrets of a service and its units of which the owner has been told something that it has not acted on yet.
func (x *Explainer) toldOf(ctx context.Context, service string) ([]modeldb.Secret, error) {
	if x.told == nil {
		docs, err := secrets.Secrets{DB: x.db}.Told(ctx)
		if err != nil {
			return nil, err
		}
		x.told = map[string][]modeldb.Secret{}
		for _, doc := range docs {
			x.told[doc.Service] = append(x.told[doc.Service], doc)
		}
	}
	return x.told[service], nil
}

// tagOfOwner returns the tag of the unit or service with this key.
func tagOfOwner(key string) entity.Tag {
	switch kind, name := lifecycle.ParseKey(key); kind {
	case lifecycle.Principal:
		return entity.UnitTag(name)
	case lifecycle.Service:
		return entity.ServiceTag(name)
	}
	return entity.Tag{}
}

// serviceSecrets explains what a service's leader must do about the service's secrets, and its units about their own.
func (x *explainer) serviceSecrets(ctx context.Context, s modeldb.Service, depth int) error {
	return x.secrets(ctx, s.Name, func(string) bool { return true }, entity.ServiceTag(s.Name), depth)
}

// unitSecrets explains what a unit must do about its secrets, and about its service's if it leads.
func (x *explainer) unitSecrets(ctx context.Context, u modeldb.Unit, depth int) error {
	if x.seen[entity.ServiceTag(u.Service)] {
		return nil // the service explains them
	}
	return x.secrets(ctx, u.Service, func(by string) bool { return by == u.Name }, entity.UnitTag(u.Name), depth)
}

// secrets adds what the units for which must holds have to do about secrets of the service and of its units. A service's
// secrets are its leader's affair: "" if none leads.
func (x *explainer) secrets(ctx context.Context, service string, must func(unit string) bool,
	of entity.Tag, depth int) error {
	docs, err := x.toldOf(ctx, service)
	if err != nil || len(docs) == 0 {
		return err
	}
	leader, _, err := x.db.Leader(ctx, service)
	if err != nil {
		return err
	}
	n := 0
	for _, doc := range docs {
		kind, unit := lifecycle.ParseKey(doc.Owner)
		owner := fmt.Sprintf("%s %q", entity.KindUnit, unit)
		if kind == lifecycle.Service {
			owner, unit = fmt.Sprintf("service %q", service), leader.Holder
		}
		if !must(unit) {
			continue
		}
		for _, event := range secrets.EventsOf(doc) {
			if n++; n <= explained {
				r := entity.Reason{Depth: depth, Of: of.String(), Since: eventTime(doc, event)}
				r.Text = eventText(doc, event, owner)
				if unit == "" {
					r.Text += ": the leader must run its hook secret-" + string(event.Kind) + ", and no unit leads"
				} else {
					r.By = entity.UnitTag(unit).String()
					r.Text += fmt.Sprintf(": unit %q must run its hook secret-%s", unit, event.Kind)
				}
				x.add(r)
			}
		}
	}
	if n > explained {
		x.add(entity.Reason{Depth: depth, Of: of.String(), Text: fmt.Sprintf("and %d more hooks about secrets", n-explained)})
	}
	return nil
}

// eventText says what an owner was told about a secret.
func eventText(doc modeldb.Secret, e entity.SecretEvent, owner string) string {
	secret := "secret " + doc.ID
	if doc.Label != "" {
		secret += fmt.Sprintf(" (%s)", doc.Label)
	}
	secret += " of " + owner
	switch e.Kind {
	case entity.SecretRotate:
		return secret + " is to be rotated"
	case entity.SecretExpired:
		return fmt.Sprintf("the time of revision %d of %s is over", e.Revision, secret)
	}
	return fmt.Sprintf("nothing reads revision %d of %s any more", e.Revision, secret)
}

// eventTime returns since when an owner has had to act; zero if that is not recorded.
func eventTime(doc modeldb.Secret, e entity.SecretEvent) time.Time {
	switch e.Kind {
	case entity.SecretRotate:
		return doc.NextRotate
	case entity.SecretExpired:
		return doc.Revisions[strconv.Itoa(e.Revision)].Expire
	}
	return time.Time{}
}
