package state_test

import (
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/internal/modeldb"
)

// part returns a part of an update, such as its $set, and the rest.
func part(update any, name string) (fields, rest bson.D) {
	all, _ := update.(bson.D)
	for _, e := range all {
		if d, ok := e.Value.(bson.D); ok && e.Name == name {
			fields = d
		} else {
			rest = append(rest, e)
		}
	}
	return fields, rest
}

// unchanged omits the changes of fields of secrets that which matches, in a part of an update.
func unchanged(name string, which func(e bson.DocElem, all []txn.Op) bool) func(*txn.Op, []txn.Op) (bool, bool) {
	return func(op *txn.Op, all []txn.Op) (bool, bool) {
		fields, rest := part(op.Update, name)
		kept := slices.DeleteFunc(slices.Clone(fields), func(e bson.DocElem) bool { return which(e, all) })
		if op.C != modeldb.SecretsC || len(kept) == len(fields) {
			return false, false
		}
		if len(kept) > 0 {
			rest = append(rest, bson.DocElem{Name: name, Value: kept})
		}
		if op.Update = rest; len(rest) == 0 {
			op.Update = nil
		}
		return false, true
	}
}

// ofReaders reports whether operations remove what units have read.
func ofReaders(all []txn.Op) bool {
	return slices.ContainsFunc(all, func(op txn.Op) bool { return in(&op, modeldb.SecretsC, "unit-") && op.Remove })
}

// secretsOf reports whether operations change secrets.
func secretsOf(all []txn.Op) bool {
	return slices.ContainsFunc(all, func(op txn.Op) bool { return op.C == modeldb.SecretsC && !onlyAsserts(&op) })
}

// byName gives services and what is theirs a token that others of the same name had.
func byName(op *txn.Op, all []txn.Op) (drop, done bool) {
	token := func(key, was string) string {
		if strings.HasPrefix(key, "s#") && op.Insert != nil {
			done = done || was != "of "+key
			return "of " + key
		}
		return was
	}
	owner := func(id, was string) string {
		for _, other := range all {
			if x, ok := other.Insert.(modeldb.Secret); ok && x.ID == id {
				return token(x.Owner, was)
			}
		}
		return was
	}
	switch doc := op.Insert.(type) {
	case modeldb.Party:
		doc.Token = token(doc.Key, doc.Token)
		op.Insert = doc
	case modeldb.Secret:
		doc.Token = token(doc.Owner, doc.Token)
		op.Insert = doc
	case modeldb.SecretGrant:
		doc.Token, doc.OwnerToken = token(doc.Subject, doc.Token), owner(doc.Secret, doc.OwnerToken)
		op.Insert = doc
	case modeldb.SecretConsumer:
		doc.OwnerToken = owner(doc.Secret, doc.OwnerToken)
		op.Insert = doc
	}
	return false, done
}

// secretFaults are those that only secrets can show.
var secretFaults = []fault{
	{"secrets", "a grant outlives its relation", dropped(func(op *txn.Op, all []txn.Op) bool {
		return removed(modeldb.SecretsC, "r#")(op, all) || cleanupOf("grants")(op, all)
	})},
	{"names", "a service has what one of the same name had", byName},
	{"secrets", "a removed unit is still counted as a reader", unchanged("$inc", func(e bson.DocElem, all []txn.Op) bool {
		return strings.HasSuffix(e.Name, ".readers") && ofReaders(all)
	})},
	{"secrets", "a revoked grant stays", dropped(func(op *txn.Op, _ []txn.Op) bool {
		id, _ := op.Id.(string)
		return op.C == modeldb.SecretsC && op.Remove && strings.IndexByte(id, '#') == 20
	})},
	{"secrets", "a revision is pruned without asserting that nothing reads it", func(op *txn.Op, _ []txn.Op) (drop, done bool) {
		unset, _ := part(op.Update, "$unset")
		pruned := slices.ContainsFunc(unset, func(e bson.DocElem) bool {
			return strings.HasPrefix(e.Name, "revisions.") && strings.Count(e.Name, ".") == 1
		})
		assert, _ := op.Assert.(bson.D)
		kept := slices.DeleteFunc(slices.Clone(assert), func(e bson.DocElem) bool { return strings.HasSuffix(e.Name, ".readers") })
		if op.C != modeldb.SecretsC || !pruned || len(kept) == len(assert) {
			return false, false
		}
		op.Assert = kept
		return false, true
	}},
	{"secrets", "an owner is not told that nothing reads a revision", unchanged("$set", func(e bson.DocElem, _ []txn.Op) bool { return e.Name == "news" })},
	{"secrets", "readers are not told of a revision", dropped(cleanupOf("tell"))},
	{"secrets", "a former leader changes a secret", dropped(func(op *txn.Op, all []txn.Op) bool {
		return op.C == modeldb.LeadersC && onlyAsserts(op) && secretsOf(all)
	})},
	{"secrets", "a label is given without asserting that it is free", func(op *txn.Op, _ []txn.Op) (drop, done bool) {
		assert, _ := op.Assert.(bson.D)
		kept := slices.DeleteFunc(slices.Clone(assert), func(e bson.DocElem) bool { return e.Name == "labels" })
		if op.C != modeldb.SecretsC || len(kept) == len(assert) {
			return false, false
		}
		op.Assert = kept
		return false, true
	}},
	{"secrets", "a secret that is removed leaves its content", dropped(cleanupOf("secret"))},
	{"secrets", "a removed unit keeps its secrets", dropped(removed(modeldb.SecretsC, "u#"))},
	{"secrets", "a rotation that is due is forgotten", unchanged("$set", func(e bson.DocElem, _ []txn.Op) bool { return e.Name == "rotatedue" })},
}
