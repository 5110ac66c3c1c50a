package modelstatus

import (
	"context"
	"maps"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// RelationData returns what is set in each relation of the unit's service that the unit can see, by number: by itself,
// by the units at the other end, and by their service. Units that are gone have left their settings in the relation, for
// hooks that still run; they are left out.
func RelationData(ctx context.Context, db *modeltxn.DB, u modeldb.Unit) ([]entity.RelationData, error) {
	relations, err := db.RelationsOf(ctx, u.Service)
	if err != nil {
		return nil, err
	}
	all := make([]entity.RelationData, 0, len(relations))
	for _, r := range relations {
		one, err := relationData(ctx, db, u, r)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func relationData(ctx context.Context, db *modeltxn.DB, u modeldb.Unit,
	r modeldb.Relation) (entity.RelationData, error) {
	end, err := r.Endpoint(u.Service)
	if err != nil {
		return entity.RelationData{}, err
	}
	other := r.Counterpart(u.Service)
	_, remote := r.RemoteEnd()
	data := entity.RelationData{ID: r.ID, Endpoint: end.Name, RelatedEndpoint: other.Name, CrossModel: remote,
		Application: map[string]string{}, Units: map[string]entity.UnitRelationData{}}
	scopes, err := db.ScopesIn(ctx, r.ID)
	if err != nil {
		return data, err
	}
	in := map[string]bool{}
	for _, s := range scopes {
		in[s.Member()] = true
	}
	there := maps.Clone(in) // all that is known of units of other models
	if !remote {
		units, err := db.Units(ctx, bson.D{{"service", bson.D{{"$in", []string{u.Service, other.Service}}}}})
		if err != nil {
			return data, err
		}
		for _, name := range modeldb.NamesOf(units) {
			there[name] = true
		}
	}
	there[u.Name] = true
	settings, err := db.SettingsIn(ctx, r.ID)
	if err != nil {
		return data, err
	}
	for _, s := range settings {
		of := strings.TrimPrefix(s.ID, modeldb.RelationSettingsKey(r.ID, ""))
		switch {
		case of == other.Service:
			data.Application = s.Texts()
		case s.Container != r.Container(u): // of another principal
		case !there[of]:
		case of == u.Name, entity.IsValidUnit(of) && entity.UnitService(of) == other.Service:
			data.Units[of] = entity.UnitRelationData{InScope: in[of], Settings: s.Texts()}
		}
	}
	return data, nil
}
