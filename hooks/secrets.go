package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"juju/hooks/hooktools"
	"juju/state/entity"
	"juju/state/limits"
)

// A secretBuffer is a hook's view of secrets, with the hook's changes. It is locked while the controller is asked, so tools
// that run at once ask once and see the same.
type secretBuffer struct {
	mu    sync.Mutex
	owned map[string]entity.SecretInfo // by ID, as the controller has them; nil until they are read

	// What was read, by ID: the revision that the unit tracks, and the latest.
	tracked, latest map[string]entity.SecretValue
	kept            int // bytes of content in both

	changes         entity.SecretChanges
	settings, bytes int // of changes, as they count towards the hook's limits
}

// maxSecretsKept is how many bytes of content a hook keeps of what it has read. It asks again for more.
const maxSecretsKept = 16 << 20

// change changes a copy of the buffer's changes, which replaces them unless the hook would change too much. It checks that
// immediately: at commit time the hook has exited, and can't report errors.
func (b *secretBuffer) change(c *changed, do func(*entity.SecretChanges)) error {
	next := b.changes
	next.Create, next.Update, next.Remove = slices.Clone(next.Create), slices.Clone(next.Update), slices.Clone(next.Remove)
	next.Grant, next.Revoke, next.Track = slices.Clone(next.Grant), slices.Clone(next.Revoke), slices.Clone(next.Track)
	do(&next)
	settings, bytes := sizeOfSecrets(next)
	if err := c.resize(settings-b.settings, bytes-b.bytes); err != nil {
		return fmt.Errorf("cannot change secrets: %w", err)
	}
	b.changes, b.settings, b.bytes = next, settings, bytes
	return nil
}

// sizeOfSecrets returns how many settings changes of secrets count as, and the most bytes that they take in JSON.
func sizeOfSecrets(changes entity.SecretChanges) (settings, bytes int) {
	const entry = 256 // more than the JSON of a change without its texts
	count := func(content map[string]string, texts ...*string) {
		settings += 1 + len(content)
		bytes += entry
		for key, value := range content {
			bytes += len(`"":"",`) + len(key) + len(value) // base64 is as it is in JSON
		}
		for _, text := range texts {
			if text != nil {
				bytes += limits.JSONSize("", *text)
			}
		}
	}
	for _, s := range changes.Create {
		count(s.Content, s.Label, s.Description)
	}
	for _, s := range changes.Update {
		count(s.Content, s.Label, s.Description)
	}
	for range changes.Remove {
		count(nil)
	}
	for _, g := range changes.Grant {
		count(nil, &g.Subject)
	}
	for _, r := range changes.Revoke {
		count(nil, &r.Subject)
	}
	for _, t := range changes.Track {
		count(nil, &t.Label)
	}
	return settings, bytes
}

func (b *secretBuffer) addTo(changes *entity.HookChanges) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.settings > 0 { // each change counts as one or more
		secrets := b.changes
		changes.Secrets = &secrets
	}
}

// created returns the index of the new secret with an ID, -1 if the hook has not made it.
func (b *secretBuffer) created(id string) int {
	return slices.IndexFunc(b.changes.Create, func(s entity.NewSecret) bool { return s.ID == id })
}

// update returns the hook's update of a secret, or the zero update.
func (b *secretBuffer) update(id string) entity.SecretUpdate {
	for _, u := range b.changes.Update {
		if u.ID == id {
			return u
		}
	}
	return entity.SecretUpdate{}
}

// removed reports whether the hook has removed all of a secret.
func (b *secretBuffer) removed(id string) bool {
	return slices.Contains(b.changes.Remove, entity.SecretRemoval{ID: id})
}

// tracking returns what the hook has changed about how the unit reads a secret, or the zero value.
func (b *secretBuffer) tracking(id string) entity.SecretTracking {
	for _, t := range b.changes.Track {
		if t.ID == id {
			return t
		}
	}
	return entity.SecretTracking{}
}

// label returns the label by which the unit knows a secret, given what it was when the hook began.
func (b *secretBuffer) label(id, was string) string {
	if label := b.update(id).Label; label != nil {
		return *label
	}
	return cmp.Or(b.tracking(id).Label, was)
}

// idOf returns the ID of the secret that has a label, as far as the hook knows, or "".
func (b *secretBuffer) idOf(label string) string {
	for _, s := range b.changes.Create {
		if s.Label != nil && *s.Label == label {
			return s.ID
		}
	}
	for id, info := range b.owned {
		if b.label(id, info.Label) == label {
			return id
		}
	}
	for _, values := range []map[string]entity.SecretValue{b.tracked, b.latest} {
		for id, v := range values {
			if b.label(id, v.Label) == label {
				return id
			}
		}
	}
	for _, t := range b.changes.Track {
		if t.Label == label {
			return t.ID
		}
	}
	return ""
}

// keep remembers what was read, unless it is much.
func (b *secretBuffer) keep(v entity.SecretValue) {
	if b.tracked == nil {
		b.tracked, b.latest = map[string]entity.SecretValue{}, map[string]entity.SecretValue{}
	}
	keep := func(values map[string]entity.SecretValue) {
		size := 0
		for _, text := range v.Content {
			size += len(text)
		}
		if _, ok := values[v.ID]; !ok && b.kept+size <= maxSecretsKept {
			values[v.ID] = v
			b.kept += size
		}
	}
	if v.Revision == v.Latest {
		keep(b.latest)
	}
	if v.Tracked == 0 || v.Tracked == v.Revision {
		keep(b.tracked)
	}
}

// track makes the unit track a revision of a secret from now on, and call it by a label unless that is "".
func (b *secretBuffer) track(c *changed, id string, revision int, label string) error {
	if b.removed(id) {
		return nil
	}
	return b.change(c, func(changes *entity.SecretChanges) {
		t := entity.SecretTracking{ID: id, Revision: revision, Label: cmp.Or(label, b.tracking(id).Label)}
		i := slices.IndexFunc(changes.Track, func(t entity.SecretTracking) bool { return t.ID == id })
		if i < 0 {
			changes.Track = append(changes.Track, t)
		} else {
			changes.Track[i] = t
		}
	})
}

// leadsSecrets returns errNotLeader unless the unit leads its service. Its changes then have the epoch of its claim.
func (c *Context) leadsSecrets(ctx context.Context) error {
	epoch, err := c.leads(ctx)
	if err != nil {
		return fmt.Errorf("cannot determine leadership: %w", err)
	}
	if epoch == 0 {
		return errNotLeader
	}
	c.secrets.changes.Epoch = cmp.Or(c.secrets.changes.Epoch, epoch)
	return nil
}

// secretID returns the ID of a secret of the unit's model, to change it.
func (c *Context) secretID(uri entity.SecretURI) (string, error) {
	if !uri.IsIn(c.params.ModelUUID) {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "secret %q not found", uri),
			"It is in another model, where alone it can be changed.")
	}
	return uri.ID, nil
}

// ownedSecrets returns the secrets of the unit and its service, as the controller has them.
func (c *Context) ownedSecrets(ctx context.Context) (map[string]entity.SecretInfo, error) {
	if c.secrets.owned == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		all, err := c.backend.OwnedSecrets(ctx, c.unit)
		if err != nil {
			return nil, fmt.Errorf("cannot read the unit's secrets: %w", err)
		}
		c.secrets.owned = map[string]entity.SecretInfo{}
		for _, info := range all {
			c.secrets.owned[info.ID] = info
		}
	}
	return c.secrets.owned, nil
}

// ownedSecret returns a secret that the unit can change, with the hook's changes. ok is false if it is not among those of the
// unit and its service; the error is errNotLeader if only the leader can change it.
func (c *Context) ownedSecret(ctx context.Context, id string) (info entity.SecretInfo, ok bool, err error) {
	owned, err := c.ownedSecrets(ctx)
	if err != nil {
		return entity.SecretInfo{}, false, err
	}
	info, ok = owned[id]
	if i := c.secrets.created(id); i >= 0 {
		info, ok = describe(c.secrets.changes.Create[i]), true
	}
	if !ok {
		return entity.SecretInfo{}, false, nil
	}
	if !info.OfUnit {
		if err := c.leadsSecrets(ctx); err != nil {
			return entity.SecretInfo{}, false, err
		}
	}
	info.Access = c.access(info)
	return info, true, nil
}

// describe returns what there is to say about a new secret.
func describe(s entity.NewSecret) entity.SecretInfo {
	info := entity.SecretInfo{ID: s.ID, OfUnit: s.OfUnit, Latest: 1, Checksum: s.Content.Checksum()}
	describeSettings(&info, s.SecretSettings)
	return info
}

func describeSettings(info *entity.SecretInfo, s entity.SecretSettings) {
	if s.Label != nil {
		info.Label = *s.Label
	}
	if s.Description != nil {
		info.Description = *s.Description
	}
	if s.Rotate != nil {
		info.Rotate = *s.Rotate
	}
	if s.Expire != nil {
		info.Expire = *s.Expire
	}
}

// access returns who may read a secret once the hook has succeeded. Revocations are made before grants.
func (c *Context) access(info entity.SecretInfo) (all []entity.SecretAccess) {
	for _, a := range info.Access {
		if !slices.Contains(c.secrets.changes.Revoke, entity.SecretRevocation{ID: info.ID, Subject: a.Subject}) {
			all = append(all, a)
		}
	}
	for _, g := range c.secrets.changes.Grant {
		if g.ID == info.ID {
			all = append(all, entity.SecretAccess{Subject: g.Subject, Scope: c.params.Relations[g.Relation].Key, Relation: g.Relation})
		}
	}
	return all
}

func (c toolContext) Secret(ctx context.Context, r hooktools.SecretRequest) (entity.SecretContent, error) {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	var id string
	if r.URI == nil {
		id = b.idOf(r.Label)
	} else {
		id = r.URI.Key(c.params.ModelUUID)
	}
	named := r.URI != nil && r.Label != ""
	if i := b.created(id); i >= 0 {
		content := b.changes.Create[i].Content
		if !named {
			return content, nil
		}
		return content, b.change(&c.changed, func(changes *entity.SecretChanges) { changes.Create[i].Label = &r.Label })
	}
	query := entity.SecretQuery{ID: id, Latest: r.Peek || r.Refresh}
	if id == "" {
		query.Label = r.Label
	}
	updated, next := b.update(id).Content, b.owned[id].Latest+1
	if updated != nil && b.tracking(id).Revision == next { // the hook has refreshed it
		query.Latest = true
	}
	v, err := c.readSecret(ctx, query)
	if err != nil {
		return nil, err
	}
	if updated != nil && query.Latest {
		v.Content, v.Revision = updated, next
	}
	if !r.Peek && v.Tracked != v.Revision {
		if err := b.track(&c.changed, v.ID, v.Revision, ""); err != nil {
			return nil, err
		}
		v.Tracked = v.Revision
	}
	if named {
		err = c.nameSecret(ctx, v, r.Label)
	}
	return v.Content, err
}

// readSecret returns the revision of a secret that the unit tracks, or the latest. That is the same until the hook ends.
func (c *Context) readSecret(ctx context.Context, query entity.SecretQuery) (entity.SecretValue, error) {
	b := &c.secrets
	tracked := b.tracking(query.ID).Revision // since this hook
	v, ok := b.tracked[query.ID]
	if latest, has := b.latest[query.ID]; query.Latest || tracked != 0 && tracked == latest.Revision {
		v, ok = latest, has
	}
	if !ok {
		query.Latest = query.Latest || tracked != 0
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		read, err := c.backend.Secret(ctx, c.unit, query)
		if err != nil {
			return entity.SecretValue{}, err
		}
		for _, v := range append([]entity.SecretValue{read.Secret}, read.Others...) {
			b.keep(v)
		}
		v = read.Secret
	}
	v.Tracked = cmp.Or(b.tracking(v.ID).Revision, v.Tracked)
	return v, nil
}

// nameSecret gives a secret the label by which the unit calls it. If the unit owns the secret, or leads the service that
// does, that is the owner's label. The service's other units use that label and have none of their own.
func (c *Context) nameSecret(ctx context.Context, v entity.SecretValue, label string) error {
	b := &c.secrets
	switch {
	case b.label(v.ID, v.Label) == label:
		return nil
	case !v.OfUnit && !v.OfService:
		return b.track(&c.changed, v.ID, cmp.Or(v.Tracked, v.Revision), label)
	case !v.OfUnit:
		if err := c.leadsSecrets(ctx); errors.Is(err, errNotLeader) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return b.change(&c.changed, func(changes *entity.SecretChanges) { updateOf(changes, v.ID).Label = &label })
}

// updateOf returns the update of a secret, which it adds if needed.
func updateOf(changes *entity.SecretChanges, id string) *entity.SecretUpdate {
	i := slices.IndexFunc(changes.Update, func(u entity.SecretUpdate) bool { return u.ID == id })
	if i < 0 {
		i = len(changes.Update)
		changes.Update = append(changes.Update, entity.SecretUpdate{ID: id})
	}
	return &changes.Update[i]
}

func (c toolContext) AddSecret(ctx context.Context, ofUnit bool, s entity.SecretSettings) (entity.SecretURI, error) {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ofUnit {
		if err := c.leadsSecrets(ctx); err != nil {
			return entity.SecretURI{}, err
		}
	}
	if s.Label != nil && slices.ContainsFunc(b.changes.Create, func(other entity.NewSecret) bool {
		return other.Label != nil && *other.Label == *s.Label
	}) {
		return entity.SecretURI{}, entity.Errorf(entity.AlreadyExists, "secret with label %q already exists", *s.Label)
	}
	made := entity.NewSecret{ID: entity.NewSecretID(), OfUnit: ofUnit, SecretSettings: s}
	err := b.change(&c.changed, func(changes *entity.SecretChanges) { changes.Create = append(changes.Create, made) })
	return entity.SecretURI{Model: c.params.ModelUUID, ID: made.ID}, err
}

// UpdateSecret changes what is set. Content that the latest revision has already makes no new one. A secret that is not the
// unit's is refused by the controller when the hook's changes are committed.
func (c toolContext) UpdateSecret(ctx context.Context, uri entity.SecretURI, s entity.SecretSettings) error {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	id, err := c.secretID(uri)
	if err != nil {
		return err
	}
	info, known, err := c.ownedSecret(ctx, id)
	if err != nil || isUnset(s) {
		return err
	}
	return b.change(&c.changed, func(changes *entity.SecretChanges) {
		if i := b.created(id); i >= 0 {
			merge(&changes.Create[i].SecretSettings, s)
			return
		}
		update := updateOf(changes, id)
		merge(&update.SecretSettings, s)
		if known && s.Content != nil && s.Content.Checksum() == info.Checksum {
			update.Content = nil
			for i, t := range changes.Track {
				if t.ID == id { // there will be no newer one to track
					changes.Track[i].Revision = min(t.Revision, info.Latest)
				}
			}
		}
		if isUnset(update.SecretSettings) {
			changes.Update = slices.DeleteFunc(changes.Update, func(u entity.SecretUpdate) bool { return u.ID == id })
			return
		}
		changes.Remove = slices.DeleteFunc(changes.Remove, func(r entity.SecretRemoval) bool { return r == entity.SecretRemoval{ID: id} })
	})
}

func isUnset(s entity.SecretSettings) bool {
	return s.Label == nil && s.Description == nil && s.Rotate == nil && s.Expire == nil && s.Content == nil
}

// merge sets in a what is set in b.
func merge(a *entity.SecretSettings, b entity.SecretSettings) {
	a.Label, a.Description = cmp.Or(b.Label, a.Label), cmp.Or(b.Description, a.Description)
	a.Rotate, a.Expire = cmp.Or(b.Rotate, a.Rotate), cmp.Or(b.Expire, a.Expire)
	if b.Content != nil {
		a.Content = b.Content
	}
}

// RemoveSecret removes a revision of a secret, or all of it and of what the hook has done with it if the revision is 0.
func (c toolContext) RemoveSecret(ctx context.Context, uri entity.SecretURI, revision int) error {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	id, err := c.secretID(uri)
	if err != nil {
		return err
	}
	if _, _, err := c.ownedSecret(ctx, id); err != nil {
		return err
	}
	isNew := b.created(id) >= 0
	if isNew && revision > 1 || b.removed(id) {
		return nil // there is no such revision
	}
	if isNew {
		revision = 0
	}
	removal := entity.SecretRemoval{ID: id, Revision: revision}
	return b.change(&c.changed, func(changes *entity.SecretChanges) {
		if revision == 0 {
			changes.Create = slices.DeleteFunc(changes.Create, func(s entity.NewSecret) bool { return s.ID == id })
			changes.Update = slices.DeleteFunc(changes.Update, func(u entity.SecretUpdate) bool { return u.ID == id })
			changes.Remove = slices.DeleteFunc(changes.Remove, func(r entity.SecretRemoval) bool { return r.ID == id })
			changes.Grant = slices.DeleteFunc(changes.Grant, func(g entity.SecretGrant) bool { return g.ID == id })
			changes.Revoke = slices.DeleteFunc(changes.Revoke, func(r entity.SecretRevocation) bool { return r.ID == id })
			changes.Track = slices.DeleteFunc(changes.Track, func(t entity.SecretTracking) bool { return t.ID == id })
		}
		if !isNew && !slices.Contains(changes.Remove, removal) {
			changes.Remove = append(changes.Remove, removal)
		}
	})
}

func (c toolContext) OwnedSecrets(ctx context.Context) ([]entity.SecretInfo, error) {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	owned, err := c.ownedSecrets(ctx)
	if err != nil {
		return nil, err
	}
	epoch, err := c.leads(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot determine leadership: %w", err)
	}
	all := []entity.SecretInfo{}
	for id, info := range owned {
		if b.removed(id) || !info.OfUnit && epoch == 0 {
			continue
		}
		describeSettings(&info, b.update(id).SecretSettings)
		all = append(all, info)
	}
	for _, s := range b.changes.Create {
		all = append(all, describe(s))
	}
	for i, info := range all {
		all[i].Access = c.access(info)
	}
	slices.SortFunc(all, func(x, y entity.SecretInfo) int { return cmp.Compare(x.ID, y.ID) })
	return all, nil
}

// GrantSecret lets the service at the other end of a relation read a secret, or only one of its units unless that is "".
func (c toolContext) GrantSecret(ctx context.Context, uri entity.SecretURI, relation int, unit string) error {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	id, err := c.secretID(uri)
	if err != nil {
		return err
	}
	info, ok, err := c.ownedSecret(ctx, id)
	if err != nil {
		return err
	}
	if !ok || b.removed(id) {
		return entity.Errorf(entity.NotFound, "secret %q not found", id)
	}
	if with := c.params.Relations[relation]; with.Model != "" {
		if err := entity.CheckSharing(with.Offered, unit); err != nil {
			return err
		}
	}
	grant := entity.SecretGrant{ID: id, Relation: relation, Subject: cmp.Or(unit, c.params.Relations[relation].Remote)}
	for _, a := range info.Access {
		if a.Scope == "" || a.Relation != relation {
			continue
		}
		if a.Subject == grant.Subject || entity.IsValidService(a.Subject) {
			return nil
		}
		if unit == "" {
			return entity.WithHint(entity.Errorf(entity.Invalid,
				"any unit level grants need to be revoked before granting access to the corresponding application"),
				"secret-revoke %s --unit %s", uri, a.Subject)
		}
	}
	return b.change(&c.changed, func(changes *entity.SecretChanges) { changes.Grant = append(changes.Grant, grant) })
}

// RevokeSecret ends the grants of a secret to a service or unit.
func (c toolContext) RevokeSecret(ctx context.Context, uri entity.SecretURI, subject string) error {
	b := &c.secrets
	b.mu.Lock()
	defer b.mu.Unlock()
	id, err := c.secretID(uri)
	if err != nil {
		return err
	}
	if _, _, err := c.ownedSecret(ctx, id); err != nil {
		return err
	}
	revocation := entity.SecretRevocation{ID: id, Subject: subject}
	return b.change(&c.changed, func(changes *entity.SecretChanges) {
		changes.Grant = slices.DeleteFunc(changes.Grant, func(g entity.SecretGrant) bool {
			return g.ID == id && g.Subject == subject
		})
		if b.created(id) < 0 && !b.removed(id) && !slices.Contains(changes.Revoke, revocation) {
			changes.Revoke = append(changes.Revoke, revocation)
		}
	})
}
