package explain_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
	"juju/state/internal/explain"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
)

// What the owner of a secret was told and has not done yet is a reason of its service, and of the unit that must do it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const mysql0 = `: unit "mysql/0" must run its hook secret-`
	secret := func(id, owner string, change func(*modeldb.Secret)) modeldb.Secret {
		s := modeldb.Secret{ID: id, Kind: modeldb.KindSecret, Owner: owner, Service: "mysql", Latest: 2, News: true,
			Revisions: map[string]modeldb.SecretRevision{"1": {}, "2": {}}}
		change(&s)
		return s
	}
	set := func(revision int, r modeldb.SecretRevision) func(*modeldb.Secret) {
		return func(s *modeldb.Secret) { s.Revisions[strconv.Itoa(revision)] = r }
	}
	rotates := secret("a", modeldb.ServiceKey("mysql"), func(s *modeldb.Secret) { s.Label, s.RotateDue, s.NextRotate = "db", 2, since })
	expired := secret("b", modeldb.UnitKey("mysql/0"), set(2, modeldb.SecretRevision{Due: true, Expire: since.Add(time.Hour)}))
	unread := secret("c", modeldb.UnitKey("mysql/1"), set(1, modeldb.SecretRevision{Obsolete: true}))
	quiet := secret("d", modeldb.UnitKey("mysql/0"), func(s *modeldb.Secret) { s.News = false })
	former := secret("f", modeldb.ServiceKey("mysql"), func(s *modeldb.Secret) { s.RotateDue, s.Token = 2, "former" })
	leads := modeldb.Leader{Service: "mysql", Holder: "mysql/0"}
	second := unit(alive, func(u *modeldb.Unit) { u.Name = "mysql/1" })
	m := modeltest.New(t, service, unit(alive), second, up, started, idle, active, leads, rotates, expired, unread, quiet, former)
	check := func(tag entity.Tag, want ...string) {
		t.Helper()
		e, err := explain.New(m.DB).Explain(m.Ctx, tag)
		m.OK(err)
		if got := strings.Join(shown(e), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("of %v it says\n%s\nwant\n%s", tag, got, strings.Join(want, "\n"))
		}
	}
	rotate := `secret a (db) of service "mysql" is to be rotated`
	expire := `the time of revision 2 of secret b of unit "mysql/0" is over` + mysql0 + "expired | unit-mysql-0"
	remove := `nothing reads revision 1 of secret c of unit "mysql/1" any more: unit "mysql/1" must run its hook secret-remove | unit-mysql-1`
	check(entity.ServiceTag("mysql"), rotate+mysql0+"rotate | unit-mysql-0", expire, remove)
	check(entity.UnitTag("mysql/0"), rotate+mysql0+"rotate | unit-mysql-0", expire)
	check(entity.UnitTag("mysql/1"), remove)
	tags, err := explain.Unsettled(m.Ctx, m.DB)
	m.OK(err)
	modeltest.Same(t, "unsettled are", fmt.Sprint(tags), "[service-mysql unit-mysql-0 unit-mysql-1]")

	e, err := explain.New(m.DB).Explain(m.Ctx, entity.UnitTag("mysql/0"))
	m.OK(err)
	if !e.Reasons[0].Since.Equal(since) || !e.Reasons[1].Since.Equal(since.Add(time.Hour)) {
		t.Errorf("since when: %v", e.Reasons)
	}

	m.Put(modeldb.Leader{Service: "mysql"})
	check(entity.UnitTag("mysql/0"), expire)
	check(entity.ServiceTag("mysql"), rotate+": the leader must run its hook secret-rotate, and no unit leads | ", expire, remove)
	for i := range 9 {
		m.Put(secret(fmt.Sprint("e", i), modeldb.UnitKey("mysql/1"), set(1, modeldb.SecretRevision{Obsolete: true})))
	}
	e, err = explain.New(m.DB).Explain(m.Ctx, entity.ServiceTag("mysql"))
	m.OK(err)
	if n := len(e.Reasons); n != 11 || e.Reasons[10].Text != "and 2 more hooks about secrets" {
		t.Errorf("of many it says\n%s", strings.Join(shown(e), "\n"))
	}
}
