package entity_test

import (
	"encoding/json"
	"errors"
	"testing"

	"juju/state/entity"
)

func TestPlacementsAsUsersWriteThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]entity.Placement{
		"3":                {Machine: "3"},
		"0/lxd/1":          {Machine: "0/lxd/1"},
		"lxd":              {Container: "lxd"},
		"lxd:3":            {Container: "lxd", Machine: "3"},
		"kvm:3/lxd/0":      {Container: "kvm", Machine: "3/lxd/0"},
		"new":              {New: true},
		"zone=eu-1":        {Directive: "zone=eu-1"},
		"attic":            {Directive: "attic"},
		"default:zone=a":   {Model: "default", Directive: "zone=a"},
		"ssh:root@db:2222": {Manual: "root@db:2222"},
	} {
		got, err := entity.ParsePlacement("placement", text)
		if err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%+v is written %q, want %q", got, got, text)
		}
		if bytes, err := json.Marshal(got); err != nil || string(bytes) != `"`+text+`"` {
			t.Errorf("%+v is %s in JSON (%v)", got, bytes, err)
		}
	}
	if got, err := entity.ParsePlacement("placement", "#:3"); err != nil || got != (entity.Placement{Machine: "3"}) {
		t.Errorf(`"#:3" is %+v (%v)`, got, err)
	}
	if got := (entity.Placement{}).String(); got != "" {
		t.Errorf("the zero placement is written %q", got)
	}
}

func TestPlacementsThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":          `invalid --to parameter ""`,
		"@":         `invalid --to parameter "@"`,
		"1:2":       `invalid --to parameter "1:2"`,
		"zone=a,b":  `invalid --to parameter "zone=a,b"`,
		"m:a b":     `invalid --to parameter "m:a b"`,
		"m:":        `invalid --to parameter "m:"`,
		"#:lxd":     `invalid --to parameter "#:lxd"`,
		"3/lxd":     `invalid --to parameter "3/lxd"`,
		"ssh:":      `invalid --to parameter "ssh:": expected ssh:[USER@]HOST[:PORT]`,
		"lxd:":      `invalid value "" for "lxd" scope: expected machine-id`,
		"lxd:mysql": `invalid value "mysql" for "lxd" scope: expected machine-id`,
	} {
		if _, err := entity.ParsePlacement("--to parameter", text); !errors.Is(err, entity.Invalid) || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestWhatTheCloudMustKnowOfAPlacement(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]entity.Placement{
		"lxd:3": {Container: "lxd"}, "zone=a": {Directive: "zone=a"}, "new": {}, "ssh:db": {},
	} {
		at, err := entity.ParsePlacement("placement", text)
		if got := at.ForCloud(); err != nil || got != want {
			t.Errorf("%q is %+v for the cloud (%v), want %+v", text, got, err, want)
		}
	}
}
