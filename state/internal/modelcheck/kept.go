package modelcheck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lease"
	"juju/state/lifecycle"
)

// kept adds to want the counts that do not count references: those of owned documents, and of machines that
// are destroyed with a service.
func (v *view) kept(e recorded, want bson.M) {
	for _, doc := range lifecycle.RowOf(e.kind).Owns {
		if doc.Held != lifecycle.Counted {
			continue
		}
		for _, id := range e.owned(doc) {
			if v.Get(doc.In, id) != nil {
				want[doc.In] = 1
			}
		}
	}
	if e.kind == lifecycle.Service && e.doc["machines"] == true {
		want[modeldb.TakesMachines] = 1
	}
}

// judgeMinUnits finds services with a minimum number of units that lack the document watched for it, and such
// documents of services without a minimum.
func judgeMinUnits(v *view, service string) *check.Wrong {
	s, watched := v.Get(modeldb.ServicesC, service), v.Get(modeldb.MinUnitsC, service) != nil
	keeps := s.Life() == entity.Alive && s.Number("minunits") > 0
	where := check.DocID{modeldb.MinUnitsC, service}
	switch {
	case s == nil || keeps == watched:
		return nil // or another rule covers it
	case keeps:
		return check.Insert(where, "it is missing, so the service's minimum number of units is not kept", "write it",
			modeldb.MinUnits{Service: service, Token: "mended"})
	}
	return check.Remove(where, "its service has no minimum number of units", "remove it")
}

// judgeRollout finds upgrades in batches that never go on, so that units keep their charms for ever. No unit is held without
// one: whether it is follows from the service's document.
func judgeRollout(v *view, service string) *check.Wrong {
	s := v.Get(modeldb.ServicesC, service)
	r := s.Doc("rollout")
	where, end := check.DocID{modeldb.ServicesC, service}, bson.D{{"$unset", bson.D{{"rollout", 1}}}}
	switch {
	case r == nil:
		return nil
	case s.Life() != entity.Alive:
		return check.Update(where, "it is being destroyed, and upgraded in batches", "end the upgrade", end)
	case r.Text("id") == "" || r.Number("batch") < 1 || r.Number("timeout") < int(time.Second):
		return check.Update(where, "its upgrade in batches can't go on: the record is damaged",
			"end it: all its units are upgraded at once", end)
	}
	return nil
}

// leasesOf returns the ids of the model's leases.
func (o Outside) leasesOf(v *view) []string {
	ids, err := o.Leases.IDs(v.Context(), o.UUID)
	v.Fail(err)
	return ids
}

// judgeLease finds leases of removed services.
func (o Outside) judgeLease(v *view, id string) *check.Wrong {
	_, service, _ := strings.Cut(id, "#")
	if v.Get(modeldb.ServicesC, service) != nil {
		return nil
	}
	for _, c := range v.Where(modeldb.CleanupsC, "kind", modeldb.CleanupLease) {
		if strings.HasPrefix(c.Text("arg"), service+"#") {
			return nil // the cleanup will remove it
		}
	}
	l, err := o.Leases.Read(v.Context(), id)
	v.Fail(err)
	if err != nil || !l.There {
		return nil
	}
	return &check.Wrong{Where: check.DocID{lease.Collection, id},
		What: fmt.Sprintf("service %q is gone, and no cleanup will remove it", service), Repair: "remove it",
		Act: func(ctx context.Context) error {
			return o.EndLease(ctx, service)
		}}
}

// judgeCharm finds charms without a stored archive.
func (o Outside) judgeCharm(v *view, url string) *check.Wrong {
	ch := v.Get(modeldb.CharmsC, url)
	if ch == nil {
		return nil
	}
	return o.judgeArchive(v, check.DocID{modeldb.CharmsC, url}, "its archive", ch.Text("sha256"),
		"deploy the charm again from its source")
}

// judgeResources finds services' resources without a stored file.
func (o Outside) judgeResources(v *view, key string) *check.Wrong {
	doc := v.Get(modeldb.ResourcesC, key)
	kind, service := lifecycle.ParseKey(key)
	if doc == nil || kind != lifecycle.Service {
		return nil // a unit's document only records what it has fetched
	}
	files := doc.Doc("files")
	for _, field := range slices.Sorted(maps.Keys(files)) {
		name := modeldb.UnescapeKey(field)
		if w := o.judgeArchive(v, check.DocID{modeldb.ResourcesC, key}, fmt.Sprintf("the file of resource %q", name),
			files.Doc(field).Text("sha256"), fmt.Sprintf("juju attach-resource %s %s=FILE", service, name)); w != nil {
			return w
		}
	}
	return nil
}

// judgeUpload finds uploads without a stored file.
func (o Outside) judgeUpload(v *view, id string) *check.Wrong {
	doc := v.Get(modeldb.UploadsC, id)
	if doc == nil || doc["stored"] != true {
		return nil
	}
	w := o.judgeArchive(v, check.DocID{modeldb.UploadsC, id}, "its file", doc.Text("sha256"), "")
	if w != nil && w.Act == nil {
		return check.Remove(w.Where, w.What, "remove it")
	}
	return w
}

// judgeArchive checks that an archive exists and has a reference from the model.
func (o Outside) judgeArchive(v *view, where check.DocID, what, sum, mend string) *check.Wrong {
	there, referred, err := o.Archives.Find(v.Context(), sum)
	if err != nil {
		v.Fail(err)
		return nil
	}
	switch {
	case !there:
		if mend != "" {
			mend = ": " + mend
		}
		return &check.Wrong{Where: where, What: fmt.Sprintf("%s does not exist (SHA-256 %s)%s", what, sum, mend)}
	case !referred:
		return &check.Wrong{Where: where, What: what + " has no reference from the model", Repair: "add the reference",
			Act: func(ctx context.Context) error { return o.Archives.Refer(ctx, sum) }}
	}
	return nil
}

// judgeTask finds incomplete tasks of removed units and machines that no cleanup will cancel.
func judgeTask(v *view, id string) *check.Wrong {
	task := v.Get(modeldb.TasksC, id)
	receiver := entity.ReceiverTag(task.Text("unit"))
	if task == nil || entity.TaskStatus(task.Text("status")).IsOver() || v.Get(modeldb.UnitsC, receiver.ID) != nil ||
		v.Get(modeldb.MachinesC, receiver.ID) != nil || v.hasCleanup(modeldb.CleanupTasks, receiver.ID) {
		return nil
	}
	return v.needsCleanup(check.DocID{modeldb.TasksC, id}, modeldb.CleanupTasks, receiver.ID,
		fmt.Sprintf("its %s is gone, and no cleanup will cancel it", receiver.Kind))
}

// judgeOperation finds operations without tasks.
func judgeOperation(v *view, id string) *check.Wrong {
	if v.Get(modeldb.OperationsC, id) == nil || len(v.Where(modeldb.TasksC, "operation", id)) > 0 {
		return nil
	}
	return check.Remove(check.DocID{modeldb.OperationsC, id}, "it has no tasks", "remove it")
}

// importTime is longer than any uninterrupted import takes.
const importTime = 2 * time.Minute

// judgeImport finds imports that were interrupted and never repeated.
func judgeImport(v *view, filesystem string) *check.Wrong {
	doc := v.Get(modeldb.ImportsC, filesystem)
	if began, _ := doc["began"].(time.Time); doc == nil || v.Now.Sub(began) < importTime {
		return nil
	}
	return &check.Wrong{Where: check.DocID{modeldb.ImportsC, filesystem}, What: fmt.Sprintf("its import was cut off, and the cloud "+
		"may count it as the model's, but it is no storage; repeat the import: juju import-filesystem %s %s %s",
		doc.Text("pool"), filesystem, entity.StoreOf(doc.Text("storage")))}
}
