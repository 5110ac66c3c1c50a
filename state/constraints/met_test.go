package constraints

import (
	"testing"

	"juju/state/entity"
)

func TestMetBy(t *testing.T) {
	known := entity.Hardware{Arch: "amd64", Cores: 2, Mem: 2048, RootDisk: 8192, Zone: "a"}
	for _, test := range []struct {
		has       entity.Hardware
		own, want string
		meets     bool
	}{
		{known, "", "", true},
		{known, "", "mem=2G cores=2 root-disk=8G arch=amd64 zones=b,a", true},
		{known, "", "mem=2049M", false},
		{known, "", "cores=3", false},
		{known, "", "root-disk=9G", false},
		{known, "", "arch=arm64", false},
		{known, "", "zones=b,c", false},
		{known, "mem=3G", "mem=3G", true}, // the cloud was asked for that much
		{known, "mem=4G", "mem=3G", true},
		{known, "mem=3G", "mem=4G", false},
		{known, "", "mem= cores= container=none", true}, // these require nothing
		{known, "", "tags=fast", false},
		{known, "tags=fast", "tags=fast", true},
		{known, "tags=fast", "mem=1G", true},
		{known, "tags=fast,new", "tags=fast", false},
		{known, "", "instance-type=x", false},
		{known, "cpu-power=200", "cpu-power=100", true},
		{entity.Hardware{}, "", "", true},
		{entity.Hardware{}, "", "mem=1G", false},
		{entity.Hardware{}, "mem=2G arch=arm64 zones=a,b", "mem=2G arch=arm64 zones=a,b", true},
		{entity.Hardware{}, "", "zones=a", false},
	} {
		want, err := Parse(test.want)
		if err != nil {
			t.Fatal(err)
		}
		own, err := Parse(test.own)
		if err != nil {
			t.Fatal(err)
		}
		if got := want.MetBy(test.has, own); got != test.meets {
			t.Errorf("{%s} asked for with {%s} meets {%s}: %t", test.has, test.own, test.want, got)
		}
	}
}
