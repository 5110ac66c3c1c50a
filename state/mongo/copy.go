package mongo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo/cursor"
	"juju/state/mongo/mgotxn"
	"juju/state/mongo/servertxn"
)

// Copy copies a store to an empty one and compares all documents. Nothing else may change the source meanwhile. When Copy
// returns, the copy is on disk. The error is Damaged if the copy differs.
func Copy(ctx context.Context, from, to *Store) error {
	was, err := move(ctx, from, to, nil)
	if err != nil {
		return err
	}
	if err := compare(ctx, was, to); err != nil {
		return err
	}
	return to.Sync(ctx)
}

// CopyParts copies some collections of a store that is in use, as of a single moment, to an empty store. wants reports
// whether a collection is copied, and whether with its documents.
func CopyParts(ctx context.Context, from, to *Store, wants func(Form) (there, full bool)) error {
	_, err := move(ctx, from, to, wants)
	return err
}

// move copies all documents, or those that are wanted. It returns their digests.
func move(ctx context.Context, from, to *Store,
	wants func(Form) (there, full bool)) (was map[string]digest, err error) {
	type entry struct {
		name string
		data []byte
	}
	entries := make(chan entry)
	was = map[string]digest{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(entries)
		return from.Export(ctx, wants, func(name string, data []byte) error {
			if err := addDigests(was, name, data); err != nil {
				return err
			}
			select {
			case entries <- entry{name, slices.Clone(data)}:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	group.Go(func() error {
		return to.Import(ctx, func() (string, []byte, error) {
			select {
			case e, ok := <-entries:
				if !ok {
					return "", nil, io.EOF
				}
				return e.name, e.data, nil
			case <-ctx.Done():
				return "", nil, context.Cause(ctx)
			}
		})
	})
	return was, group.Wait()
}

// addDigests adds an entry of an export to the digest of its collection. There are no entries of removed files, because
// nothing else changes the store.
func addDigests(all map[string]digest, name string, data []byte) error {
	collection, ok := strings.CutSuffix(name, docsSuffix)
	if !ok {
		collection = strings.TrimSuffix(name, formSuffix)
		all[collection] = digest{}
		return nil
	}
	d := all[collection]
	err := eachOf(data, d.add)
	all[collection] = d
	return err
}

// A digest is a checksum of the documents of a collection. It does not depend on their order.
type digest struct {
	docs int
	sum  [sha256.Size]byte // the exclusive or of their hashes, which differ, as their ids do
}

func (d *digest) add(doc bson.Raw) error {
	d.docs++
	for i, b := range sha256.Sum256(doc.Data) {
		d.sum[i] ^= b
	}
	return nil
}

// compare returns an error if a store does not have the documents of these digests.
func compare(ctx context.Context, was map[string]digest, store *Store) error {
	is := map[string]digest{}
	err := store.Export(ctx, nil, func(name string, data []byte) error { return addDigests(is, name, data) })
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if was[name] != is[name] {
			return entity.Errorf(entity.Damaged, "%s has %d documents, and its copy has %d, or these differ", name,
				was[name].docs,
				is[name].docs)
		}
	}
	return nil
}

// Sum returns a digest of the documents that match the queries, which are by collection. It leaves out the fields of the
// transaction runner, which change even if the content does not.
func (d *Database) Sum(ctx context.Context, queries map[string]bson.D) (string, error) {
	hash := sha256.New()
	for _, collection := range slices.Sorted(maps.Keys(queries)) {
		var all digest
		err := d.Reading(ctx, collection, func(c *mgo.Collection) error {
			all = digest{}
			docs := cursor.Find(c, queries[collection]).Select(bson.D{{mgotxn.RevnoField, 0}, {servertxn.AssertedField, 0}, {"txn-queue", 0}}).Iter()
			var doc bson.Raw
			for docs.Next(&doc) {
				if err := all.add(doc); err != nil {
					return err
				}
			}
			return docs.Close()
		})
		if err != nil {
			return "", fmt.Errorf("cannot read %s: %w", collection, err)
		}
		fmt.Fprintf(hash, "%s %d %x\n", collection, all.docs, all.sum)
	}
	return hex.EncodeToString(hash.Sum(nil)[:sumBytes]), nil
}

// sumBytes is the number of bytes of a hash in a sum: enough to tell the states of a model apart.
const sumBytes = 8
