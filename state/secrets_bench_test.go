package state_test

import (
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// BenchmarkSecrets measures a model with 10,000 secrets of a service, all of which rotate and of which each of 100 units reads
// ten: to list them, what a unit's first secret-get of a hook takes when it reads ten, and to tell the owner that all are to be
// rotated.
func BenchmarkSecrets(b *testing.B) {
	const n, readers, each, batch = 10_000, 100, 10, 500
	ctx := b.Context()
	now := time.Now()
	_, st := statetest.ControllerWith(b, controller.Options{Now: func() time.Time { return now }})
	ok := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	deploy := func(name, metadata string, units int) {
		_, err := st.AddService(ctx, state.AddServiceParams{Name: name, CharmURL: statetest.Charm(b, st, metadata), Units: units})
		ok(err)
	}
	deploy("mysql", statetest.MySQL, 1)
	deploy("wordpress", statetest.Wordpress, readers)
	rel, err := st.AddRelation(ctx, "mysql:server", "wordpress:db")
	ok(err)
	leader, err := st.Unit(ctx, "mysql/0")
	ok(err)
	epoch, err := leader.ClaimLeadership(ctx, time.Minute)
	ok(err)
	often := entity.RotateHourly
	var ids []string
	for range n / batch {
		c := entity.SecretChanges{Epoch: epoch}
		for range batch {
			id := entity.NewSecretID()
			ids = append(ids, id)
			c.Create = append(c.Create, entity.NewSecret{ID: id, SecretSettings: entity.SecretSettings{Rotate: &often, Content: content("x")}})
			c.Grant = append(c.Grant, entity.SecretGrant{ID: id, Relation: rel.ID(), Subject: "wordpress"})
		}
		ok(leader.CommitHook(ctx, entity.HookChanges{Secrets: &c}))
	}
	units, err := st.Service(ctx, "wordpress")
	ok(err)
	names, err := units.UnitNames(ctx)
	ok(err)
	for i, name := range names {
		u, err := st.Unit(ctx, name)
		ok(err)
		var c entity.SecretChanges
		for j := range each {
			c.Track = append(c.Track, entity.SecretTracking{ID: ids[i*each+j], Revision: 1})
		}
		ok(u.CommitHook(ctx, entity.HookChanges{Secrets: &c}))
	}
	reader, err := st.Unit(ctx, names[0])
	ok(err)
	for range b.N {
		begin := time.Now()
		all, err := st.Secrets().List(ctx, state.SecretFilter{}, true)
		ok(err)
		b.ReportMetric(time.Since(begin).Seconds(), "s/list")
		begin = time.Now()
		read, err := reader.Secret(ctx, entity.SecretQuery{ID: ids[0]})
		ok(err)
		b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms/read")
		if len(all) != n || len(read.Others) != each-1 {
			b.Fatalf("%d secrets, and %d are read ahead", len(all), len(read.Others))
		}
		now = now.Add(2 * time.Hour)
		begin = time.Now()
		_, err = st.Secrets().Due(ctx)
		ok(err)
		b.ReportMetric(time.Since(begin).Seconds(), "s/due")
	}
}
