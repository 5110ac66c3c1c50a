package apiserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// A flaw is what is wrong with a request of a user.
type flaw int

const (
	mixed   flaw = iota // any value can be anything
	sound               // values are those of a world, or resemble them
	nulls               // many values are null
	most                // numbers are the largest
	least               // numbers are the smallest
	blank               // texts, lists and objects are empty
	lengthy             // lists are long
	shapeless
	flaws // how many there are
)

// userGarbage makes the values of users' requests.
type userGarbage struct {
	flaw  flaw
	words map[string][]string // by the name of the field, or of the field and "{" for the keys of its map
	tags  []string
}

// userRequest returns the parameters of a request of a user.
func (g *garbage) userRequest(r *facades.Route, with flaw) []byte {
	zero, err := r.Handler.Decode(nil)
	if err != nil {
		panic(err)
	}
	g.users.flaw = with
	odd := 0.0
	switch with {
	case mixed:
		odd = []float64{0.02, 0.1, 0.4}[g.IntN(3)]
	case shapeless:
		return []byte(g.any())
	}
	var b strings.Builder
	g.value(&b, reflect.TypeOf(zero), "", entity.Tag{}, odd, 0)
	if b.Len() > maxRequest {
		return g.userRequest(r, sound)
	}
	return []byte(b.String())
}

// maxRequest is less than what ends the connection.
const maxRequest = 8 << 20

// value writes the value of a field, if a user's differs from an agent's.
func (u *userGarbage) value(g *garbage, b *strings.Builder, t reflect.Type, name string, depth int) bool {
	kind := t.Kind()
	number := kind >= reflect.Int && kind <= reflect.Uint64
	switch {
	case u.flaw == nulls && depth > 0 && g.IntN(2) == 0:
		b.WriteString("null")
	case u.flaw == most && number && kind < reflect.Uint:
		b.WriteString("9223372036854775807")
	case u.flaw == most && number && kind != reflect.Uint8:
		b.WriteString(g.pick("18446744073709551615", "9223372036854775807"))
	case u.flaw == least && number && kind < reflect.Uint:
		b.WriteString("-9223372036854775808")
	case u.flaw == blank && kind == reflect.String:
		b.WriteString(`""`)
	case u.flaw == blank && depth > 0 && kind == reflect.Map:
		b.WriteString("{}")
	case u.flaw == blank && depth > 0 && kind == reflect.Slice && g.IntN(2) == 0:
		b.WriteString(g.pick("[]", "[{}]", "[null]", `[""]`))
	case kind == reflect.Pointer && depth > 0 && g.IntN(4) == 0:
		b.WriteString("null")
	case t == reflect.TypeFor[params.PlannedCall]() && depth < 2 && g.IntN(10) > 0:
		u.planned(g, b, depth)
	case t == reflect.TypeFor[constraints.Value]():
		b.WriteString(g.pick(`{}`, `{"mem":1024}`, `{"arch":"amd64"}`, `{"spaces":["db"]}`, `{"cores":-1}`, `{"mem":1e300}`, `{"tags":null}`,
			`"mem=1G"`, `"mem="`, `{"zones":["`+strings.Repeat("z", 5000)+`"]}`, `{"root-disk":18446744073709551615}`))
	case t == reflect.TypeFor[json.RawMessage]():
		b.WriteString(g.any())
	case t == reflect.TypeFor[[]byte]():
		u.bytes(g, b, name)
	case kind == reflect.Slice && u.flaw == lengthy && depth < 3:
		u.long(g, b, t, name, depth)
	case kind == reflect.Slice && (name == "" || depth < 3) && g.IntN(4) > 0 && u.flaw != mixed: // mostly one entry
		b.WriteByte('[')
		g.value(b, t.Elem(), name, entity.Tag{}, 0, depth+1)
		b.WriteByte(']')
	case t == reflect.TypeFor[params.Tag]() || kind == reflect.String && (name == "tag" || strings.HasSuffix(name, "-tag")):
		writeText(b, u.tag(g, name))
	case kind == reflect.String && u.words[name] != nil && g.IntN(12) > 0:
		writeText(b, g.pick(u.words[name]...))
	case kind == reflect.String && g.IntN(3) == 0:
		b.WriteString(g.text())
	case kind == reflect.Map && t.Key().Kind() == reflect.String && u.words[name+"{"] != nil && g.IntN(4) > 0:
		u.object(g, b, t, name, depth)
	case t == reflect.TypeFor[time.Duration]():
		b.WriteString(g.pick("0", "1", "-1", "60000000000", "3600000000000", "9223372036854775807"))
	case kind == reflect.Int || kind == reflect.Int64:
		b.WriteString(g.pick("0", "1", "1", "2", "3", "-1", "101", "1000000", "2147483648"))
	case number && kind != reflect.Uint8:
		b.WriteString(g.pick("0", "1", "1", "2", "1024", "1000000000000"))
	default:
		return false
	}
	return true
}

// tag returns a tag of something that there is, or not, or of the wrong kind.
func (u *userGarbage) tag(g *garbage, name string) string {
	if mine := u.words[name]; len(mine) > 0 && g.IntN(5) > 0 {
		return g.pick(mine...)
	}
	return g.pick(u.tags...)
}

// long writes a long list, whose entries are alike.
func (u *userGarbage) long(g *garbage, b *strings.Builder, t reflect.Type, name string, depth int) {
	var one strings.Builder
	u.flaw = sound // of the entries, since the request would be too large
	g.value(&one, t.Elem(), name, entity.Tag{}, 0, depth+1)
	n := 101 // one more than most methods take
	if !testing.Short() && g.IntN(2) == 0 {
		n = 1001
	}
	n = min(n, 1<<20/one.Len())
	b.WriteByte('[')
	b.WriteString(strings.Repeat(one.String()+",", n))
	b.WriteString(one.String() + "]")
}

func (u *userGarbage) object(g *garbage, b *strings.Builder, t reflect.Type, name string, depth int) {
	b.WriteByte('{')
	for i, key := range u.words[name+"{"] {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, key)
		b.WriteByte(':')
		g.value(b, t.Elem(), name, entity.Tag{}, 0, depth+1)
		if g.IntN(2) == 0 {
			break
		}
	}
	b.WriteByte('}')
}

func (u *userGarbage) bytes(g *garbage, b *strings.Builder, name string) {
	if name == "charm" && len(u.words["charm archive"]) > 0 && g.IntN(3) == 0 {
		writeText(b, u.words["charm archive"][0])
		return
	}
	b.WriteString(g.pick(`""`, `null`, `"UEsDBA=="`, `"////"`, `"not base64"`, `"`+strings.Repeat("A", 4000)+`"`))
}

// planned writes a request that is to be planned.
func (u *userGarbage) planned(g *garbage, b *strings.Builder, depth int) {
	r := &allRoutes[0]
	for !params.IsPlannable(r.Facade, r.Method) {
		r = &allRoutes[g.IntN(len(allRoutes))]
	}
	zero, err := r.Handler.Decode(nil)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(b, `{"facade":%q,"version":%d,"method":%q,"token":%q,"params":`, r.Facade, r.Version, r.Method, g.pick(u.words["token"]...))
	g.value(b, reflect.TypeOf(zero), "", entity.Tag{}, 0, 0)
	if g.IntN(4) == 0 {
		b.WriteString(`,"charm-url":"local:jammy/planned-charm-1","charm":`)
		u.bytes(g, b, "charm")
	}
	if g.IntN(4) == 0 && depth == 0 {
		b.WriteString(`,"then":[`)
		u.planned(g, b, depth+1)
		b.WriteByte(']')
	}
	b.WriteByte('}')
}

// newUserGarbage returns a source of requests about a world.
func newUserGarbage(w *userWorld) *userGarbage {
	model, own := "model-"+w.st.UUID(), "model-"+w.server.controllerModel.UUID()
	services := []string{"mysql", "wordpress", "disk", "nosql"}
	endpoints := []string{"wordpress", "mysql", "wordpress:db", "mysql:server", "disk", "admin/default.hosted", "mysql:x"}
	archive, err := os.ReadFile(w.archive)
	w.ok(err)
	u := &userGarbage{words: map[string][]string{
		"application": services, "applications": services, "application-name": {"mysql", "wordpress"}, "application-alias": {"db", "mysql"},
		"application-tag": {"application-mysql", "application-wordpress", "application-disk", "application-nosql"},
		"entities":        services, "args": services,
		"units": {"mysql/0", "wordpress/0", "disk/0", "mysql/leader", "mysql/77"}, "unit-tag": {"unit-mysql-0", "unit-disk-1", "unit-mysql-77"},
		"unit": {"unit-disk-0", "unit-mysql-0"}, "receiver": {"unit-mysql-0", "machine-0", "mysql/leader", "unit-mysql-77"},
		"machines": {"0", "1", "77", "0/lxd/0"}, "machine-tags": {"machine-0", "machine-77"}, "machine-id": {"0", "77"}, "parent-id": {"", "0", "77"},
		"model-tag": {model, model, own}, "source-model-tag": {model}, "user-tag": {"user-bob", "user-eve", "user-admin", "user-nobody"},
		"owner-tag": {"user-admin", "user-bob"}, "user": {"admin", "bob"}, "username": {"carl", "bob", "Admin"}, "password": {"a long password", "x"},
		"storage-tag": {"storage-data-0", "storage-data-1", "storage-data-2", "storage-data-77"}, "attach-storage": {"storage-data-0"},
		"space-tag": {"space-db", "space-db", "space-x", "space-y", "space-z", "space-w"}, "from-space-tag": {"space-db"}, "to-space-tag": {"space-x1"}, "subnets": {"subnet-1"},
		"cidrs": {"10.1.0.0/16", "10.0.0.0/8", "x", "::/0"}, "expose-to-cidrs": {"10.0.0.0/8", "x"}, "via-cidrs": {"10.0.0.0/8", "x"},
		"expose-to-spaces": {"db", "alpha", "x"}, "exposed-endpoints": {"server", "", "db"}, "exposed-endpoints{": {"server", ""},
		"url":       {w.charms["mysql"], w.charms["wordpress"], "local:jammy/none-0", "ch:mysql", "::"},
		"charm-url": {w.charms["mysql"], w.charms["wordpress"], "local:jammy/none-0", "ch:mysql"}, "reference": {"mysql", "ch:mysql", "local:mysql"},
		"endpoints": endpoints, "endpoint": endpoints, "endpoint-bindings{": {"server", "", "db"}, "bindings{": {"server", "", "db"},
		"endpoint-bindings": {"alpha", "db", "x"}, "bindings": {"alpha", "db", "x"}, "endpoints{": {"server", "db"},
		"config{": {"size", "trust", "mysql"}, "config": {"7", "true", "x"}, "config-yaml": {"mysql: {size: 1}", "a: [", "!!binary x"},
		"options": {"size", "trust", "x"}, "settings{": {"size"}, "config-settings{": {"size", "x"}, "config-settings": {"8", "x"},
		"keys":         {"development", "logging-config", "agent-version", "x"},
		"annotations{": {"a", "b.c"}, "ssh-keys": {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0 a@b", "gh:bob", "x"},
		"offer-name": {"hosted", "other"}, "offer-url": {"admin/default.hosted", "default.hosted", "bob/x.y", "x:a/b.c"},
		"offer-urls": {"admin/default.hosted", "default.hosted", "bob/x.y"}, "offer-uuid": {w.offer},
		"access": {"read", "write", "admin", "consume", "login", "add-model", "superuser", "x"}, "action": {"grant", "revoke", "x"},
		"cloud-tag": {"cloud-dummy", "cloud-rack"}, "cloud-name": {"dummy", "rack"}, "credential-tag": {"cloudcred-dummy_admin_default", "cloudcred-rack_admin_dev"},
		"credential": {"cloudcred-dummy_admin_default", "x"}, "credential-name": {"default", "x"}, "auth-type": {"empty", "certificate"},
		"type":  {"BlockDestroy", "BlockRemove", "BlockChange", "file", "dummy", "oci-image"},
		"name":  {"mysql", "data", "x1", "dummy", "true", "slow", "m2"},
		"scope": {"#", "lxd", model[6:], "0"}, "directive": {"0", "lxd:0", "77", "ssh:a@b", ""}, "container-type": {"", "lxd", "kvm"},
		"pool": {"rootfs", "dummy", "slow", "x"}, "pools": {"slow"}, "provider": {"dummy", "rootfs"}, "storage-name": {"data"}, "provider-id": {"fs-0", "fs-9", "x"},
		"storage{": {"data"}, "storage-constraints{": {"data"}, "storage-directives{": {"data"}, "resources{": {"x"}, "resource-ids{": {"x"},
		"words": {"mysql", "mysql/0", "0", "x"}, "patterns": {"mysql", "mysql/*", "a/b/c", "0"}, "prefixes": {"", "1"},
		"historyKind": {"unit", "machine", "workload", "x"}, "status": {"pending", "x"}, "token": {w.token, "x", ""},
		"series": {"jammy", "noble", "x"}, "channel": {"22.04", "22.04/stable", "x"}, "jobs": {"host-units", "x"}, "instance-id": {"", "manual:db", "i-0"},
		"nonce": {"", "manual:db:1"}, "arch": {"amd64", "x"}, "placement": {"0", "lxd"}, "risk": {"stable", "x"}, "source": {"local", "charm-hub", "x"},
		"target-version": {"1.3.0", "1.2.2", "", "x"}, "sha256": {strings.Repeat("ab", 32), "x"}, "zone": {"", "z"}, "role": {"provider", "requirer", "x"},
		"interface": {"mysql"}, "model-name": {"default", "x"}, "owner-name": {"admin", "bob"}, "commands": {"true"}, "ca-cert": {pki().ca.Cert, "x"},
		"controller-tag": {"controller-" + w.controller.UUID(), "controller-deadbeef-0000-4000-8000-00000000dead"}, "addrs": {"192.0.2.1:17070", "x"},
		"yaml":      {"services: {mysql: {charm: 'local:mysql', num_units: 1}}", "applications: null", "services: {a: {charm: x, to: [b/0]}, b: {charm: y, to: [a/0]}}", "a: &a [*a]", "{"},
		"bundleURL": {"", "x"}, "origin": {"upload", "store"}, "model": {w.st.UUID(), "x"}, "facade": {"Application", "x"}, "method": {"Expose", "x"},
		"charm archive": {base64.StdEncoding.EncodeToString(archive)},
	}}
	u.tags = []string{"application-mysql", "application-wordpress", "application-disk", "application-nosql", "unit-mysql-0", "unit-wordpress-1",
		"unit-disk-0", "unit-mysql-77", "machine-0", "machine-1", "machine-77", "machine-0-lxd-0", model, own, "model-deadbeef-0000-4000-8000-00000000dead",
		"user-admin", "user-bob", "user-nobody", "user-x@y", "storage-data-0", "storage-data-1", "storage-data-77", "relation-wordpress.db#mysql.server",
		"relation-mysql.x", "action-2", "action-99", "operation-1", "operation-99", "space-alpha", "space-db", "subnet-1", "offer-hosted",
		"controller-" + w.controller.UUID(), "charm-" + w.charms["mysql"], "cloud-dummy", "cloudcred-dummy_admin_default", "filesystem-0", "volume-0",
		"", "x", "unit-mysql", "machine--1", "machine-" + strconv.Itoa(1<<40), "unit-mysql-0\x00", "action-9999999999999999999", "UNIT-mysql-0"}
	for _, list := range u.words {
		if slices.Contains(list, statetest.Password) {
			panic("the administrator's password must stay unknown")
		}
	}
	return u
}
