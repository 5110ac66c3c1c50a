package entity

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"
)

// Any status can be fitted so that it can be stored.
func TestAnyStatusCanBeFittedAndMended(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 20 {
		deep = map[string]any{"a": deep}
	}
	long := strings.Repeat("é", 20_000)
	for name, s := range map[string]Status{
		"long message": {Status: StatusActive, Message: long},
		"NUL":          {Status: StatusActive, Message: "a\x00b"},
		"not UTF-8":    {Status: StatusActive, Message: "a\xff\xfe"},
		"last line":    {Status: StatusError, Message: "hook failed", Data: map[string]any{"last-line": "a\x00\xff", "exit-code": 1}},
		"long data":    {Status: StatusError, Message: "hook failed", Data: map[string]any{"last-line": long + long}},
		"deep":         {Status: StatusActive, Data: map[string]any{"a": deep}},
		"not a number": {Status: StatusActive, Data: map[string]any{"a": math.NaN()}},
		"no word":      {},
		"long word":    {Status: StatusWord(long)},
		"year 10000":   {Status: StatusActive, Since: time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -23*3600))},
		"year -1":      {Status: StatusActive, Since: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		mended := s.Mended()
		if damage := mended.Damage(); damage != "" {
			t.Errorf("%s: still damaged: %s", name, damage)
		}
		if !strings.Contains(mended.Message, "(damaged: ") {
			t.Errorf("%s: %q does not say so", name, mended.Message)
		}
		if again := mended.Mended(); again.Message != mended.Message {
			t.Errorf("%s: mended twice: %q", name, again.Message)
		}
		if s.Status == "" || len(s.Status) > LimitStatusWord.Max {
			continue // our agents never send those
		}
		if err := s.Fitted().Check(); err != nil {
			t.Errorf("%s: fitted is refused: %v", name, err)
		}
	}
	got := Status{Status: StatusError, Message: "m", Data: map[string]any{"last-line": "a\x00b", "exit-code": 1}}.Fitted()
	if want := map[string]any{"last-line": "a\uFFFDb", "exit-code": 1}; !maps.Equal(got.Data, want) {
		t.Errorf("fitted is %v, want %v", got.Data, want)
	}
}

// The error of a limit says what it bounds, the limit, and the actual size.
func TestLimitsNameThemselves(t *testing.T) {
	t.Parallel()
	for _, l := range Limits {
		if err := l.Check(l.Max); err != nil {
			t.Error(err)
		}
		if err := l.Check(l.Max + 1); KindOf(err) != Invalid || !strings.Contains(err.Error(), l.Of) {
			t.Errorf("%+v: %v", l, err)
		}
		if l.Unit == "bytes" {
			if cut := l.Cut(strings.Repeat("x", 2*l.Max)); len(cut) > l.Max && l.Max > 64 || !strings.Contains(cut, "bytes cut]") {
				t.Errorf("%+v: cut to %d bytes", l, len(cut))
			}
		}
	}
	for _, address := range []string{"10.0.0.1", "::1", "fe80::1%eth0", "a-b.example.", "ip_1"} {
		if err := CheckAddresses([]string{address}); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "a b", "a\nb", "http://x", strings.Repeat("a", 300), "-",
		"fe80::1%a\nhost ssh-rsa AAAA", "fe80::1%\x1b[2J", "fe80::1%$(reboot)", "fe80::1%a b", "fe80::1%`x`", "fe80::1%ä",
		"fe80::1%averylonginterface"} {
		if CheckAddresses([]string{address}) == nil {
			t.Errorf("%q is an address", address)
		}
	}
	for _, h := range []Hardware{{Arch: "amd64", Zone: "eu-west-1a"}, {Zone: "rack/2"}, {}} {
		if err := h.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"$(reboot)", "a\u202eb", "a;b", "`x`", "a b"} {
		if (Hardware{Zone: text}).Check() == nil || (Hardware{Arch: text}).Check() == nil {
			t.Errorf("%q is a name in hardware", text)
		}
	}
}
