package charm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/charm"
	"juju/state/entity"
)

// Values are texts as they are written, of whatever type, as Juju reads them.
func TestLXDProfile(t *testing.T) {
	const text = `
name: kubernetes
description: for containers in containers
config:
  security.nesting: true
  linux.kernel_modules: ip_tables,ip6_tables
  user.port: 0x1F
  raw.lxc: |
    lxc.apparmor.profile=unconfined
devices:
  tun: {type: unix-char, path: /dev/net/tun, mode: 0666}
  odd: {}
color: red
`
	c, err := charm.ReadDir(charmOf(t, map[string]string{"metadata.yaml": meta(""), "lxd-profile.yaml": text}))
	if err != nil {
		t.Fatal(err)
	}
	want := entity.LXDProfile{Description: "for containers in containers",
		Config: map[string]string{"security.nesting": "true", "linux.kernel_modules": "ip_tables,ip6_tables", "user.port": "0x1F",
			"raw.lxc": "lxc.apparmor.profile=unconfined\n"},
		Devices: map[string]map[string]string{"tun": {"type": "unix-char", "path": "/dev/net/tun", "mode": "0666"}, "odd": nil}}
	if diff := cmp.Diff(want, c.Profile.LXDProfile); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := c.Profile.Check(); err != nil {
		t.Error(err)
	}
	warnings := []string{`lxd-profile.yaml:2: field "name": only the controller names profiles`, `lxd-profile.yaml:13: field "color": unknown key`}
	if diff := cmp.Diff(warnings, c.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
	c, err = charm.ReadDir(charmOf(t, map[string]string{"metadata.yaml": meta("")}))
	if err != nil || c.Profile != nil || c.Profile.Check() != nil {
		t.Errorf("a charm without one has %v, %v", c.Profile, err)
	}
}

// What a profile may not have is refused with Juju's words.
func TestLXDProfileChecks(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"description: empty":      "",
		"devices: {a: {path: x}}": "",
		"devices: {a: {type: gpu}, b: {type: usb}, c: {type: unix-block}, d: {type: unix-char}}": "",
		"devices: {a: {type: usb}, b: {type: disk}}":                                             `invalid lxd-profile.yaml: contains device type "disk"`,
		"devices: {a: {type: ''}}":                                                               `invalid lxd-profile.yaml: contains device type ""`,
		"config: {limits.memory: 1GB}":                                                           `invalid lxd-profile.yaml: contains config value "limits.memory"`,
		"config: {boot.autostart: false}":                                                        `invalid lxd-profile.yaml: contains config value "boot.autostart"`,
		"config: {migration.stateful: true}":                                                     `invalid lxd-profile.yaml: contains config value "migration.stateful"`,
	} {
		p, err := charm.ParseLXDProfile([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		err = p.Check()
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		if err != nil && !strings.Contains(charm.Help(err), "--force") {
			t.Errorf("%s: help %q", text, charm.Help(err))
		}
	}
	for text, want := range map[string]string{
		"config: [a]":            `lxd-profile.yaml:1: config: expected map, got ["a"]`,
		"config: {a: {b: c}}":    `lxd-profile.yaml:1: config.a: expected string, got {"b":"c"}`,
		"devices: {a: b}":        `lxd-profile.yaml:1: devices.a: expected map, got "b"`,
		"devices: {a: {b: [c]}}": `lxd-profile.yaml:1: devices.a.b: expected string, got ["c"]`,
		"description: {}":        `lxd-profile.yaml:1: description: expected string, got {}`,
		"- a":                    `lxd-profile.yaml:1: expected map, got ["a"]`,
		"a: [":                   "lxd-profile.yaml:1: ",
		"description: " + strings.Repeat("x", 64<<10): "lxd-profile.yaml: larger than 65536 bytes",
	} {
		if _, err := charm.ParseLXDProfile([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40s: got %v, want %s", text, err, want)
		}
	}
}
