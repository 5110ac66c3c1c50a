package apiserver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
)

// garbage makes requests. Some have the types that a method takes, others anything.
type garbage struct {
	*rand.Rand
	users *userGarbage // nil for agents
}

func (g *garbage) request(r *facades.Route, self entity.Tag) []byte {
	zero, err := r.Handler.Decode(nil)
	if err != nil {
		panic(err)
	}
	odd := []float64{0, 0.02, 0.1, 0.4}[g.IntN(4)] // the share of values that are not valid
	if slices.Contains(ends, r.Method) && g.IntN(30) > 0 {
		self, odd = entity.UnitTag("mysql/1"), 0.5
	}
	if ownCheck(r) == "storages" && g.IntN(10) > 0 {
		self = entity.StorageTag(g.storage())
	}
	var b strings.Builder
	g.value(&b, reflect.TypeOf(zero), "", self, odd, 0)
	return []byte(b.String())
}

// value writes a value of a type, or now and then something else.
func (g *garbage) value(b *strings.Builder, t reflect.Type, name string, self entity.Tag, odd float64, depth int) {
	if depth > 6 || g.Float64() < odd/2 {
		b.WriteString(g.any())
		return
	}
	if g.users != nil && g.users.value(g, b, t, name, depth) {
		return
	}
	sane := g.Float64() > odd
	switch {
	case t == reflect.TypeFor[facades.None]():
		b.WriteString(g.any())
	case t == reflect.TypeFor[params.Tag]():
		tag := params.TagOf(self).String()
		if g.IntN(5) == 0 {
			tag = g.pick("machine-0", "machine-1", "machine-7", "unit-mysql-0", "unit-mysql-1", "unit-wordpress-0",
				"application-mysql",
				"user-admin", "model-"+strings.Repeat("0", 8), "", "relation-wordpress.db#mysql.server", "unit-mysql-0\x00",
				"UNIT-mysql-0")
		}
		writeText(b, tag)
	case t == reflect.TypeFor[time.Time]() && sane:
		b.WriteString(g.pick(`"2013-06-07T08:09:10Z"`, `"2999-01-01T00:00:00Z"`, `"0001-01-01T00:00:00Z"`,
			`"9999-12-31T23:59:59-23:00"`))
	case t == reflect.TypeFor[time.Time]():
		b.WriteString(g.pick(`"2013-06-07T08:09:10Z"`, `"9999-12-31T23:59:59-23:00"`, `"0000-01-01T00:00:00+23:59"`,
			`"0001-01-01T00:00:00Z"`,
			`"2999-01-01T00:00:00Z"`, `"1969-12-31T23:59:59.999999999Z"`, `"now"`, `0`, `null`))
	case t.Kind() == reflect.Struct:
		b.WriteByte('{')
		n := 0
		g.fields(b, t, self, odd, depth, &n)
		b.WriteByte('}')
	case t.Kind() == reflect.Pointer:
		g.value(b, t.Elem(), name, self, odd, depth)
	case t.Kind() == reflect.Slice:
		b.WriteByte('[')
		for i := range g.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			g.value(b, t.Elem(), name, self, odd, depth+1)
		}
		b.WriteByte(']')
	case t.Kind() == reflect.Map:
		b.WriteByte('{')
		for i := range g.IntN(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			if t.Key().Kind() == reflect.Int && sane {
				b.WriteString(`"0"`)
			} else if sane {
				b.WriteString(g.pick(`"key"`, `"a.b"`, `"$set"`, `"．"`, `"private-address"`))
			} else if t.Key().Kind() == reflect.Int {
				b.WriteString(g.pick(`"0"`, `"1"`, `"-1"`, `"9223372036854775807"`, `"x"`, `"0"`, `"0"`))
			} else {
				b.WriteString(g.text())
			}
			b.WriteByte(':')
			g.value(b, t.Elem(), name, self, odd, depth+1)
		}
		b.WriteByte('}')
	case t.Kind() == reflect.String && sane:
		writeText(b, g.word(name))
	case t.Kind() == reflect.String:
		b.WriteString(g.text())
	case t.Kind() == reflect.Int && sane:
		b.WriteString(g.pick("0", "0", "1", "80", "81", "443"))
	case t.Kind() == reflect.Int64 && sane && name == "epoch":
		b.WriteString(g.pick("1", "2", "3"))
	case t.Kind() == reflect.Int64 && sane:
		b.WriteString("60000000000")
	case t.Kind() == reflect.Uint64 && sane:
		b.WriteString(g.pick("1", "1024"))
	case t.Kind() == reflect.Interface && sane:
		b.WriteString(g.pick(`"x"`, "5", "0.5", "true", "null", `["a"]`, `{"a.b":{"$c":"d"}}`))
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		b.WriteString(g.pick("0", "0", "1", "80", "443", "65535", "65536", "-1", "60000000000", "9223372036854775807",
			"-9223372036854775808",
			"9223372036854775808", "1e3", "1e400", "0.5"))
	case t.Kind() == reflect.Bool:
		b.WriteString(g.pick("true", "false", "null", "1"))
	default:
		b.WriteString(g.any())
	}
}

// storage returns the id of a storage instance, as of the units of disk.
func (g *garbage) storage() string { return fmt.Sprintf("data/%d", g.IntN(5)) }

// word returns a text that a field of this name may have.
func (g *garbage) word(name string) string {
	switch name {
	case "status":
		return g.pick("active", "blocked", "error", "idle", "executing", "started", "pending", "stopped", "unknown",
			"running", "completed", "failed")
	case "protocol":
		return g.pick("tcp", "udp", "icmp", "sctp")
	case "addresses":
		return g.pick("10.0.0.1", "fe80::1", "host.example", "10.0.0.256", "a b")
	case "remote":
		return g.pick("mysql/0", "wordpress/0", "wordpress/1", "none/0", "mysql")
	case "url":
		return g.pick("local:jammy/mysql-0", "local:jammy/mysql-1", "local:jammy/none-0", "mysql")
	case "unit":
		return g.pick("disk/0", "disk/1", "mysql/0")
	case "storage":
		return g.storage()
	case "id":
		return g.pick("2", "3", "4", "5", "6", "i-0")
	case "results":
		return g.pick("", "{}", `{"a":"b"}`)
	case "ids":
		return g.pick("0", "1", "7", "0/lxd/0")
	}
	return g.pick("", "x", "i-0", nonce, "a message")
}

// text returns an unusual text, in JSON.
func (g *garbage) text() string {
	if g.IntN(300) == 0 {
		return `"` + strings.Repeat("x", 3<<20) + `"`
	}
	return g.pick(`""`, `"\u0000"`, `"a\u0000b"`, `"a\u0000\u0010c\u0000\u0001\u0000\u0000\u0000"`, "\"\xff\xfe\"",
		`"\ud800"`, `"."`, `"$"`,
		`"$set"`, `"a.b"`, `"．"`, `"\ufdd0"`, `"\ufdd000"`, `"\u202e\u001b[2J"`, `"_id"`, `"txn-queue"`, `"key"`, `"key"`,
		`"`+strings.Repeat("y", 300)+`"`, `"`+strings.Repeat("z", 5000)+`"`, `"`+strings.Repeat("\\u0001", 20000)+`"`, `"`+
			strings.Repeat("é", 9000)+`"`)
}

// any returns any value.
func (g *garbage) any() string {
	switch g.IntN(8) {
	case 0:
		n := 1 << g.IntN(12)
		return strings.Repeat("[", n) + strings.Repeat("]", n)
	case 1:
		n := 1 << g.IntN(10)
		return strings.Repeat(`{"a.b":`, n) + g.text() + strings.Repeat("}", n)
	case 2:
		return g.text()
	case 3:
		return "{" + g.text() + ":" + g.any() + "}"
	case 4:
		return "[" + g.text() + "," + g.any() + "]"
	}
	return g.pick("null", "true", "0", "-0", "1e308", "1e999", "9223372036854775807", "123456789012345678901234567890",
		"{}", "[]", `{"":null}`,
		`{"a":1,"a":2}`, "0.1", `"2013-06-07T08:09:10Z"`)
}

func (g *garbage) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *garbage) fields(b *strings.Builder, t reflect.Type, self entity.Tag, odd float64, depth int, n *int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			g.fields(b, f.Type, self, odd, depth, n)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if g.users != nil && (name == "" || name == "-") {
			continue
		}
		if g.Float64() < odd/4 {
			continue
		}
		if *n++; *n > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:", name)
		g.value(b, f.Type, name, self, odd, depth+1)
	}
}

func writeText(b *strings.Builder, s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	b.Write(text)
}
