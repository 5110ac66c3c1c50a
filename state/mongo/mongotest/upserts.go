package mongotest

import (
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/raw"
)

// beaten returns the reply to an upsert that another client has just beaten to the insert: see Set.RaceUpserts. It is nil for
// any other command.
func (s *Set) beaten(name string, body bsoncore.Document) bsoncore.Document {
	if _, inTxn := raw.Get(body, "autocommit"); inTxn || !s.RaceUpserts {
		return nil
	}
	what := ""
	switch name {
	case "findAndModify":
		what = upserted(body, "query")
	case "update":
		if updates, ok := raw.Get(body, "updates"); ok && len(updates.Data) > 5 {
			first := raw.Elements(updates.Data)
			one, _ := first.Next()
			what = upserted(one.Value.Data, "q")
		}
	}
	if what == "" {
		return nil
	}
	ns := text(body, "$db") + "." + text(body, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upserts[ns+what] {
		return nil
	}
	if s.upserts == nil {
		s.upserts = map[string]bool{}
	}
	s.upserts[ns+what] = true
	const code = 11000
	why := "E11000 duplicate key error collection: " + ns + " index: _id_ dup key"
	if name == "findAndModify" {
		return refusal(code, why)
	}
	refused := bsoncore.NewDocumentBuilder().AppendInt32("index", 0).AppendInt32("code", code).AppendString("errmsg", why).Build()
	return bsoncore.NewDocumentBuilder().AppendDouble("ok", 1).AppendInt32("n", 0).AppendInt32("nModified", 0).
		AppendArray("writeErrors", bsoncore.NewArrayBuilder().AppendDocument(refused).Build()).Build()
}

// upserted returns the query of an upsert, which is in a field; "" for any other update.
func upserted(update []byte, field string) string {
	if upsert, _ := raw.Get(update, "upsert"); !raw.Truthy(upsert) {
		return ""
	}
	query, _ := raw.Get(update, field)
	return string(query.Data)
}
