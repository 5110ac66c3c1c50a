package modelcheck

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
)

// judgeSecrets finds documents of secrets that no entity or secret stands behind and no cleanup will delete, and secrets
// whose revisions differ from what units read.
func judgeSecrets(v *view, id string) *check.Wrong {
	doc := v.Get(modeldb.SecretsC, id)
	if doc == nil {
		return nil
	}
	where := check.DocID{Collection: modeldb.SecretsC, ID: id}
	switch doc.Text("kind") {
	case modeldb.KindParty:
		return v.judgeParty(where, id, doc)
	case modeldb.KindSecret:
		if v.ended(doc.Text("owner"), doc.Text("token")) {
			return v.unlessCleaned(where, "its owner does not exist", modeldb.CleanupParty, doc.Text("token"))
		}
		return v.judgeSecret(where, doc)
	case modeldb.KindContent, modeldb.KindGrant, modeldb.KindConsumer:
		of := doc.Text("secret")
		if s := v.Get(modeldb.SecretsC, of); s == nil && doc.Text("model") == "" { // not of another model
			return v.unlessCleaned(where, "its secret does not exist", modeldb.CleanupSecret, of)
		}
		switch doc.Text("kind") {
		case modeldb.KindConsumer:
			if v.ended(modeldb.UnitKey(doc.Text("unit")), doc.Text("token")) {
				return v.unlessCleaned(where, "its unit does not exist", modeldb.CleanupParty, doc.Text("token"))
			}
		case modeldb.KindGrant:
			if token := doc.Text("token"); token != "" && v.ended(doc.Text("subject"), token) {
				return v.unlessCleaned(where, "whom it is for does not exist", modeldb.CleanupParty, doc.Text("token"))
			}
			if scope := doc.Text("scope"); v.Get(modeldb.SecretsC, scope) == nil {
				return v.unlessCleaned(where, "the relation does not exist", modeldb.CleanupGrants, scope)
			}
		}
		return nil
	}
	return check.Remove(where, "it is of no known kind", "remove it")
}

// ended reports whether the party with a key and a token does not exist.
func (v *view) ended(key, token string) bool {
	return v.Get(modeldb.SecretsC, key).Text("token") != token
}

// unlessCleaned reports a document that is left over, unless a cleanup will delete it.
func (v *view) unlessCleaned(where check.DocID, what, kind, arg string) *check.Wrong {
	if v.hasCleanup(kind, arg) || kind != modeldb.CleanupSecret &&
		v.hasCleanup(modeldb.CleanupSecret, v.Get(where.Collection, where.ID).Text("secret")) {
		return nil
	}
	return check.Remove(where, what, "remove it")
}

func (v *view) judgeParty(where check.DocID, key string, doc check.Row) *check.Wrong {
	if key == modeldb.ModelKey {
		return nil
	}
	kind, name := lifecycle.ParseKey(key)
	var there bool
	switch kind {
	case lifecycle.Relation:
		n, _ := strconv.Atoi(name)
		there = len(v.Where(modeldb.RelationsC, "id", n)) > 0
	case lifecycle.Service:
		there = v.Get(modeldb.ServicesC, name) != nil
	case lifecycle.Principal:
		there = v.Get(modeldb.UnitsC, name) != nil
	}
	if there {
		return nil
	}
	return check.Remove(where, fmt.Sprintf("%s does not exist, whose secrets it stands for", key), "remove it")
}

func (v *view) judgeSecret(where check.DocID, doc check.Row) *check.Wrong {
	readers := map[string]int{}
	for _, c := range v.Where(modeldb.SecretsC, "secret", doc.Text("_id")) {
		switch c.Text("kind") {
		case modeldb.KindConsumer:
			readers[strconv.Itoa(c.Number("tracked"))]++
		case modeldb.KindGrant:
			if c.Text("ownertoken") != doc.Text("token") {
				continue
			}
			tracked, _ := c["tracked"].([]any)
			for _, n := range tracked {
				revision, _ := check.AsNumber(n)
				readers[strconv.Itoa(revision)]++
			}
		}
	}
	revisions := doc.Doc("revisions")
	for _, n := range slices.Sorted(maps.Keys(revisions)) {
		r := revisions.Doc(n)
		if is := readers[n]; r.Number("readers") != is {
			return check.Update(where, fmt.Sprintf("%d read its revision %s, and it says %d", is, n,
				r.Number("readers")), "set that",
				bson.D{{Name: "$set", Value: bson.D{{Name: "revisions." + n + ".readers", Value: is}}}})
		}
		number, _ := strconv.Atoi(n)
		obsolete := readers[n] == 0 && number != doc.Number("latest")
		if said := r["obsolete"] == true; said != obsolete {
			return check.Update(where, fmt.Sprintf("its revision %s is said to be obsolete: %v", n, said),
				"set that from who reads it",
				bson.D{{Name: "$set", Value: bson.D{{Name: "revisions." + n + ".obsolete", Value: obsolete}}}})
		}
		content := modeldb.SecretContentID(doc.Text("_id"), number)
		if v.Get(modeldb.SecretsC, content) == nil {
			return &check.Wrong{Where: check.DocID{Collection: modeldb.SecretsC, ID: content},
				What: "the content of a revision is missing"}
		}
	}
	return nil
}
