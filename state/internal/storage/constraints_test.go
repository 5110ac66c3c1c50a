package storage_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/storage"
)

// The user's constraints are completed by what the charm says of its stores, and checked against it.
func TestConstraints(t *testing.T) {
	type asked = map[string]entity.StorageConstraints
	for _, c := range []struct {
		stores string
		asked  asked
		want   string // each store's number, size and pool, or the error
	}{
		{"data: {type: filesystem}", nil, "data: 1 of 1024 from dummy"},
		{"data: {type: filesystem}", asked{"data": {Pool: "fast", Size: 7, Count: 1}}, "data: 1 of 7 from fast"},
		{"data: {type: filesystem, minimum-size: 2G}", nil, "data: 1 of 2048 from dummy"},
		{"data: {type: filesystem, minimum-size: 2G}", asked{"data": {Size: 2048, Count: 1}}, "data: 1 of 2048 from dummy"},
		{"data: {type: filesystem, minimum-size: 2G}", asked{"data": {Size: 2047, Count: 1}},
			`charm "c" store "data": minimum storage size is 2.0GiB, 2.0GiB specified`},
		{"data: {type: filesystem}", asked{"more": {Count: 1}}, `charm "c" has no store called "more"`},
		{"b: {type: filesystem}, a: {type: filesystem}", nil, "a: 1 of 1024 from dummy, b: 1 of 1024 from dummy"},

		// How many there can be. Those of which there can be some are kept with the number 0: their pool and size count later.
		{"data: {type: filesystem}", asked{"data": {Count: 2}}, `charm "c" store "data": storage is singular, 2 specified`},
		{"data: {type: filesystem}", asked{"data": {}}, `charm "c" store "data": storage is singular, 0 specified`},
		{"data: {type: filesystem, multiple: {range: 0-3}}", nil, "data: 0 of 1024 from dummy"},
		{"data: {type: filesystem, multiple: {range: 0-3}}", asked{"data": {Count: 3}}, "data: 3 of 1024 from dummy"},
		{"data: {type: filesystem, multiple: {range: 0-3}}", asked{"data": {Count: 4}},
			`charm "c" store "data": at most 3 instances supported, 4 specified`},
		{"data: {type: filesystem, multiple: {range: 0-1}}", asked{"data": {Count: 2}},
			`charm "c" store "data": at most 1 instance supported, 2 specified`},
		{"data: {type: filesystem, multiple: {range: 1-2}}", asked{"data": {}},
			`charm "c" store "data": 1 instance required, 0 specified`},
		{"data: {type: filesystem, multiple: {range: 1-2}}", asked{"data": {Count: 3}},
			`charm "c" store "data": at most 2 instances supported, 3 specified`},
		{"data: {type: filesystem, multiple: {range: 2+}}", nil, "data: 2 of 1024 from dummy"},
		{"data: {type: filesystem, multiple: {range: 2+}}", asked{"data": {Count: 1}},
			`charm "c" store "data": 2 instances required, 1 specified`},
		{"data: {type: filesystem, multiple: {range: 0+}}", asked{"data": {Count: 100}}, "data: 100 of 1024 from dummy"},
		{"data: {type: filesystem, multiple: {range: 0+}}", asked{"data": {Count: 101}},
			`charm "c" store "data": storage instances of a unit: 101 instances`},
		{"data: {type: filesystem, multiple: {range: 0+}}", asked{"data": {Count: 1 << 40}},
			`charm "c" store "data": storage instances of a unit: 2147483647 instances`},

		// What no cloud has does not matter until there is to be one.
		{"raw: {type: block, multiple: {range: 0-1}}", nil, ""},
		{"raw: {type: block}", nil, `charm "c" store "raw": cloud "dummy" has no block storage`},
		{"raw: {type: filesystem, shared: true, multiple: {range: 0-1}}", nil, "raw: 0 of 1024 from dummy"},
		{"raw: {type: filesystem, shared: true}", nil, `charm "c" store "raw": shared storage support not implemented`},

		// Two stores at one path are refused, if there is something of both.
		{"a: {type: filesystem, location: /srv/x}, b: {type: filesystem, location: /srv/x/}", nil,
			`charm "c" stores "a" and "b" are both at /srv/x`},
		{"b: {type: filesystem, location: /srv/x/a/0}, a: {type: filesystem, location: /srv/x, multiple: {range: 1-2}}", nil,
			`charm "c" stores "a" and "b" are both at /srv/x/a/0`},
		{"a: {type: filesystem}, b: {type: filesystem}, c: {type: filesystem, location: /var/lib/juju/storage/a/0}", nil,
			`charm "c" stores "a" and "c" are both at /var/lib/juju/storage/a/0`},
		{"a: {type: filesystem, location: /srv/x}, b: {type: filesystem, location: /srv/x, multiple: {range: 0-1}}", nil,
			"a: 1 of 1024 from dummy, b: 0 of 1024 from dummy"},
		{"a: {type: filesystem, location: /srv/x, multiple: {range: 0-1}}, b: {type: filesystem, location: /srv/x}", nil,
			"a: 0 of 1024 from dummy, b: 1 of 1024 from dummy"},
	} {
		t.Run(c.stores, func(t *testing.T) {
			t.Parallel()
			meta, err := charm.ParseMeta([]byte("{name: c, summary: s, description: d, storage: {" + c.stores + "}}"))
			if err != nil {
				t.Fatal(err)
			}
			all, err := storage.Constraints(modeldb.Model{Cloud: "dummy"}, meta, c.asked)
			if err != nil {
				modeltest.Refused(t, err, entity.Invalid, c.want)
				if c.want == "" {
					t.Error(err)
				}
				return
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(all)) {
				got = append(got, fmt.Sprintf("%s: %d of %d from %s", name, all[name].Count, all[name].Size, all[name].Pool))
			}
			modeltest.Same(t, "the constraints", strings.Join(got, ", "), c.want)
		})
	}
}
