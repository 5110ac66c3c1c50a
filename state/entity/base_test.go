package entity_test

import (
	"testing"

	"juju/state/entity"
)

func TestBases(t *testing.T) {
	for _, series := range []string{"jammy", "trusty", "bookworm", "oddos", ""} {
		if got := entity.BaseOf(series).Series(); got != series {
			t.Errorf("series %q round-trips to %q", series, got)
		}
	}
	if got := (entity.Base{Name: "ubuntu", Channel: "22.04"}).Series(); got != "jammy" {
		t.Errorf("ubuntu 22.04 is %q", got)
	}
	if got := entity.BaseOf("jammy"); got != (entity.Base{Name: "ubuntu", Channel: "22.04/stable"}) {
		t.Errorf("jammy is %+v", got)
	}
}

func TestParseBase(t *testing.T) {
	for text, want := range map[string]string{"ubuntu@22.04": "jammy", "ubuntu@22.04/stable": "jammy", "debian@12": "bookworm",
		"jammy": "jammy", "22.04": "", "ubuntu": "", "ubuntu@": "", "jammy@22.04": "", "ubuntu@99.04": "", "centos@7": "", "ubuntu@22.04/edge": "", "@22.04": ""} {
		base, err := entity.ParseBase(text, "")
		if got := base.Series(); got != want || (err == nil) != (want != "") {
			t.Errorf("base %q is of series %q (%v), want %q", text, got, err, want)
		}
		if err != nil && (entity.KindOf(err) != entity.Invalid || entity.Hint(err) == "") {
			t.Errorf("base %q: %v (%s)", text, err, entity.Hint(err))
		}
	}
	for text, want := range map[string]string{"22.04": "jammy", "22.04/stable": "jammy", "debian@12": "bookworm", "noble": "noble",
		"": "", "12": "", "win7": ""} {
		if base, err := entity.ParseBase(text, "ubuntu"); base.Series() != want || (err == nil) != (want != "") {
			t.Errorf("base %q on ubuntu is of series %q (%v), want %q", text, base.Series(), err, want)
		}
	}
}
