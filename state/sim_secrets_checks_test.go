package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state"
	"juju/state/entity"
	"juju/state/simulationtest"
)

// checkEvents checks what a unit is to be told of secrets.
func (s *sim) checkEvents(u *simulationtest.Unit, got []entity.SecretEvent) error {
	if want := s.model.Told(u); !slices.Equal(got, want) {
		return fmt.Errorf("%s is to be told %v, want %v", u.Name, got, want)
	}
	return nil
}

// checkSecrets checks what all see of all secrets: each unit what it reads, owns and is to be told of, and users the rest.
func (s *sim) checkSecrets() error {
	ids := slices.Concat(slices.Sorted(maps.Keys(s.model.Secrets)), s.model.Lingering())
	for _, name := range slices.Sorted(maps.Keys(s.model.Units)) {
		u := s.model.Units[name]
		h, err := s.st.Unit(s.ctx, name)
		if err != nil {
			return err
		}
		for _, id := range ids {
			q := entity.SecretQuery{ID: id, Latest: s.rnd.IntN(2) == 0}
			if label := s.labelOf(u, id); label != "" && s.rnd.IntN(2) == 0 {
				q.ID, q.Label = "", label
			}
			if err := s.checkRead(u, h, id, q); err != nil {
				return err
			}
		}
		owned, err := h.OwnedSecrets(s.ctx)
		if err != nil {
			return err
		}
		if err := s.checkInfos(fmt.Sprintf("%s owns", name), owned, u.Owns); err != nil {
			return err
		}
		info, err := h.Info(s.ctx)
		if err == nil {
			err = s.checkEvents(u, info.Secrets)
		}
		if err != nil {
			return err
		}
	}
	all, err := s.st.Secrets().List(s.ctx, state.SecretFilter{}, true)
	if err == nil {
		err = s.checkInfos("there are", all, func(*simulationtest.Secret) bool { return true })
	}
	if err != nil {
		return err
	}
	for _, info := range all {
		for n, r := range s.model.Secrets[info.ID].Revisions {
			content, err := s.st.Secrets().Content(s.ctx, info, n)
			if err != nil {
				return err
			}
			if content.Checksum() != r.Sum {
				return fmt.Errorf("the content of %s/%d is wrong", info.ID, n)
			}
		}
	}
	return nil
}

// checkSomeRead checks what some unit reads of some secret, if any has changed.
func (s *sim) checkSomeRead() error {
	if !s.shadow.hiding.changed {
		return nil
	}
	s.shadow.hiding.changed = false
	u := s.someUnit()
	id := one(s, slices.Concat(slices.Sorted(maps.Keys(s.model.Secrets)), s.model.Lingering()))
	if u == nil || id == "" {
		return nil
	}
	h, err := s.st.Unit(s.ctx, u.Name)
	if err != nil {
		return err
	}
	return s.checkRead(u, h, id, entity.SecretQuery{ID: id, Latest: s.rnd.IntN(2) == 0})
}

// labelOf returns how a unit calls a secret; "" if it doesn't.
func (s *sim) labelOf(u *simulationtest.Unit, id string) string {
	x := s.model.Secrets[id]
	if x == nil {
		return ""
	}
	if r := s.model.Reader(u, id); r != nil && r.Label != "" {
		return r.Label
	}
	if u.Owns(x) {
		return x.Label
	}
	return ""
}

// checkRead checks what a unit reads of a secret.
func (s *sim) checkRead(u *simulationtest.Unit, h *state.Unit, id string, q entity.SecretQuery) error {
	got, err := h.Secret(s.ctx, q)
	revision, sum, why := s.model.Read(u, id, q.Latest)
	switch kind := entity.KindOf(err); {
	case !why.Allows(kind) || err != nil && kind == "":
		return fmt.Errorf("%s reads %+v: got error %w, want one of %q", u.Name, q, err, []entity.Kind(why))
	case err == nil && (got.Secret.ID != id || got.Secret.Revision != revision || got.Secret.Content.Checksum() != sum):
		return fmt.Errorf("%s reads %+v: got revision %d, %.8s, want %d, %.8s", u.Name, q, got.Secret.Revision, got.Secret.Content.Checksum(),
			revision, sum)
	}
	for _, other := range got.Others {
		if revision, sum, why := s.model.Read(u, other.ID, false); why != nil || revision != other.Revision || sum != other.Content.Checksum() {
			return fmt.Errorf("%s reads revision %d of %s ahead, want %d (%v)", u.Name, other.Revision, other.ID, revision, why)
		}
	}
	return nil
}

// checkInfos checks how secrets are described.
func (s *sim) checkInfos(what string, got []entity.SecretInfo, of func(*simulationtest.Secret) bool) error {
	var has, want []string
	for _, info := range got {
		has = append(has, seen(info))
	}
	for _, id := range slices.Sorted(maps.Keys(s.model.Secrets)) {
		if x := s.model.Secrets[id]; of(x) {
			want = append(want, s.seen(x))
		}
	}
	if !slices.Equal(has, want) {
		return fmt.Errorf("%s\n%s\nwant\n%s", what, strings.Join(has, "\n"), strings.Join(want, "\n"))
	}
	return nil
}

// seen returns a line with what is told of a secret.
func seen(i entity.SecretInfo) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s %q latest %d %.8s prunes=%t %s", i.ID, i.Owner.ID, i.Label, i.Latest, i.Checksum, i.AutoPrune, i.Rotate)
	for _, r := range i.Revisions {
		fmt.Fprintf(&text, "; %d obsolete=%t", r.Revision, r.Obsolete)
	}
	for _, a := range i.Access {
		fmt.Fprintf(&text, "; %s in %q", a.Subject, a.Scope)
	}
	return text.String()
}

// seen returns the line that a secret should have.
func (s *sim) seen(x *simulationtest.Secret) string {
	i := entity.SecretInfo{ID: x.ID, Owner: entity.ModelTag(s.st.UUID()), Label: x.Label, Latest: x.Latest, AutoPrune: x.Prunes, Rotate: x.Rotate}
	switch {
	case x.Unit != nil:
		i.Owner = entity.UnitTag(x.Unit.Name)
	case x.Service != nil:
		i.Owner = entity.ServiceTag(x.Service.Name)
	}
	if r := x.Revisions[x.Latest]; r != nil {
		i.Checksum = r.Sum
	}
	for _, n := range slices.Sorted(maps.Keys(x.Revisions)) {
		i.Revisions = append(i.Revisions, entity.SecretRevision{Revision: n, Obsolete: s.model.IsObsolete(x, n)})
	}
	for _, subject := range entity.NaturalKeys(x.Granted) {
		a := entity.SecretAccess{Subject: subject}
		if while := x.Granted[subject]; while != nil {
			a.Scope = while.Key
		}
		i.Access = append(i.Access, a)
	}
	return seen(i)
}
