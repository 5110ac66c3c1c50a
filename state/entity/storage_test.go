package entity

import "testing"

func TestParseStorageConstraints(t *testing.T) {
	for text, want := range map[string]StorageConstraints{
		"3":             {Count: 3},
		"10G":           {Size: 10 << 10, Count: 1},
		"1.5G,2":        {Size: 1536, Count: 2},
		"2,rootfs,512M": {Pool: "rootfs", Size: 512, Count: 2},
		"ebs-ssd":       {Pool: "ebs-ssd", Count: 1},
		"1GiB,":         {Size: 1 << 10, Count: 1},
	} {
		if got, err := ParseStorageConstraints(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":           "storage constraints require at least one field to be specified",
		"0":          `cannot parse count: count must be greater than zero, got "0"`,
		"-1":         `cannot parse count: count must be greater than zero, got "-1"`,
		"-1G":        `cannot parse size: size must be greater than zero, got "-1G"`,
		"a,b":        `pool name is already set to "a", new value "b" not valid`,
		"a_b":        `unrecognized storage constraint "a_b" not valid`,
		"99999Y":     `cannot parse size: size "99999Y" is too large`,
		"4294967296": `cannot parse count: count must be greater than zero, got "4294967296"`,
	} {
		if _, err := ParseStorageConstraints(text); err == nil || err.Error() != want || KindOf(err) != Invalid {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseStorage(t *testing.T) {
	all, err := ParseStorage([]string{"data=1G", "cache"}, false)
	if err != nil || all["data"].Size != 1<<10 || all["cache"].Count != 1 {
		t.Errorf("%v, %v", all, err)
	}
	for word, want := range map[string]string{
		"=1G":    `expected "name=constraints" or "name", got "=1G"`,
		"a=b=c":  `expected "name=constraints" or "name", got "a=b=c"`,
		"data":   `expected "name=constraints" where "constraints" must be specified, got "data"`,
		"data=0": `cannot parse constraints for storage "data": cannot parse count: count must be greater than zero, got "0"`,
	} {
		if _, err := ParseStorage([]string{word}, true); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", word, err, want)
		}
	}
	if _, err := ParseStorage([]string{"a=1", "a=2"}, true); err == nil || err.Error() != `storage "a" specified more than once` {
		t.Errorf("twice: %v", err)
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[uint64]string{100: "100MiB", 1024: "1.0GiB", 1536: "1.5GiB", 3 << 20: "3.0TiB"} {
		if got := MiB(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
