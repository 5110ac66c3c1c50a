package secrets

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// A unit reads what it tracks ahead, with the first secret that it asks for: at most so many, of so many bytes, as a
// charm that reads one usually reads all that it has.
const (
	aheadSecrets = 50
	aheadBytes   = 512 << 10
)

// documents are what decides whether a unit may read secrets, and the content, by id.
type documents struct {
	parties  map[string]modeldb.Party
	secrets  map[string]modeldb.Secret
	grants   map[string]modeldb.SecretGrant
	contents map[string]modeldb.SecretContent
}

// fetch reads the documents with these ids in one query.
func (s Secrets) fetch(ctx context.Context, into *documents, ids []string) error {
	var raw []bson.Raw
	if err := s.DB.All(ctx, modeldb.SecretsC, bson.D{{"_id", bson.D{{"$in", ids}}}}, &raw); err != nil {
		return err
	}
	if into.parties == nil {
		*into = documents{map[string]modeldb.Party{}, map[string]modeldb.Secret{}, map[string]modeldb.SecretGrant{},
			map[string]modeldb.SecretContent{}}
	}
	for _, r := range raw {
		var head struct {
			ID   string `bson:"_id"`
			Kind string `bson:"kind"`
		}
		err := r.Unmarshal(&head)
		switch head.Kind {
		case modeldb.KindParty:
			err = cmp.Or(err, keep(into.parties, head.ID, r))
		case modeldb.KindSecret:
			err = cmp.Or(err, keep(into.secrets, head.ID, r))
		case modeldb.KindGrant:
			err = cmp.Or(err, keep(into.grants, head.ID, r))
		case modeldb.KindContent:
			err = cmp.Or(err, keep(into.contents, head.ID, r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a party or a content was read.
func (d documents) has(id string) bool {
	_, party := d.parties[id]
	_, content := d.contents[id]
	return party || content
}

func keep[D any](docs map[string]D, id string, raw bson.Raw) error {
	var doc D
	err := raw.Unmarshal(&doc)
	docs[id] = doc
	return err
}

// keysOf returns the keys of a unit's service and of the unit, which may own secrets and be granted some.
func keysOf(u modeldb.Unit) []string {
	return []string{modeldb.ServiceKey(u.Service), modeldb.UnitKey(u.Name)}
}

// readBy are the ids of what decides whether a unit may read a secret of an owner, and of the scope of its grant, as far as
// they are known.
func readBy(u modeldb.Unit, id, owner, scope string) []string {
	ids := []string{id}
	for _, key := range keysOf(u) {
		ids = append(ids, key, modeldb.SecretGrantID(id, key))
	}
	for _, key := range []string{owner, scope} {
		if key != "" {
			ids = append(ids, key)
		}
	}
	return ids
}

// mayRead reports whether a unit may read a secret.
func (d documents) mayRead(u modeldb.Unit, doc modeldb.Secret) bool {
	if !d.ownedBy(doc) {
		return false
	}
	return slices.ContainsFunc(keysOf(u), func(key string) bool {
		g, there := d.grants[modeldb.SecretGrantID(doc.ID, key)]
		return doc.Owner == key || there && !g.Leaves() && inForce(g, &doc, d.token)
	})
}

// ownedBy reports whether the owner of a secret is there.
func (d documents) ownedBy(doc modeldb.Secret) bool { return d.token(doc.Owner) == doc.Token }

// token returns the token of a party; "" if there is none.
func (d documents) token(key string) string { return d.parties[key].Token }

// Read returns the secret that a unit asks for, and others that it tracks. The errors are Juju's: NotFound, and
// Unauthorized for a secret that there is and that was not granted to the unit.
func (s Secrets) Read(ctx context.Context, u modeldb.Unit, q entity.SecretQuery) (r entity.SecretRead, err error) {
	tracked, err := all[modeldb.SecretConsumer](ctx, s, modeldb.KindConsumer, bson.DocElem{Name: "unit", Value: u.Name})
	if err != nil {
		return r, err
	}
	if q.ID == "" {
		if q.ID, err = s.labelled(ctx, u, tracked, q.Label); err != nil {
			return r, err
		}
	}
	var mine modeldb.SecretConsumer
	if i := slices.IndexFunc(tracked, func(c modeldb.SecretConsumer) bool { return c.Secret == q.ID }); i >= 0 {
		mine = tracked[i]
		tracked = slices.Delete(tracked, i, i+1)
	}
	if entity.SecretOfKey(q.ID).Model != "" {
		r.Secret, err = s.elsewhereOf(ctx, u, mine, q)
		return r, err
	}
	tracked = slices.DeleteFunc(tracked, func(c modeldb.SecretConsumer) bool { return c.Model != "" })
	ids := readBy(u, q.ID, mine.Owner, mine.Scope)
	for _, n := range []int{mine.Tracked, mine.Latest} {
		if n > 0 {
			ids = append(ids, modeldb.SecretContentID(q.ID, n))
		}
	}
	ahead, bytes := tracked[:0:0], mine.Size
	for _, c := range tracked {
		if bytes += c.Size; len(ahead) == aheadSecrets || bytes > aheadBytes {
			break
		}
		ahead = append(ahead, c)
		ids = append(append(ids, readBy(u, c.Secret, c.Owner, c.Scope)...), modeldb.SecretContentID(c.Secret, c.Tracked))
	}
	slices.Sort(ids)
	var d documents
	if err := s.fetch(ctx, &d, slices.Compact(ids)); err != nil {
		return r, err
	}
	if r.Secret, err = s.value(ctx, &d, u, mine, q); err != nil {
		return r, err
	}
	for _, c := range ahead {
		doc, there := d.secrets[c.Secret]
		if !there || !d.mayRead(u, doc) || d.parties[modeldb.UnitKey(u.Name)].Token != c.Token {
			continue
		}
		content, there := d.contents[modeldb.SecretContentID(c.Secret, c.Tracked)]
		if !there {
			continue
		}
		value := valueOf(u, doc, c, c.Tracked)
		if value.Content, err = s.open(content); err == nil {
			r.Others = append(r.Others, value)
		}
	}
	return r, nil
}

// labelled returns the ID of the secret that a unit calls by a label: its own or its service's, or one that it has read.
func (s Secrets) labelled(ctx context.Context, u modeldb.Unit, tracked []modeldb.SecretConsumer,
	label string) (string, error) {
	for _, c := range tracked {
		if c.Label != label || label == "" {
			continue
		}
		if c.Model != "" {
			return c.Secret, nil
		}
		var d documents
		if err := s.fetch(ctx, &d, []string{c.Secret, c.Owner}); err != nil {
			return "", err
		}
		if doc, there := d.secrets[c.Secret]; there && d.ownedBy(doc) {
			return c.Secret, nil
		} // otherwise it has ended, and the cleaner has not come to it
	}
	owners := keysOf(u)
	owned, err := all[modeldb.Secret](ctx, s, modeldb.KindSecret, bson.DocElem{Name: "label", Value: label},
		bson.DocElem{Name: "service", Value: u.Service})
	if err != nil {
		return "", err
	}
	owned = slices.DeleteFunc(owned, func(doc modeldb.Secret) bool { return !slices.Contains(owners, doc.Owner) })
	var d documents
	if len(owned) > 1 { // all but one, at most, are of earlier services of that name
		if err := s.fetch(ctx, &d, owners); err != nil {
			return "", err
		}
	}
	for _, doc := range owned {
		if len(owned) == 1 || d.ownedBy(doc) {
			return doc.ID, nil
		}
	}
	return "", entity.Errorf(entity.NotFound, "consumer label %q not found", label)
}

// value returns the secret that a query is for; it reads what d lacks.
func (s Secrets) value(ctx context.Context, d *documents, u modeldb.Unit, mine modeldb.SecretConsumer,
	q entity.SecretQuery) (v entity.SecretValue, err error) {
	doc, there := d.secrets[q.ID]
	if !there {
		return v, errNotFound(q.ID)
	}
	if mine.Token != "" && d.parties[modeldb.UnitKey(u.Name)].Token != mine.Token {
		mine = modeldb.SecretConsumer{}
	}
	revision := mine.Tracked
	if q.Latest || revision == 0 {
		revision = doc.Latest
	}
	content := modeldb.SecretContentID(q.ID, revision)
	ids := []string{doc.Owner, content}
	for _, g := range d.grants {
		if g.Secret == doc.ID {
			ids = append(ids, g.Scope)
		}
	}
	if ids = slices.DeleteFunc(ids, d.has); len(ids) > 0 {
		slices.Sort(ids)
		if err := s.fetch(ctx, d, slices.Compact(ids)); err != nil {
			return v, err
		}
	}
	if !d.ownedBy(doc) {
		return v, errNotFound(q.ID)
	}
	if !d.mayRead(u, doc) {
		return v, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	sealed, there := d.contents[content]
	if !there {
		return v, errNoRevision(q.ID, revision)
	}
	v = valueOf(u, doc, mine, revision)
	v.Content, err = s.open(sealed)
	return v, err
}

func valueOf(u modeldb.Unit, doc modeldb.Secret, mine modeldb.SecretConsumer, revision int) entity.SecretValue {
	return entity.SecretValue{ID: doc.ID, Revision: revision, Latest: doc.Latest, Tracked: mine.Tracked, Label: mine.Label,
		OfUnit: doc.Owner == modeldb.UnitKey(u.Name), OfService: doc.Owner == modeldb.ServiceKey(u.Service)}
}

// Owned returns the secrets of a unit and of its service, by ID, with their grants.
func (s Secrets) Owned(ctx context.Context, u modeldb.Unit) ([]entity.SecretInfo, error) {
	docs, err := all[modeldb.Secret](ctx, s, modeldb.KindSecret,
		bson.DocElem{Name: "owner", Value: bson.D{{"$in", keysOf(u)}}})
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return s.infos(ctx, docs, true)
}

// manySecrets is from how many on all grants of the model are read, instead of those of each secret.
const manySecrets = 500

// infos describes secrets whose owners there are, by ID, with the grants in force if access is true.
func (s Secrets) infos(ctx context.Context, docs []modeldb.Secret, access bool) ([]entity.SecretInfo, error) {
	var given []modeldb.SecretGrant
	keys := map[string]bool{}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		keys[doc.Owner], ids[i] = true, doc.ID
	}
	if access {
		var of []bson.DocElem
		if len(ids) < manySecrets {
			of = append(of, bson.DocElem{Name: "secret", Value: bson.D{{"$in", ids}}})
		}
		var err error
		if given, err = all[modeldb.SecretGrant](ctx, s, modeldb.KindGrant, of...); err != nil {
			return nil, err
		}
		for _, g := range given {
			keys[g.Subject], keys[g.Scope] = true, true
		}
	}
	var d documents
	if err := s.fetch(ctx, &d, slices.Sorted(maps.Keys(keys))); err != nil {
		return nil, err
	}
	grants := map[string][]modeldb.SecretGrant{}
	for _, g := range given {
		grants[g.Secret] = append(grants[g.Secret], g)
	}
	infos := make([]entity.SecretInfo, 0, len(docs))
	for _, doc := range docs {
		if !d.ownedBy(doc) {
			continue
		}
		info := s.infoOf(doc)
		for _, g := range grants[doc.ID] {
			if inForce(g, &doc, d.token) {
				relation, _ := strconv.Atoi(strings.TrimPrefix(g.Scope, "r#"))
				info.Access = append(info.Access, entity.SecretAccess{Subject: modeldb.PartyTag(g.Subject, "").ID, Scope: g.ScopeName, Relation: relation})
			}
		}
		slices.SortFunc(info.Access, func(a, b entity.SecretAccess) int {
			return entity.CompareNatural(a.Subject, b.Subject)
		})
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b entity.SecretInfo) int { return strings.Compare(a.ID, b.ID) })
	return infos, nil
}

func (s Secrets) infoOf(doc modeldb.Secret) entity.SecretInfo {
	info := entity.SecretInfo{ID: doc.ID, Owner: modeldb.PartyTag(doc.Owner, s.DB.UUID), OfUnit: strings.HasPrefix(doc.Owner, "u#"),
		Label: doc.Label, Description: doc.Description, Rotate: doc.Rotate, NextRotate: doc.NextRotate,
		AutoPrune: doc.AutoPrune, Latest: doc.Latest, Checksum: s.checksum(doc), Created: doc.Created, Updated: doc.Updated,
		Expire: doc.Revisions[strconv.Itoa(doc.Latest)].Expire}
	for _, n := range numbers(doc) {
		r := doc.Revisions[n]
		info.Revisions = append(info.Revisions, entity.SecretRevision{Revision: number(n), Created: r.Created, Updated: r.Updated,
			Expire: r.Expire, Obsolete: r.Obsolete})
	}
	return info
}

// Events returns what a unit is to be told, in order: of its service's secrets what the leader is to be told.
func (s Secrets) Events(ctx context.Context, u modeldb.Unit) (events []entity.SecretEvent, err error) {
	var parties []modeldb.Party
	keys := []string{modeldb.UnitKey(u.Name), modeldb.ServiceKey(u.Service)}
	if err := s.DB.All(ctx, modeldb.SecretsC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &parties); err != nil || len(parties) == 0 {
		return nil, err
	}
	tokens, told := map[string]string{}, []string{}
	for _, p := range parties {
		tokens[p.Key] = p.Token
		if p.News > 0 {
			told = append(told, p.Key)
		}
	}
	if token := tokens[keys[0]]; token != "" {
		read, err := all[modeldb.SecretConsumer](ctx, s, modeldb.KindConsumer, bson.DocElem{Name: "unit", Value: u.Name})
		if err != nil {
			return nil, err
		}
		read = slices.DeleteFunc(read, func(c modeldb.SecretConsumer) bool { return c.Latest <= c.Told || c.Token != token })
		slices.SortFunc(read, func(a, b modeldb.SecretConsumer) int { return strings.Compare(a.ID, b.ID) })
		var ids []string
		for _, c := range read {
			if c.Model == "" {
				ids = append(ids, c.Secret, c.Owner)
			}
		}
		slices.Sort(ids)
		var d documents
		if len(ids) > 0 {
			if err := s.fetch(ctx, &d, slices.Compact(ids)); err != nil {
				return nil, err
			}
		}
		for _, c := range read {
			doc, there := d.secrets[c.Secret]
			if c.Model == "" && !(there && d.ownedBy(doc)) {
				continue // it has ended
			}
			label := c.Label
			if label == "" && (c.Owner == keys[0] || c.Owner == keys[1]) {
				label = doc.Label
			}
			events = append(events, entity.SecretEvent{Kind: entity.SecretChanged, ID: c.Secret, Revision: c.Latest, Label: label})
		}
	}
	if len(told) == 0 {
		return events, nil
	}
	docs, err := all[modeldb.Secret](ctx, s, modeldb.KindSecret,
		bson.DocElem{Name: "owner", Value: bson.D{{"$in", told}}}, bson.DocElem{Name: "news", Value: true})
	slices.SortFunc(docs, func(a, b modeldb.Secret) int { return strings.Compare(a.ID, b.ID) })
	for _, doc := range docs {
		if doc.Token == tokens[doc.Owner] {
			events = append(events, EventsOf(doc)...)
		}
	}
	return events, err
}

// Told returns the secrets, by ID, of which the owner has been told something that it has not acted on yet.
func (s Secrets) Told(ctx context.Context) ([]modeldb.Secret, error) {
	docs, err := all[modeldb.Secret](ctx, s, modeldb.KindSecret, bson.DocElem{Name: "news", Value: true})
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	owners := map[string]bool{}
	for _, doc := range docs {
		owners[doc.Owner] = true
	}
	var d documents
	if err := s.fetch(ctx, &d, slices.Sorted(maps.Keys(owners))); err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(doc modeldb.Secret) bool { return !d.ownedBy(doc) }) // it has ended with its owner
	slices.SortFunc(docs, func(a, b modeldb.Secret) int { return strings.Compare(a.ID, b.ID) })
	return docs, nil
}
