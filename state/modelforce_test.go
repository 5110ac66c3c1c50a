package state_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// A party is somebody who does something to the model bobs, which is Dead.
type party func(*scene, string) error

func forcesModel(s *scene, id string) error { return s.ctrl.DestroyModel(s.ctx, id, entity.Forced()) }

func removesModel(s *scene, id string) error { return s.ctrl.RemoveModel(s.ctx, id) }

// finishesModel removes it with nothing in its way.
func finishesModel(s *scene, id string) error {
	return errors.Join(removesModel(s, id), resumeModels(s))
}

// Force meets the removal of a model, before each read of its row and before
// the commit: it is taken on, or told that the model is gone; and nothing is left of that.
func TestForceDuringModelRemoval(t *testing.T) {
	st := aStage(t)
	for name, c := range map[string]struct {
		do, other party
		removed   bool        // already, when they begin
		forced    bool        // is to be, at the end of both
		want      entity.Kind // of what is refused to do, if it is
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
			for n := 1; ; n++ {
				var i interloper
				s := st.scene(t, i.tap)
				deadModel(s)
				id := s.model("bobs")
				if c.removed {
					s.ok(removesModel(s, id))
				}
				met := false
				meet := func() { met = true; s.ok(c.other(s, id)) }
				i.skips = id + "." // a removal waits until whoever reads the model has done so
				i.arm(n, meet)
				commits := false // nobody came between its reads, and it is about to
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
					if left, err := s.ctrl.ResumeModels(s.ctx, noSuchRegion); left != 0 || err != nil {
						t.Errorf("before read %d (commit: %v): %d models are left (%v): force was forgotten", n, commits, left, err)
					}
				}
				s.resumed()
				s.consistent(s.store)
				s.close()
				if !met {
					t.Fatal("they did not meet")
				}
				if commits || t.Failed() {
					return
				}
			}
		})
	}
}

func noSuchRegion(context.Context, state.ModelRow) error { return errors.New("no such region") }

// databasesWith are the controller's and that of a model, if it is there.
func (s *scene) databasesWith(model string) []*mongo.Database {
	all := []*mongo.Database{s.ctrl.DB()}
	if st, err := s.ctrl.Model(s.ctx, model); err == nil {
		all = append(all, st.DB())
	}
	return all
}
