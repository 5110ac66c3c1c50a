package charmhub

import (
	"slices"
	"testing"

	"juju/state/entity"
)

// A channel is written in Juju's forms, and what is printed is read back.
func TestChannels(t *testing.T) {
	for text, want := range map[string]Channel{
		"stable": {Risk: "stable"}, "edge": {Risk: "edge"}, "14": {Track: "14", Risk: "stable"}, "14/edge": {Track: "14", Risk: "edge"},
		"edge/fix": {Risk: "edge", Branch: "fix"}, "14/beta/fix-1": {Track: "14", Risk: "beta", Branch: "fix-1"},
		"latest/candidate": {Track: "latest", Risk: "candidate"}, "2.0": {Track: "2.0", Risk: "stable"},
	} {
		c, err := ParseChannel(text)
		if err != nil || c != want {
			t.Errorf("%q is %+v, %v; want %+v", text, c, err, want)
		}
		if again, err := ParseChannel(c.String()); err != nil || again != c {
			t.Errorf("%q is printed as %q, which is %+v, %v", text, c, again, err)
		}
	}
	for text, want := range map[string]string{
		"": "empty channel not valid", "a/b/c/d": `channel is malformed and has too many components "a/b/c/d"`,
		"14/soon": `risk in channel "14/soon" not valid`, "!/edge": `track in channel "!/edge" not valid`,
		"edge/ä": `branch in channel "edge/ä" not valid`, "14/": `risk in channel "14/" not valid`,
		"/edge": `channel "/edge" not valid: a part of it is empty`, "edge/": `channel "edge/" not valid: a part of it is empty`,
	} {
		if _, err := ParseChannel(text); err == nil || err.Error() != want || !isInvalid(err) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

func isInvalid(err error) bool { return entity.KindOf(err) == entity.Invalid }

// A channel that has nothing has what the more stable ones have.
func TestFallbacks(t *testing.T) {
	c := Channel{Track: "14", Risk: "beta", Branch: "x"}
	var got []string
	for _, one := range c.Fallbacks() {
		got = append(got, one.String())
	}
	if want := []string{"14/beta/x", "14/beta", "14/candidate", "14/stable"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (Channel{Track: "latest", Risk: "edge"}).Listed(); got != "edge" {
		t.Errorf("it is listed as %s", got)
	}
}
