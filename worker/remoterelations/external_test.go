package remoterelations

import (
	"context"
	"testing"

	"juju/state/entity"
)

// consumer is a model that consumes an offer of another controller in some relations. Only what a round calls is there.
type consumer struct {
	Model
	relations []entity.Connection
	ended     []int
}

func (c *consumer) Show(context.Context, string, entity.Status) error { return nil }
func (c *consumer) Join(context.Context, int) error                   { return nil }
func (c *consumer) Mirror(context.Context, int, entity.Members) error { return nil }
func (c *consumer) End(_ context.Context, relation int) error {
	c.ended = append(c.ended, relation)
	return nil
}
func (c *consumer) Members(context.Context, int) (entity.Members, error) {
	return entity.Members{}, nil
}
func (c *consumer) Connections(context.Context) ([]entity.Connection, error) {
	return c.relations, nil
}

// offering is the other controller's side.
type offering struct {
	External
	relations []entity.Connection
	lists     int
}

func (o *offering) Shown(context.Context, string) (entity.Status, error) { return entity.Status{}, nil }
func (o *offering) Members(context.Context, int) (entity.Members, error) {
	return entity.Members{}, nil
}
func (o *offering) Mirror(context.Context, int, entity.Members) error { return nil }
func (o *offering) Connect(_ context.Context, _ string, c entity.Connection) error {
	o.relations = append(o.relations, entity.Connection{Relation: 100 + c.Relation, Counterpart: c.Relation, Life: entity.Alive})
	return nil
}
func (o *offering) Relations(context.Context) ([]entity.Connection, error) {
	o.lists++
	return o.relations, nil
}

func TestARoundListsOnce(t *testing.T) {
	ours, theirs := &consumer{}, &offering{}
	for id, joined := range []bool{true, true, false, false, true} {
		c := entity.Connection{Relation: id, Life: entity.Alive, Consumes: true, Remote: "db", Joined: joined}
		ours.relations = append(ours.relations, c)
		if joined && id < 4 { // the last has ended there
			if err := theirs.Connect(t.Context(), "", c); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := &session{mirror: &mirror{Config: Config{Model: ours}}, remote: entity.Consumed{Name: "db"}, told: map[int]entity.Members{}}
	if err := s.round(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if theirs.lists != 1 {
		t.Errorf("the other controller's relations were listed %d times in a round, want once", theirs.lists)
	}
	if len(s.told) != 4 || len(theirs.relations) != 4 || len(ours.ended) != 1 || ours.ended[0] != 4 {
		t.Errorf("told of %v, there are %v, ended %v", s.told, theirs.relations, ours.ended)
	}
}
