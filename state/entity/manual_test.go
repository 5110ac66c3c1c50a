package entity

import "testing"

func TestManualPort(t *testing.T) {
	for placement, want := range map[string]int{
		"": 22, "ssh:host": 22, "ssh:root@host": 22, "ssh:host:2222": 2222, "ssh:root@host:2222": 2222,
		"ssh:fd00::1": 22, "ssh:root@[fd00::1]:2222": 2222, "ssh:a@b@10.0.0.1:65535": 65535, "ssh:host:70000": 22,
		"ssh:host:0": 22,
	} {
		if got := ManualPort(placement); got != want {
			t.Errorf("%q: port %d, want %d", placement, got, want)
		}
	}
}
