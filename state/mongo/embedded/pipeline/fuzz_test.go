package pipeline_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/pipeline"
)

// FuzzPipeline compiles and runs any pipeline on some documents. It must not panic, and what it returns must be
// documents.
func FuzzPipeline(f *testing.F) {
	for _, stages := range []string{
		`{"$match": {"a": {"$gt": 1}}}, {"$sort": {"a": 1}}, {"$skip": 1}, {"$limit": 3}`,
		`{"$unwind": {"path": "$a.b", "includeArrayIndex": "i.j", "preserveNullAndEmptyArrays": true}}`,
		`{"$group": {"_id": {"x": "$a", "y": ["$b"]}, "s": {"$sum": {"$add": ["$a", 1]}}, "p": {"$push": "$$ROOT"}, "l": {"$last": "$b"}}}`,
		`{"$project": {"_id": 0, "a.b": {"$cond": [{"$eq": ["$a", 1]}, "$b", "$$REMOVE"]}, "c": {"d": {"$concat": ["x", {"$toString": "$a"}]}}}}`,
		`{"$project": {"x": {"$substrCP": ["$s", 1, 2]}, "y": {"$divide": ["$a", {"$mod": ["$b", 3]}]}, "z": {"$arrayElemAt": ["$a", -1]}}}`,
		`{"$project": {"x": {"$objectToArray": "$$ROOT"}, "y": {"$in": ["$a", ["$a"]]}, "z": {"$subtract": ["$d", {"$numberDecimal": "1E6000"}]}}}`,
		`{"$project": {"a": 0, "b.c": 0}}, {"$count": "n"}`,
	} {
		f.Add(stages)
	}
	docs := documents(f, sales+","+clothing+","+book+","+units+`, {"a": {"$numberDecimal": "NaN"}, "b": {"$numberDouble": "-Infinity"}, "d": {"$date": "2026-11-26T03:04:05Z"}, "": 1}`)
	f.Fuzz(func(t *testing.T, stages string) {
		var all bson.D // the driver's parser does not end when it skips fields for which a struct has no place
		if err := bson.UnmarshalExtJSON([]byte(`{"l": [`+stages+`]}`), false, &all); err != nil || len(all) != 1 {
			return
		}
		stagesOf, _ := all[0].Value.(bson.A)
		var list []bsoncore.Document
		for _, stage := range stagesOf {
			doc, err := bson.Marshal(stage)
			if err != nil {
				return
			}
			list = append(list, doc)
		}
		if _, err := pipeline.Compile(list, true); err != nil {
			return
		}
		p, err := pipeline.Compile(list, false)
		if err != nil {
			t.Fatalf("only with a head: %v", err)
		}
		next := p.Run(from(docs), free)
		for range 1000 {
			doc, err := next()
			if err != nil || doc == nil {
				return
			}
			if err := bsoncore.Document(doc).Validate(); err != nil {
				t.Fatalf("%v: %v", bson.Raw(doc), err)
			}
		}
	})
}
