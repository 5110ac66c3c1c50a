package entity_test

import (
	"testing"

	"juju/state/entity"
)

func TestParseHardware(t *testing.T) {
	for _, h := range []entity.Hardware{{}, {Cores: 2}, {Arch: "arm64", Mem: 512, RootDisk: 8192, Zone: "eu-1"},
		{Arch: "amd64", Cores: 64, Mem: 1, RootDisk: 2, Zone: "a"}} {
		if got := entity.ParseHardware(h.String()); got != h {
			t.Errorf("%q is %+v", h, got)
		}
	}
	if got := entity.ParseHardware("gpu=1 cores=many mem"); got != (entity.Hardware{}) {
		t.Errorf("what is not known: %+v", got)
	}
}
