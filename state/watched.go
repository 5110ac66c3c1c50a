package state

import "context"

// AsWatched returns the model as its watches have reported it, for what is read because of an event: see
// modeltxn.DB.AsWatched. It can't be changed.
func (a Agents) AsWatched() *State { return a.st.watched }

// KnownUnit is State.Unit as the model's watches have reported the unit, for methods that refresh what they rely on.
func (a Agents) KnownUnit(ctx context.Context, name string) (*Unit, error) {
	doc, err := a.st.watched.db.Unit(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Unit{a.st, doc}, nil
}

// KnownMachine is KnownUnit for a machine.
func (a Agents) KnownMachine(ctx context.Context, id string) (*Machine, error) {
	doc, err := a.st.watched.db.Machine(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Machine{st: a.st, doc: doc}, nil
}

// Moved makes what agents read be read anew, for an agent that may come from another controller: it must not read here what
// was before what it has told or heard there.
func (a Agents) Moved() { a.st.db.Forget() }
