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

// bookkeeping are the collections of the transaction runner; no dump shows them.
var bookkeeping = []string{mongo.TxnsC, mongo.TxnsC + ".prune", mongo.StashC, mongo.LogC, mongo.RefusalsC}

// Dump returns every document of the model, by collection, sorted by id, as plain JSON.
// It leaves out the fields that the transaction runner adds, and secrets. It is for
// people and tests.
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

// writableTime returns t, or the zero time if JSON can't hold t.
func writableTime(t time.Time) time.Time {
	if !entity.WritableTime(t) {
		return time.Time{}
	}
	return t
}
