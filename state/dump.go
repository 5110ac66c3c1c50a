package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// bookkeeping is what the transaction runner keeps; no dump shows it.
var bookkeeping = []string{mongo.TxnsC, mongo.TxnsC + ".prune", mongo.StashC, mongo.LogC, mongo.RefusalsC}

// Dump returns every document of the model, by collection, in the order of their
// ids, without what the transaction runner adds to them and without secrets. It
// is for people and for tests; each document is plain JSON.
func (st *State) Dump(ctx context.Context) (map[string][]json.RawMessage, error) {
	counts, err := st.db.Counts()
	if err != nil {
		return nil, err
	}
	dump := map[string][]json.RawMessage{}
	for _, collection := range slices.Sorted(maps.Keys(counts)) {
		if slices.Contains(bookkeeping, collection) {
			continue
		}
		var docs []bson.M
		if err := st.db.All(collection, nil, &docs); err != nil {
			return nil, err
		}
		sortBy(docs, func(d bson.M) string { return fmt.Sprint(d["_id"]) })
		for _, doc := range docs {
			delete(doc, "txn-revno")
			delete(doc, "txn-queue")
			for _, field := range mongo.Secrets {
				if v, there := doc[field]; there && v != "" {
					doc[field] = "(not shown)"
				}
			}
			text, err := json.Marshal(doc)
			if err != nil {
				// Most of it can be written; what can't is said in its place.
				if text, err = json.Marshal(writable(doc)); err != nil {
					return nil, fmt.Errorf("cannot dump %s %v: %w", collection, doc["_id"], err)
				}
			}
			dump[collection] = append(dump[collection], text)
		}
	}
	return dump, nil
}

// writable returns a stored value with a note in the place of all that JSON can't hold.
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

// writableTime returns t, or the zero time for one that no answer can hold.
func writableTime(t time.Time) time.Time {
	if !entity.WritableTime(t) {
		return time.Time{}
	}
	return t
}
