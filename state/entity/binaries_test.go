package entity

import (
	"strings"
	"testing"
)

func TestVersionsAreOrdered(t *testing.T) {
	order := []string{"0.1.0", "0.1.0.1", "0.1.1", "0.2-alpha1", "0.2-beta1", "0.2-beta2", "0.2.0", "0.10.0", "1.0.0"}
	for i, a := range order {
		for j, b := range order {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got, err := CompareVersions(a, b); got != want || err != nil {
				t.Errorf("%s and %s: %d, %v", a, b, got, err)
			}
		}
	}
	for _, bad := range []string{"", "1", "1.2", "1.2.3.4.5", "v1.2.3", "1.2.3\n", "1.2.99999999999"} {
		if _, err := CompareVersions("1.2.3", bad); KindOf(err) != Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAgentsReportBinariesByAHashPrefix(t *testing.T) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for reported, want := range map[string]bool{sum: true, sum[:16]: true, sum[:15]: false, "": false,
		strings.Repeat("f", 64): false} {
		if got := (Binaries{SHA256: reported}).Are(Binaries{SHA256: sum}); got != want {
			t.Errorf("%q: %v", reported, got)
		}
	}
}
