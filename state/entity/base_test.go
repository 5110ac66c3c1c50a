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
