package modelstatus

import (
	"context"
	"strings"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// RelationData returns what is set in each relation of the unit's service that the unit can see, by number: by itself,
// by the units at the other end, and by their service.
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

func relationData(ctx context.Context, db *modeltxn.DB, u modeldb.Unit, r modeldb.Relation) (entity.RelationData, error) {
	end, err := r.Endpoint(u.Service)
	if err != nil {
		return entity.RelationData{}, err
	}
	other := r.Counterpart(u.Service)
	data := entity.RelationData{ID: r.ID, Endpoint: end.Name, RelatedEndpoint: other.Name,
		Application: map[string]string{}, Units: map[string]entity.UnitRelationData{}}
	scopes, err := db.ScopesIn(ctx, r.ID)
	if err != nil {
		return data, err
	}
	in := map[string]bool{}
	for _, s := range scopes {
		in[s.Member()] = true
	}
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
		case of == u.Name, entity.IsValidUnit(of) && entity.UnitService(of) == other.Service:
			data.Units[of] = entity.UnitRelationData{InScope: in[of], Settings: s.Texts()}
		}
	}
	return data, nil
}
