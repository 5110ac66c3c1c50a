package modelstatus

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
)

// Part returns a part of the model; false if it does not exist. Of a task it has only what taskFields are.
func (l *Live) Part(ctx context.Context, key entity.PartKey) (p entity.Part, exists bool) {
	a := l.all
	p.Key = key
	switch key.Kind {
	case entity.PartModel:
		p.Model = &entity.ModelPart{ModelHeader: a.header(), Config: a.model.Settings().Values(), Constraints: a.model.Constraints}
		return p, true
	case entity.PartCharm:
		var doc modeldb.Charm
		if doc, exists = a.charms[key.ID]; exists {
			p.Charm = &entity.CharmPart{URL: key.ID, Version: doc.Version}
			if ch, err := l.db.Charm(ctx, key.ID); err == nil { // a damaged charm has no settings to show
				p.Charm.Defaults = ch.Config.DefaultSettings()
			}
		}
	case entity.PartMachine:
		if _, exists = a.machines[key.ID]; exists {
			m := a.machine(key.ID, nil)
			p.Machine = &m
		}
	case entity.PartService:
		if _, exists = a.services[key.ID]; exists {
			p.Service = l.service(ctx, key.ID)
		}
	case entity.PartRemote:
		var doc modeldb.Remote
		if doc, exists = a.remotes[key.ID]; exists {
			p.Remote = &entity.RemotePart{RemoteStatus: a.remote(doc), Offer: doc.Offer}
			p.Remote.Relations = nil
		}
	case entity.PartOffer:
		var doc modeldb.Offer
		if doc, exists = a.offers[key.ID]; exists {
			p.Offer = &entity.OfferPart{OfferStatus: a.offer(doc), UUID: doc.UUID}
			p.Offer.Endpoints = nil
			if ch, err := l.db.Charm(ctx, p.Offer.CharmURL); err == nil { // a service that is being removed has none
				p.Offer.Charm = ch.Meta.Name
			}
		}
	case entity.PartRelation:
		id, _ := strconv.Atoi(key.ID)
		var i int
		if i, exists = slices.BinarySearchFunc(a.relations, modeldb.Relation{ID: id}, byNumber); exists {
			status := a.relation(a.relations[i])
			p.Relation = &status
		}
	case entity.PartUnit:
		var doc modeldb.Unit
		if doc, exists = a.units[key.ID]; exists {
			service := a.services[doc.Service]
			p.Unit = &entity.UnitPart{UnitStatus: a.unit(key.ID, nil), Service: doc.Service, Series: doc.Series,
				Principal: doc.Principal, Charm: doc.CharmURL}
			if doc.CharmURL == "" {
				p.Unit.Charm = service.CharmURL
			}
		}
	case entity.PartAnnotations:
		var doc modeldb.Annotations
		if doc, exists = l.annotations[key.ID]; exists {
			p.Annotations = &entity.AnnotationsPart{Tag: l.annotated(key.ID), Annotations: modeldb.UnescapeKeys(doc.Annotations)}
		}
	case entity.PartTask:
		var doc modeldb.Task
		if doc, exists = l.tasks[key.ID]; exists {
			task := doc.Task()
			p.Task = &task
		}
	}
	return p, exists
}

func (l *Live) service(ctx context.Context, name string) *entity.ServicePart {
	a := l.all
	doc, said := a.services[name], a.statuses[modeldb.ServiceKey(name)]
	part := &entity.ServicePart{Constraints: a.constraints[modeldb.ServiceKey(name)].Value, ServiceStatus: entity.ServiceStatus{
		Name: name, Life: doc.Life, CharmURL: doc.CharmURL, Channel: doc.Channel(), Series: doc.Series, Exposed: doc.ExposedEndpoints() != nil, Endpoints: doc.ExposedEndpoints(),
		Subordinate: doc.Subordinate, MinUnits: doc.MinUnits,
		Status: withRollout(a.statusOfService(name, l.ofService[name]), doc.Rollout), WorkloadVersion: said.Version, Rollout: doc.Rollout.Public(),
	}}
	if ch, err := l.db.Charm(ctx, doc.CharmURL); err == nil {
		part.Config = ch.Config.UsableSettings(l.settings[modeldb.ServiceKey(name)].Settings)
	}
	return part
}

// annotated returns the tag of what has annotations under a key.
func (l *Live) annotated(key string) entity.Tag {
	if key == modeldb.ModelKey {
		return entity.ModelTag(l.db.UUID)
	}
	switch kind, name := lifecycle.ParseKey(key); {
	case kind == lifecycle.Machine:
		return entity.MachineTag(name)
	case kind == lifecycle.Service:
		return entity.ServiceTag(name)
	case strings.HasPrefix(key, "r#"):
		for _, r := range l.all.relations {
			if modeldb.RelationKey(r.ID) == key {
				return entity.RelationTag(r.Key)
			}
		}
		return entity.Tag{}
	default:
		return entity.UnitTag(name)
	}
}

// Tasks reads the tasks whose documents have these ids. Unlike the other methods it may be called at any time.
func (l *Live) Tasks(ctx context.Context, ids []string) (map[string]entity.Task, error) {
	docs := map[string]modeldb.Task{}
	if err := readSome(ctx, l.db, modeldb.TasksC, bson.D{{"_id", bson.D{{"$in", ids}}}}, nil, docs, taskID); err != nil {
		return nil, err
	}
	all := make(map[string]entity.Task, len(docs))
	for id, d := range docs {
		all[id] = d.Task()
	}
	return all, nil
}
