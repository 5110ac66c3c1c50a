package limits

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

// FitStatus makes any status fit the limits, and MendStatus makes any damaged
// one presentable.
func TestFitAndMendStatus(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 20 {
		deep = map[string]any{"a": deep}
	}
	long := strings.Repeat("é", 20_000)
	for name, s := range map[string]entity.Status{
		"long message": {Status: entity.StatusActive, Message: long},
		"NUL":          {Status: entity.StatusActive, Message: "a\x00b"},
		"not UTF-8":    {Status: entity.StatusActive, Message: "a\xff\xfe"},
		"last line":    {Status: entity.StatusError, Message: "hook failed", Data: map[string]any{"last-line": "a\x00\xff", "exit-code": 1}},
		"long data":    {Status: entity.StatusError, Message: "hook failed", Data: map[string]any{"last-line": long + long}},
		"deep":         {Status: entity.StatusActive, Data: map[string]any{"a": deep}},
		"not a number": {Status: entity.StatusActive, Data: map[string]any{"a": math.NaN()}},
		"no status":    {},
		"long status":  {Status: entity.StatusWord(long)},
		"year 10000":   {Status: entity.StatusActive, Since: time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -23*3600))},
		"year -1":      {Status: entity.StatusActive, Since: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		mended := MendStatus(s)
		if damage := StatusDamage(mended); damage != "" {
			t.Errorf("%s: still damaged: %s", name, damage)
		}
		if !strings.Contains(mended.Message, "(damaged: ") {
			t.Errorf("%s: %q does not mention the damage", name, mended.Message)
		}
		if again := MendStatus(mended); again.Message != mended.Message {
			t.Errorf("%s: mended twice: %q", name, again.Message)
		}
		if s.Status == "" || len(s.Status) > StatusWord.Max {
			continue // agents never send those
		}
		if err := CheckStatus(FitStatus(s)); err != nil {
			t.Errorf("%s: fitted status is rejected: %v", name, err)
		}
	}
	got := FitStatus(entity.Status{Status: entity.StatusError, Message: "m", Data: map[string]any{"last-line": "a\x00b", "exit-code": 1}})
	if want := map[string]any{"last-line": "a\uFFFDb", "exit-code": 1}; !maps.Equal(got.Data, want) {
		t.Errorf("fitted data is %v, want %v", got.Data, want)
	}
}

// The error of a limit names the limited value, the limit, and the actual size.
func TestLimitsNameThemselves(t *testing.T) {
	t.Parallel()
	for _, l := range All {
		if err := l.Check(l.Max); err != nil {
			t.Error(err)
		}
		if err := l.Check(l.Max + 1); entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), l.Of) {
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
			t.Errorf("%q was accepted as an address", address)
		}
	}
	for _, h := range []entity.Hardware{{Arch: "amd64", Zone: "eu-west-1a"}, {Zone: "rack/2"}, {}} {
		if err := CheckHardware(h); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"$(reboot)", "a\u202eb", "a;b", "`x`", "a b"} {
		if CheckHardware(entity.Hardware{Zone: text}) == nil || CheckHardware(entity.Hardware{Arch: text}) == nil {
			t.Errorf("%q was accepted in hardware", text)
		}
	}
}

// A time that JSON has no form for, as its year in UTC has five digits, is no time at which a secret can expire.
func TestYearsInWhichSecretsExpire(t *testing.T) {
	t.Parallel()
	for zone, ok := range map[int]bool{0: true, 23 * 3600: true, -23 * 3600: false} {
		expire := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", zone))
		err := checkSecret("id", entity.SecretSettings{Expire: &expire})
		if (err == nil) != ok {
			t.Errorf("%v: got error %v, want one: %v", expire, err, !ok)
		}
	}
}

// What charms and users set of secrets is refused before anything is stored.
func TestSettingsOfSecrets(t *testing.T) {
	t.Parallel()
	often, yearly, unset := entity.RotatePolicy("often"), entity.RotateYearly, entity.RotatePolicy("")
	nul, long := "a\x00b", strings.Repeat("x", SecretText.Max+1)
	for words, s := range map[string]entity.SecretSettings{
		`rotate policy "often" not valid`:                     {Rotate: &often},
		"label or description of a secret: it contains a NUL": {Label: &nul},
		"label or description of a secret: 4097 bytes":        {Description: &long},
		`key "A" not valid`:                                   {Content: entity.SecretContent{"A": "eA=="}},
		`the value of key "key" is not valid base64`:          {Content: entity.SecretContent{"key": "?"}},
	} {
		if err := CheckSecretSettings(s); entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), words) {
			t.Errorf("got error %v, want %q", err, words)
		}
	}
	for _, s := range []entity.SecretSettings{{}, {Rotate: &yearly}, {Rotate: &unset}, {Content: entity.SecretContent{}}} {
		if err := CheckSecretSettings(s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
