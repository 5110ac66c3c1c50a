package charmhub

import (
	"regexp"
	"slices"
	"strings"

	"juju/state/entity"
)

// Risks are the risks of a channel, the most stable first. A risk that has no release has those of the one before.
var Risks = []string{"stable", "candidate", "beta", "edge"}

// A Channel is where releases of a charm come out: TRACK/RISK/BRANCH.
type Channel struct {
	Track  string // "" is the default track of the charm
	Risk   string
	Branch string
}

// LatestTrack is the track that need not be named.
const LatestTrack = "latest"

var channelPart = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}$`)

// ParseChannel parses TRACK, RISK, TRACK/RISK, RISK/BRANCH or TRACK/RISK/BRANCH. Without a risk it is stable. Its errors, which are
// Juju's, are Invalid.
func ParseChannel(s string) (Channel, error) {
	var c Channel
	if s == "" {
		return c, entity.Errorf(entity.Invalid, "empty channel not valid")
	}
	parts := strings.Split(s, "/")
	switch isRisk := slices.Contains(Risks, parts[0]); {
	case len(parts) == 1 && isRisk:
		c.Risk = parts[0]
	case len(parts) == 1:
		c.Track, c.Risk = parts[0], Risks[0]
	case len(parts) == 2 && isRisk:
		c.Risk, c.Branch = parts[0], parts[1]
	case len(parts) == 2:
		c.Track, c.Risk = parts[0], parts[1]
	case len(parts) == 3:
		c.Track, c.Risk, c.Branch = parts[0], parts[1], parts[2]
	default:
		return c, entity.Errorf(entity.Invalid, "channel is malformed and has too many components %q", s)
	}
	if !slices.Contains(Risks, c.Risk) {
		return Channel{}, entity.WithHint(entity.Errorf(entity.Invalid, "risk in channel %q not valid", s),
			"A channel is TRACK/RISK, and a risk one of %s.", strings.Join(Risks, ", "))
	}
	for what, part := range map[string]string{"track": c.Track, "branch": c.Branch} {
		if part != "" && !channelPart.MatchString(part) {
			return Channel{}, entity.Errorf(entity.Invalid, "%s in channel %q not valid", what, s)
		}
	}
	if len(parts) > 1 && slices.Contains(parts, "") {
		return Channel{}, entity.Errorf(entity.Invalid, "channel %q not valid: a part of it is empty", s)
	}
	return c, nil
}

// String returns the form that ParseChannel parses: "14/stable", or "stable" in the default track.
func (c Channel) String() string {
	s := c.Risk
	if c.Track != "" {
		s = c.Track + "/" + s
	}
	if c.Branch != "" {
		s += "/" + c.Branch
	}
	return s
}

// In returns the channel with a track if it names none.
func (c Channel) In(track string) Channel {
	if c.Track == "" {
		c.Track = track
	}
	return c
}

// Listed returns the channel as a store lists it, without the track that need not be named.
func (c Channel) Listed() string {
	if c.Track == LatestTrack {
		c.Track = ""
	}
	return c.String()
}

// Fallbacks returns where a release is looked for: in the channel, without its branch, and then in each more stable risk.
func (c Channel) Fallbacks() []Channel {
	all := []Channel{c}
	if c.Branch != "" {
		c.Branch = ""
		all = append(all, c)
	}
	for i := slices.Index(Risks, c.Risk) - 1; i >= 0; i-- {
		all = append(all, Channel{Track: c.Track, Risk: Risks[i]})
	}
	return all
}
