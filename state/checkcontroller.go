package state

import (
	"context"
	"fmt"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// controllerFields are modelFields of the controller's own database.
var controllerFields = map[string][]string{
	modelsC:     {"name", "owner", "step"},
	modelNamesC: {"model"},
	usersC:      {"_id"},
	controllerC: {"_id"},
	blobsC:      {"file", "models"},
	oldFilesC:   {"_id"},
	schemaC:     {"_id"},
	modelUsersC: {"model", "user"},
	leasesC:     {"_id"},
}

var controllerPointers = []pointer{
	{modelsC, "its owner", func(_ *view, _ string, r row) []docID {
		return []docID{{usersC, userID(r.text("owner"))}}
	}, ""},
	{modelUsersC, "its model", named(modelsC, "model"), "remove it"},
	{modelUsersC, "its user", named(usersC, "user"), "remove it"},
}

// controllerRules check the controller's own database.
func (c *Controller) controllerRules(ctx context.Context) []rule {
	return append(slices.Concat(c.archiveRules(ctx), pointerRules(controllerPointers)), []rule{
		schemaRule(c.controllerForm()),
		{of: controllerC, ids: func(*view) []string { return []string{controllerC} }, judge: func(v *view, id string) *wrong {
			if v.get(controllerC, id) != nil {
				return nil
			}
			return &wrong{where: docID{controllerC, id}, what: "it is missing, so the controller can't be started again"}
		}},
		{of: modelsC, judge: c.judgeDatabase},
		{of: modelsC, ids: c.databases, judge: c.judgeStray},
		{of: modelsC, judge: judgeModelRow},
		{of: modelNamesC, judge: judgeModelName},
		{of: leasesC, judge: c.judgeLeaseModel},
	}...)
}

// databases returns the names of the databases that can be models'.
func (c *Controller) databases(v *view) []string {
	return remembered(v, "databases", func() []string {
		names, err := c.store.Databases()
		v.fail(err)
		return slices.DeleteFunc(names, func(name string) bool { return !entity.IsValidUUID(name) })
	})
}

// judgeDatabase finds models that are ready and have no database. A model that is being
// made or removed has another step.
func (c *Controller) judgeDatabase(v *view, id string) *wrong {
	r := v.get(modelsC, id)
	if r == nil || r.text("step") != stepReady || slices.Contains(c.databases(v), id) {
		return nil
	}
	return &wrong{where: docID{modelsC, id}, what: fmt.Sprintf("the database of model %q does not exist", r.text("name")),
		repair: "create it, empty",
		act: func(ctx context.Context) error {
			row, err := c.row(id)
			if err != nil {
				return err
			}
			return c.makeDatabase(ctx, row)
		}}
}

// judgeStray finds databases of models that have no row. A model's row is written before
// its database is made, and removed after that is dropped; a UUID is never used twice.
func (c *Controller) judgeStray(v *view, id string) *wrong {
	there := slices.Contains(c.databases(v), id)
	if !there || v.get(modelsC, id) != nil {
		return nil
	}
	return &wrong{where: docID{"database", id}, what: "it belongs to no model", repair: "drop it",
		act: func(context.Context) error { return c.store.Drop(id) }}
}

// judgeModelRow finds models whose name is not reserved for them.
func judgeModelRow(v *view, id string) *wrong {
	r := v.get(modelsC, id)
	if r == nil {
		return nil
	}
	where := docID{modelNamesC, modelNameID(r.text("owner"), r.text("name"))}
	switch name := v.get(modelNamesC, where.id); {
	case name == nil:
		return toInsert(where, "it is missing, so another model can take the name", "write it", bson.D{{"model", id}})
	case name.text("model") != id:
		return &wrong{where: docID{modelsC, id},
			what: fmt.Sprintf("its name, %s, is taken by model %s", where.id, name.text("model"))}
	}
	return nil
}

// judgeModelName finds names that are reserved for no model.
func judgeModelName(v *view, id string) *wrong {
	n := v.get(modelNamesC, id)
	if n == nil {
		return nil
	}
	r := v.get(modelsC, n.text("model"))
	if r != nil && modelNameID(r.text("owner"), r.text("name")) == id {
		return nil
	}
	return toRemove(docID{modelNamesC, id}, "no model has this name, and none can take it", "remove it")
}

// Check checks the controller's own records as State.Check checks a model's, the
// databases of models, and the store if it is the embedded one.
func (c *Controller) Check(ctx context.Context, repair bool) ([]entity.Finding, error) {
	k := &checker{db: c.db, now: c.now(), rules: c.controllerRules(ctx), fields: controllerFields}
	found, err := k.run(ctx, repair)
	if err != nil {
		return found, fmt.Errorf("cannot check the controller: %w", err)
	}
	server := c.store.Embedded()
	if server == nil {
		return found, nil
	}
	err = server.Check(ctx)
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range many.Unwrap() {
			found = append(found, entity.Finding{Where: "store", What: err.Error()})
		}
	} else if err != nil {
		found = append(found, entity.Finding{Where: "store", What: err.Error()})
	}
	return found, nil
}
