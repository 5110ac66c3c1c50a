package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/schema"
)

// unruled maps the collections that need no rules to the reasons.
var unruled = map[string]string{
	modelLeftoversC:   "their models are removed",
	loginsC:           "login times; written outside transactions, and nothing depends on them",
	nodesC:            "each controller writes its own document again when it starts",
	beatsC:            "as nodes; a document is replaced every few seconds",
	presenceC:         "as nodes; written outside transactions",
	nodeUpgradesC:     "two documents: one of an upgrade, which a user asks for again, and one that is written again if it is missing",
	controllerLeasesC: "one lease, which is taken anew if it is missing; its epoch follows that of the fence",
	auditC:            "the past; bounded, and written outside transactions",
	lease.Fences:      "one document, which is inserted again if it is missing",
}

// fields has the collections and fields that the rules read. Every collection is either here and has rules,
// or is in unruled.
var fields = map[string][]string{
	modelsC:           {"name", "owner", "step", "credential"},
	modelNamesC:       {"model"},
	usersC:            {"_id"},
	cloudCredentialsC: {"_id"},
	controllerC:       {"_id"},
	blobsC:            {"file", "models"},
	oldFilesC:         {"_id"},
	schema.Collection: {"_id"},
	modelUsersC:       {"model", "user"},
	tokensC:           {"model", "user"},
	sessionsC:         {"user"},
	lease.Collection:  {"_id"},
}

var pointers = []check.Pointer{
	{modelsC, "its owner", func(_ *check.View, _ string, r check.Row) []check.DocID {
		return []check.DocID{{usersC, userID(r.Text("owner"))}}
	}, ""},
	{modelsC, "its credential of the cloud", func(_ *check.View, _ string, r check.Row) []check.DocID {
		if r.Text("credential") == "" {
			return nil
		}
		return []check.DocID{{cloudCredentialsC, credentialID(r.Text("credential"))}}
	}, ""},
	{modelUsersC, "its model", check.Named(modelsC, "model"), "remove it"},
	{modelUsersC, "its user", check.Named(usersC, "user"), "remove it"},
	{tokensC, "its model", check.Named(modelsC, "model"), "remove it"},
	{tokensC, "its user", check.Named(usersC, "user"), "remove it"},
	{sessionsC, "its user", check.Named(usersC, "user"), "remove it"},
}

// rules check the controller's own database.
func (c *Controller) rules(ctx context.Context) []check.Rule {
	return append(slices.Concat(c.archiveRules(ctx), check.PointerRules(pointers)), []check.Rule{
		c.form().Rule(),
		{Of: controllerC, IDs: func(*check.View) []string { return []string{controllerC} },
			Judge: func(v *check.View, id string) *check.Wrong {
				if v.Get(controllerC, id) != nil {
					return nil
				}
				return &check.Wrong{Where: check.DocID{controllerC, id},
					What: "it is missing, so the controller can't be started again"}
			}},
		{Of: modelsC, Judge: c.judgeDatabase},
		{Of: modelsC, IDs: c.databases, Judge: c.judgeStray},
		{Of: modelsC, Judge: judgeModelRow},
		{Of: modelNamesC, Judge: judgeModelName},
		{Of: lease.Collection, Judge: c.judgeLeaseModel},
	}...)
}

// databases returns the names of the databases that may belong to models.
func (c *Controller) databases(v *check.View) []string {
	return check.Remembered(v, "databases", func() []string {
		names, err := c.store.Databases(v.Context())
		v.Fail(err)
		return slices.DeleteFunc(names, func(name string) bool { return !entity.IsValidUUID(name) })
	})
}

// judgeDatabase finds models that are ready but have no database. A model that is being created or removed is not ready.
func (c *Controller) judgeDatabase(v *check.View, id string) *check.Wrong {
	r := v.Get(modelsC, id)
	if r == nil || r.Text("step") != stepReady || slices.Contains(c.databases(v), id) {
		return nil
	}
	return &check.Wrong{Where: check.DocID{modelsC, id},
		What:   fmt.Sprintf("the database of model %q does not exist", r.Text("name")),
		Repair: "create it, empty",
		Act: func(ctx context.Context) error {
			row, err := c.ModelRow(ctx, id)
			if err != nil {
				return err
			}
			return c.makeDatabase(ctx, row)
		}}
}

// judgeStray finds databases of models without a row. A model's row is written before its database is created, and
// removed after the database is dropped; a UUID is never reused.
func (c *Controller) judgeStray(v *check.View, id string) *check.Wrong {
	there := slices.Contains(c.databases(v), id)
	if !there || v.Get(modelsC, id) != nil {
		return nil
	}
	return &check.Wrong{Where: check.DocID{"database", id}, What: "it belongs to no model", Repair: "drop it",
		Act: func(ctx context.Context) error { return c.store.Drop(ctx, id) }}
}

// judgeModelRow finds models whose name is not reserved for them.
func judgeModelRow(v *check.View, id string) *check.Wrong {
	r := v.Get(modelsC, id)
	if r == nil {
		return nil
	}
	where := check.DocID{modelNamesC, modelNameID(r.Text("owner"), r.Text("name"))}
	switch name := v.Get(modelNamesC, where.ID); {
	case name == nil:
		return check.Insert(where, "it is missing, so another model can take the name", "write it", bson.D{{"model", id}})
	case name.Text("model") != id:
		return &check.Wrong{Where: check.DocID{modelsC, id},
			What: fmt.Sprintf("its name, %s, is taken by model %s", where.ID, name.Text("model"))}
	}
	return nil
}

// judgeModelName finds names that are reserved but not used by any model.
func judgeModelName(v *check.View, id string) *check.Wrong {
	n := v.Get(modelNamesC, id)
	if n == nil {
		return nil
	}
	r := v.Get(modelsC, n.Text("model"))
	if r != nil && modelNameID(r.Text("owner"), r.Text("name")) == id {
		return nil
	}
	return check.Remove(check.DocID{modelNamesC, id}, "no model has this name, but it is reserved", "remove it")
}

// Check checks the controller's own records, as State.Check does for a model's, the databases of
// models, and the store if it is the embedded one.
func (c *Controller) Check(ctx context.Context, repair bool) ([]entity.Finding, error) {
	k := &check.Checker{DB: c.db, Now: c.now(), Rules: c.rules(ctx), Fields: fields}
	found, err := k.Run(ctx, repair)
	if err != nil {
		return found, fmt.Errorf("cannot check the controller: %w", err)
	}
	server := c.store.Embedded()
	if server == nil {
		return found, nil
	}
	err = server.Check(ctx, func() { mongo.Moved(ctx) })
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

// judgeLeaseModel finds leases of removed models.
func (c *Controller) judgeLeaseModel(v *check.View, id string) *check.Wrong {
	model, _, _ := strings.Cut(id, "#")
	if v.Get(lease.Collection, id) == nil || v.Get(modelsC, model) != nil {
		return nil
	}
	return &check.Wrong{Where: check.DocID{lease.Collection, id}, What: "model " + model + " does not exist", Repair: "remove it",
		Act: func(ctx context.Context) error { return c.leases.DropModel(ctx, model) }}
}
