package remoterelations

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"juju/state/entity"
)

// consumer is a model that consumes an offer of another controller in some relations. Only what a round calls is there.
type consumer struct {
	Model
	relations []entity.Connection
	members   map[int][]entity.Members // the parts of each relation
	ended     []int
	released  []int
	suspended map[int]string // and why
	shown     entity.Status
}

func (c *consumer) Show(_ context.Context, _ string, s entity.Status) error {
	c.shown = s
	return nil
}
func (c *consumer) Join(context.Context, int) error                   { return nil }
func (c *consumer) Mirror(context.Context, int, entity.Members) error { return nil }
func (c *consumer) End(_ context.Context, relation int) error {
	c.ended = append(c.ended, relation)
	return nil
}
func (c *consumer) Release(_ context.Context, relation int) error {
	c.released = append(c.released, relation)
	return nil
}
func (c *consumer) Suspend(_ context.Context, like entity.Connection, relation int) error {
	if like.Suspended {
		c.suspended[relation] = like.Message
	}
	return nil
}
func (c *consumer) Members(_ context.Context, relation, first int) (entity.Members, error) {
	for _, part := range c.members[relation] {
		if part.First == first {
			return part, nil
		}
	}
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
	refuses   string // a setting
	has       map[int]map[int]map[string]string
	service   map[int]map[string]string
	calls     int
}

func (o *offering) Shown(context.Context, string) (entity.Status, error) { return entity.Status{}, nil }
func (o *offering) Members(context.Context, int, int) (entity.Members, error) {
	return entity.Members{}, nil
}
func (o *offering) Mirror(_ context.Context, relation int, m entity.Members) error {
	o.calls++
	for _, settings := range append(slices.Collect(maps.Values(m.Units)), m.Application) {
		if _, bad := settings[o.refuses]; bad {
			return entity.Errorf(entity.Invalid, "no %s", o.refuses)
		}
	}
	if o.has == nil {
		o.has, o.service = map[int]map[int]map[string]string{}, map[int]map[string]string{}
	}
	if o.has[relation] == nil {
		o.has[relation] = map[int]map[string]string{}
	}
	maps.DeleteFunc(o.has[relation], func(n int, _ map[string]string) bool { return m.Has(n) })
	maps.Copy(o.has[relation], m.Units)
	if m.Application != nil {
		o.service[relation] = m.Application
	}
	return nil
}
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
	s := &session{mirror: &mirror{Config: Config{Model: ours}}, remote: entity.Consumed{Name: "db"}, told: map[int]map[int]entity.Members{},
		refused: map[int]map[int]error{}}
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

// A model whose token is refused, because its user may no longer consume the offer, takes its relations as suspended. What ends
// does not wait for the other controller.
func TestARefusedTokenSuspends(t *testing.T) {
	ours := &consumer{suspended: map[int]string{}, relations: []entity.Connection{
		{Relation: 0, Life: entity.Alive, Joined: true}, {Relation: 1, Life: entity.Alive}, {Relation: 2, Life: entity.Dying, Joined: true}}}
	for i := range ours.relations {
		ours.relations[i].Consumes, ours.relations[i].Remote = true, "db"
	}
	refusal := entity.Errorf(entity.Unauthorized, "bob may not")
	s := &session{remote: entity.Consumed{Name: "db", External: &entity.External{Name: "prod"}}, mirror: &mirror{Config: Config{Model: ours,
		Reach: func(context.Context, entity.Consumed) (External, error) { return nil, refusal }}}}
	if err := s.once(t.Context()); !errors.Is(err, refusal) {
		t.Errorf("the session ends with %v", err)
	}
	if want := map[int]string{0: `controller "prod": bob may not`}; !maps.Equal(ours.suspended, want) {
		t.Errorf("suspended: %v, want %v", ours.suspended, want)
	}
	if !slices.Equal(ours.ended, []int{1}) || !slices.Equal(ours.released, []int{2}) {
		t.Errorf("ended: %v, released: %v", ours.ended, ours.released)
	}
}

// What the other controller does not accept of one unit, or of the service, keeps no other unit and no other relation waiting. It is
// told once, and the remote service's status says so until it is accepted.
func TestAUnitIsRefusedAlone(t *testing.T) {
	units := func(numbers ...int) map[int]map[string]string {
		all := map[int]map[string]string{}
		for _, n := range numbers {
			all[n] = map[string]string{"is": "good"}
		}
		return all
	}
	ours := &consumer{members: map[int][]entity.Members{
		0: {{Units: units(0, 1, 2, 5), Application: map[string]string{"by": "leader"}, End: 7}, {Units: units(7, 9), First: 7}},
		1: {{Units: units(3)}},
		2: {{Units: units(0), Application: map[string]string{"bad": "of the service"}}},
	}}
	for id := range 3 {
		ours.relations = append(ours.relations, entity.Connection{Relation: id, Life: entity.Alive, Consumes: true, Remote: "db"})
	}
	ours.members[0][0].Units[0] = map[string]string{"bad": "of the unit"}
	ours.members[0][1].Units[9] = map[string]string{"bad": "of the unit"}
	theirs := &offering{refuses: "bad", has: map[int]map[int]map[string]string{100: units(4, 6, 8, 9, 11)}, service: map[int]map[string]string{}}
	s := &session{mirror: &mirror{Config: Config{Model: ours}}, told: map[int]map[int]entity.Members{}, refused: map[int]map[int]error{},
		remote: entity.Consumed{Name: "db", External: &entity.External{Name: "prod"}}}
	round := func() {
		t.Helper()
		if err := s.round(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
	}
	round()
	want := map[int]map[int]map[string]string{100: units(1, 2, 5, 7, 9), 101: units(3), 102: units(0)}
	if !reflect.DeepEqual(theirs.has, want) || theirs.service[100]["by"] != "leader" || theirs.service[102] != nil {
		t.Errorf("the other controller has %v and of the services %v, want %v", theirs.has, theirs.service, want)
	}
	if says := `controller "prod" does not accept the settings of unit 0 in relation 100: no bad`; ours.shown.Message != says {
		t.Errorf("the status is %+v, want %q", ours.shown, says)
	}
	calls := theirs.calls
	round()
	if theirs.calls != calls || !strings.Contains(ours.shown.Message, "unit 0") {
		t.Errorf("%d calls for what the other controller was told, and %q", theirs.calls-calls, ours.shown.Message)
	}
	ours.members[0] = []entity.Members{{Units: units(0, 1, 2, 5), End: 7}, {Units: units(7), First: 7}}
	ours.members[2] = []entity.Members{{Units: units(0)}}
	round()
	want[100] = units(0, 1, 2, 5, 7)
	if !reflect.DeepEqual(theirs.has, want) || ours.shown.Message != "" {
		t.Errorf("once all is well: %v, %+v, want %v", theirs.has, ours.shown, want)
	}

	// An error of another kind is one of its relation only, and the session begins anew.
	ours.relations[1].Joined = true
	s.told = map[int]map[int]entity.Members{}
	away := errors.New("away")
	if err := s.round(t.Context(), failing{theirs, 101, away}); !errors.Is(err, away) || len(s.told[100]) != 2 || len(s.told[102]) != 1 {
		t.Errorf("%v; told of %v", err, s.told)
	}
}

// failing is an offering whose calls about one relation fail.
type failing struct {
	*offering
	relation int
	err      error
}

func (f failing) Mirror(ctx context.Context, relation int, m entity.Members) error {
	if relation == f.relation {
		return f.err
	}
	return f.offering.Mirror(ctx, relation, m)
}
