package charm_test

import (
	"strings"
	"testing"

	"juju/charm"
	"juju/state/entity"
)

func TestAssumesIsMetByTheModelsJuju(t *testing.T) {
	const because = "Charm cannot be deployed because:\n  - "
	for assumes, want := range map[string]string{
		"[juju]":                          "",
		"[juju >= 3.6, juju < 4]":         "",
		"[juju >= 3.6.0, 'juju<4.0']":     "",
		"[any-of: [juju >= 4, juju<3.7]]": "",
		// As the operators of PostgreSQL, MySQL and Grafana's agent do.
		"[juju, any-of: [{all-of: [juju >= 2.9.49, juju < 3]}, {all-of: [juju >= 3.4.3, juju < 3.5]}, " +
			"{all-of: [juju >= 3.5.1, juju < 4]}]]": "",
		"[juju >= 4.0]": because + "charm requires Juju version >= 4.0.0, model has version JUJU",
		"[juju < 3]":    because + "charm requires Juju version < 3.0.0, model has version JUJU",
		"[k8s-api, juju >= 4]": because + "charm must be deployed on a Kubernetes cloud\n" +
			"  - charm requires Juju version >= 4.0.0, model has version JUJU",
		"[gpu-2]": because + `charm requires feature "gpu-2" but model does not support it`,
		"[any-of: [k8s-api, all-of: [juju >= 4.1, juju >= 2.9]]]": because + "charm requires at least one of the following:\n" +
			"    - charm must be deployed on a Kubernetes cloud\n    - charm requires all of the following:\n" +
			"      - charm requires Juju version >= 4.1.0, model has version JUJU",
	} {
		m, err := charm.ParseMeta([]byte(meta("assumes: " + assumes + "\n")))
		if err != nil {
			t.Errorf("%s: %v", assumes, err)
			continue
		}
		err, got := m.Unmet(), ""
		if err != nil {
			got = err.Error()
		}
		if got != strings.ReplaceAll(want, "JUJU", entity.JujuVersion) || (err == nil) != (charm.Help(err) == "") {
			t.Errorf("%s: got %s\nwant %s", assumes, got, want)
		}
	}
}

func TestMalformedAssumes(t *testing.T) {
	for assumes, want := range map[string]string{
		"[juju = 2]":           `assumes.0: malformed feature expression "juju = 2"`,
		"[juju <= 4]":          `assumes.0: malformed feature expression "juju <= 4"`,
		"[juju, juju >= x]":    `assumes.1: invalid version "x"`,
		"[juju < 3-beta]":      `assumes.0: invalid version "3-beta"`,
		"[any-of: []]":         `assumes.0.any-of: expected list`,
		"[one-of: [juju]]":     `assumes.0: malformed composite expression; expected an "any-of" or "all-of" block`,
		"[any-of: [juju > 3]]": `assumes.0.any-of.0: malformed feature expression "juju > 3"`,
	} {
		if _, err := charm.ParseMeta([]byte(meta("assumes: " + assumes + "\n"))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want ... %s", assumes, err, want)
		}
	}
}
