package state_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A party is a client that changes the Dead model bobs.
type party func(*scene, string) error

func forcesModel(s *scene, id string) error { return s.ctrl.DestroyModel(s.ctx, id, entity.Forced()) }

func removesModel(s *scene, id string) error { return s.ctrl.RemoveModel(s.ctx, id) }

// finishesModel removes the model completely.
func finishesModel(s *scene, id string) error {
	return errors.Join(removesModel(s, id), resumeModels(s))
}

// Force and the removal of a model meet, before each read of the model's row
// and before the commit. The force either takes effect or fails because the
// model is gone, and nothing is left behind.
func TestForceDuringModelRemoval(t *testing.T) {
	st := sharedStage(t)
	for name, c := range map[string]struct {
		do, other party
		removed   bool        // before both begin
		forced    bool        // whether the model is forced after both
		want      entity.Kind // of the error of do, if it is refused
	}{
		"force comes while the removal begins":     {do: removesModel, other: forcesModel, forced: true},
		"the removal begins while it is forced":    {do: forcesModel, other: removesModel, forced: true},
		"the removal ends while it is forced":      {do: forcesModel, other: finishesModel, want: entity.NotFound},
		"the removal ends while its row is forced": {do: forcesModel, other: finishesModel, removed: true, want: entity.NotFound},
		"another forces it":                        {do: forcesModel, other: forcesModel, forced: true},
		"another forces its row":                   {do: forcesModel, other: forcesModel, removed: true, forced: true},
		"another begins the removal":               {do: removesModel, other: removesModel},
		"another begins the removal, and ends it":  {do: removesModel, other: finishesModel},
	} {
		t.Run(name, func(t *testing.T) {
			step := 1
			if testing.Short() {
				step = 4
			}
			for n := 1 + rand.IntN(step); ; n += step {
				var i interloper
				s := st.scene(t, i.tap)
				deadModel(s)
				id := s.model("bobs")
				if c.removed {
					s.ok(removesModel(s, id))
				}
				met := false
				meet := func() { met = true; s.ok(c.other(s, id)) }
				i.skips = id + "." // messages to the model's own database: a removal waits for its readers
				i.arm(n, meet)
				commits := false // past all reads, at the commit
				for _, db := range s.databasesWith(id) {
					mongotest.HooksOf(db).RewriteOps(func(ops []txn.Op) []txn.Op {
						if !met && !commits {
							commits = true
							i.disarm()
							meet()
						}
						return ops
					})
				}
				err := c.do(s, id)
				i.disarm()
				if err != nil && entity.KindOf(err) != c.want {
					t.Errorf("before read %d (commit: %v): got %v", n, commits, err)
				}
				s.ok(removesModel(s, id))
				if c.forced {
					s.later.Add(int64(time.Hour))
					if left, err := statetest.ResumeModels(s.ctx, s.ctrl, noSuchRegion); left != 0 || err != nil {
						t.Errorf("before read %d (commit: %v): %d models are left (%v): force was lost", n, commits, left, err)
					}
				}
				statetest.CheckResumed(t, s.ctrl)
				statetest.CheckModels(t, s.ctrl, s.store)
				s.close()
				if !met {
					t.Fatal("the two calls did not meet")
				}
				if commits || t.Failed() {
					return
				}
			}
		})
	}
}

func noSuchRegion(context.Context, controller.ModelRow) error { return errors.New("no such region") }

// databasesWith returns the databases of the controller and, if it exists, of a
// model.
func (s *scene) databasesWith(model string) []*mongo.Database {
	all := []*mongo.Database{s.controllerDB()}
	if st, err := s.ctrl.Model(s.ctx, model); err == nil {
		all = append(all, st.DB())
	}
	return all
}
