package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/mongo"
)

// bookkeeping is what the transaction runner keeps; no dump shows it.
var bookkeeping = []string{mongo.TxnsC, mongo.TxnsC + ".prune", mongo.StashC, mongo.LogC, mongo.RefusalsC}

// Dump returns every document of the model, by collection, in the order of their
// ids, without what the transaction runner adds to them and without secrets. It
// is for people and for tests; each document is plain JSON.
func (st *State) Dump(ctx context.Context) (map[string][]json.RawMessage, error) {
	counts, err := st.db.Census()
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
				return nil, fmt.Errorf("cannot dump %s %v: %w", collection, doc["_id"], err)
			}
			dump[collection] = append(dump[collection], text)
		}
	}
	return dump, nil
}
