package mongo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// runners are the collections of the transaction runner; no dump shows them.
var runners = []string{TxnsC, TxnsC + ".prune", StashC, LogC, RefusalsC}

// Dump returns every document of the database, by collection, sorted by id, as plain JSON.
// It leaves out the fields that the transaction runner adds, and secrets. It is for people and
// tests.
func (d *Database) Dump() (map[string][]json.RawMessage, error) {
	counts, err := d.Counts()
	if err != nil {
		return nil, err
	}
	dump := map[string][]json.RawMessage{}
	for _, collection := range slices.Sorted(maps.Keys(counts)) {
		if slices.Contains(runners, collection) {
			continue
		}
		var docs []bson.M
		if err := d.All(collection, nil, &docs); err != nil {
			return nil, err
		}
		entity.SortBy(docs, func(d bson.M) string { return fmt.Sprint(d["_id"]) })
		for _, doc := range docs {
			delete(doc, "txn-revno")
			delete(doc, "txn-queue")
			for _, field := range Secrets {
				if v, there := doc[field]; there && v != "" {
					doc[field] = "(not shown)"
				}
			}
			text, err := json.Marshal(doc)
			if err != nil {
				// Replace what JSON can't hold by a note.
				if text, err = json.Marshal(writable(doc)); err != nil {
					return nil, fmt.Errorf("cannot dump %s %v: %w", collection, doc["_id"], err)
				}
			}
			dump[collection] = append(dump[collection], text)
		}
	}
	return dump, nil
}

// writable returns a stored value with notes in place of what JSON can't hold.
func writable(v any) any {
	switch v := v.(type) {
	case bson.M:
		out := make(bson.M, len(v))
		for k, inner := range v {
			out[k] = writable(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = writable(inner)
		}
		return out
	}
	if _, err := json.Marshal(v); err != nil {
		return fmt.Sprintf("(damaged: %v)", err)
	}
	return v
}
