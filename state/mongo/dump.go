package mongo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// runners are the collections of the transaction runner, which are omitted from dumps.
var runners = []string{TxnsC, TxnsC + ".prune", StashC, LogC, RefusalsC}

// Dump returns every document of the database as plain JSON, by collection, sorted by id. It omits the fields
// of the transaction runner, and secrets. It is for humans and tests.
func (d *Database) Dump(ctx context.Context) (map[string][]json.RawMessage, error) {
	counts, err := d.Counts(ctx)
	if err != nil {
		return nil, err
	}
	dump := map[string][]json.RawMessage{}
	for _, collection := range slices.Sorted(maps.Keys(counts)) {
		if slices.Contains(runners, collection) {
			continue
		}
		var docs []bson.M
		if err := d.All(ctx, collection, nil, &docs); err != nil {
			return nil, err
		}
		slices.SortFunc(docs, func(a, b bson.M) int {
			return entity.CompareNatural(fmt.Sprint(a["_id"]), fmt.Sprint(b["_id"]))
		})
		for _, doc := range docs {
			for _, field := range TxnFields {
				delete(doc, field)
			}
			for _, field := range Secrets {
				if v, there := doc[field]; there && v != "" {
					doc[field] = "(not shown)"
				}
			}
			text, err := json.Marshal(doc)
			if err != nil {
				// Replace values that JSON can't represent with notes.
				if text, err = json.Marshal(writable(doc)); err != nil {
					return nil, fmt.Errorf("cannot dump %s %v: %w", collection, doc["_id"], err)
				}
			}
			dump[collection] = append(dump[collection], text)
		}
	}
	return dump, nil
}

// writable returns a stored value with notes in place of values that JSON can't represent.
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
