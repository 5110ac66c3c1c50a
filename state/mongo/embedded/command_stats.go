package embedded

import (
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/arith"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// count returns a number as a 32-bit integer if it is one: shells print these without decoration.
func count(n int64) bsoncore.Value {
	if n == int64(int32(n)) {
		return raw.Int32(int32(n))
	}
	return arith.Long(n)
}

func appendCount(dst []byte, key string, n int64) []byte {
	return bsoncore.AppendValueElement(dst, key, count(n))
}

// wantScale parses the number by which sizes are divided.
func wantScale(v bsoncore.Value) (int64, error) {
	n, err := wantInt("scale", v)
	if err == nil && n < 1 {
		err = mongoerr.New(mongoerr.BadValue, "scale has to be at least 1")
	}
	return n, err
}

// scaled parses the fields of the commands that return sizes.
func (r *request) scaled() (scale int64, err error) {
	scale = 1
	err = r.fields(func(key string, v bsoncore.Value) (_ bool, err error) {
		if key != "scale" {
			return key == "verbose" || key == "freeStorage", nil
		}
		scale, err = wantScale(v)
		return true, err
	})
	return scale, err
}

func (r *request) collStats() error {
	name, err := r.collection()
	if err != nil {
		return err
	}
	scale, err := r.scaled()
	if err != nil {
		return err
	}
	stats, err := r.collectionStats(name, scale)
	if err != nil {
		return err
	}
	r.out = bsoncore.AppendStringElement(r.out, "ns", r.db+"."+name)
	it := raw.Elements(stats)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		r.out = raw.AppendElem(r.out, e.Key, e.Value)
	}
	return nil
}

// collectionStats returns a collection's sizes, divided by scale; all are 0 if it doesn't exist.
func (r *request) collectionStats(name string, scale int64) (bsoncore.Document, error) {
	var stats storage.Stats
	coll := r.s.store.Collection(r.db, name)
	var indexes []*storage.Index
	if coll != nil {
		var err error
		if stats, err = coll.Stats(); err != nil {
			return nil, err
		}
		indexes = coll.Indexes()
	}
	start, out := bsoncore.ReserveLength(nil)
	out = appendCount(out, "size", stats.Bytes/scale)
	out = appendCount(out, "count", stats.Documents)
	if stats.Documents > 0 {
		out = appendCount(out, "avgObjSize", stats.Bytes/stats.Documents)
	}
	out = appendCount(out, "storageSize", stats.Bytes/scale)
	capped := coll != nil && coll.Options().Capped
	out = bsoncore.AppendBooleanElement(out, "capped", capped)
	if capped {
		out = appendCount(out, "max", coll.Options().Max)
		out = appendCount(out, "maxSize", coll.Options().Size/scale)
	}
	total := int64(0)
	sizes, list := bsoncore.ReserveLength(nil)
	for _, ix := range indexes {
		total += stats.IndexBytes[ix.Name]
		list = appendCount(list, ix.Name, stats.IndexBytes[ix.Name]/scale)
	}
	list, _ = bsoncore.AppendDocumentEnd(list, sizes)
	out = appendCount(out, "nindexes", int64(len(indexes)))
	out = appendCount(out, "totalIndexSize", total/scale)
	out = appendCount(out, "totalSize", (stats.Bytes+total)/scale)
	out = bsoncore.AppendDocumentElement(out, "indexSizes", list)
	out = appendCount(out, "scaleFactor", scale)
	return bsoncore.AppendDocumentEnd(out, start)
}

func (r *request) dbStats() error {
	scale, err := r.scaled()
	if err != nil {
		return err
	}
	var total storage.Stats
	var indexes, indexBytes int64
	list := r.s.store.Collections(r.db)
	for _, coll := range list {
		stats, err := coll.Stats()
		if err == nil {
			err = r.late()
		}
		if err != nil {
			return err
		}
		total.Documents, total.Bytes = total.Documents+stats.Documents, total.Bytes+stats.Bytes
		indexes += int64(len(coll.Indexes()))
		for _, n := range stats.IndexBytes {
			indexBytes += n
		}
	}
	average := int64(0)
	if total.Documents > 0 {
		average = total.Bytes / total.Documents
	}
	r.out = bsoncore.AppendStringElement(r.out, "db", r.db)
	r.out = appendCount(r.out, "collections", int64(len(list)))
	r.out = appendCount(r.out, "views", 0)
	r.out = appendCount(r.out, "objects", total.Documents)
	r.out = appendCount(r.out, "avgObjSize", average)
	r.out = appendCount(r.out, "dataSize", total.Bytes/scale)
	r.out = appendCount(r.out, "storageSize", total.Bytes/scale)
	r.out = appendCount(r.out, "indexes", indexes)
	r.out = appendCount(r.out, "indexSize", indexBytes/scale)
	r.out = appendCount(r.out, "totalSize", (total.Bytes+indexBytes)/scale)
	r.out = appendCount(r.out, "scaleFactor", scale)
	return nil
}
