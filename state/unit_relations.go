package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// Relations returns the relations that the unit's agent works with, by number: the Alive
// relations of its service, and the Dying ones that the unit is in.
func (u *Unit) Relations(ctx context.Context) ([]entity.RelationInfo, error) {
	relations, err := u.st.relationsOf(u.doc.Service)
	if err != nil {
		return nil, err
	}
	var all []entity.RelationInfo
	for _, r := range relations {
		end, err := r.doc.Endpoint(u.doc.Service)
		if err != nil {
			return nil, err
		}
		ru := &relationUnit{u.st, r, u, end}
		in, err := ru.inScope()
		if err != nil {
			return nil, err
		}
		if !in {
			if r.doc.Life != entity.Alive {
				continue
			}
			// A unit must leave a relation that it is in, whatever fits now.
			if fits, _, err := ru.fits(); err != nil {
				return nil, err
			} else if !fits {
				continue
			}
		}
		all = append(all, entity.RelationInfo{
			ID: r.doc.ID, Key: r.doc.Key, Life: r.doc.Life, Endpoint: end.Name, Role: end.Role,
			Interface: end.Interface, Scope: end.Scope, Remote: r.doc.Counterpart(u.doc.Service).Service,
			InScope: in, Implicit: end.Implicit, Strength: r.doc.Strength,
		})
	}
	return all, nil
}

// fits reports whether the unit can take part in the relation. In one of container scope,
// a subordinate can do so only with its principal's service, or with another subordinate
// of the principal. A transaction that depends on it asserts that beside is there, unless
// that is "".
func (ru *relationUnit) fits() (fits bool, beside string, err error) {
	if !ru.rel.doc.IsContainer() || ru.unit.doc.Principal == "" {
		return true, "", nil
	}
	other := ru.rel.doc.Counterpart(ru.unit.doc.Service).Service
	if other == entity.UnitService(ru.unit.doc.Principal) {
		return true, "", nil
	}
	units, err := ru.st.units(bson.D{{"principal", ru.unit.doc.Principal}, {"service", other}})
	if err != nil || len(units) == 0 {
		return false, "", err
	}
	return true, units[0].doc.Name, nil
}

// RelationSettings returns the settings in a relation of the unit or service named of. The
// unit may read its own settings, those of its counterparts and those of their service. Those
// of its own service it may read if it leads that. The error for others is
// entity.Unauthorized.
func (u *Unit) RelationSettings(ctx context.Context, relation int, of string) (map[string]string, error) {
	ru, err := u.st.relationUnit(ctx, u.doc.Name, relation)
	if err != nil {
		return nil, err
	}
	if entity.IsValidService(of) {
		return ru.serviceSettings(of)
	}
	service := entity.UnitService(of)
	if service != ru.rel.doc.Counterpart(u.doc.Service).Service && of != u.doc.Name {
		return nil, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	doc, err := u.st.db.Settings(modeldb.RelationSettingsKey(relation, of))
	if entity.IsNotFound(err) {
		return nil, entity.Errorf(entity.NotFound, "unit %q has no settings in relation %q", of, ru.rel.doc.Key)
	} else if err != nil {
		return nil, err
	}
	if doc.Container != ru.container() {
		return nil, entity.Errorf(entity.Unauthorized, "permission denied") // of another principal
	}
	return doc.Texts(), nil
}

// serviceSettings returns what the leaders of a service have set in the relation.
func (ru *relationUnit) serviceSettings(of string) (map[string]string, error) {
	if of != ru.rel.doc.Counterpart(ru.unit.doc.Service).Service {
		leader, _, err := ru.st.db.Leader(of)
		if err != nil {
			return nil, err
		}
		if leader.Holder != ru.unit.doc.Name {
			return nil, entity.Errorf(entity.Unauthorized, "permission denied")
		}
	}
	doc, err := ru.st.db.Settings(modeldb.RelationSettingsKey(ru.rel.doc.ID, of))
	if err != nil && !entity.IsNotFound(err) {
		return nil, err
	}
	return doc.Texts(), nil
}
