package charmstore

import (
	"slices"
	"strings"

	"juju/charm/charmhub"
)

// matches reports whether a base that is asked for is one of a revision, which may be for all.
func matches(asked, of charmhub.Base) bool {
	return (of.Name == "all" || asked.IsAny() || of.Name == asked.Name && of.Channel == strings.TrimSuffix(asked.Channel, "/stable")) &&
		(of.Architecture == "all" || asked.Architecture == "" || asked.Architecture == "all" || of.Architecture == asked.Architecture)
}

// pick returns the release in a channel for a base, or what a more stable channel has, and the channel in which it was.
func (r *record) pick(channel charmhub.Channel, asked charmhub.Base) (f found, in charmhub.Channel, ok bool) {
	for _, c := range channel.In(r.defaultTrack()).Fallbacks() {
		for _, one := range r.releasedIn(c) {
			if one.runsOn(asked) {
				return one, c, true
			}
		}
	}
	return found{}, channel, false
}

// channels returns those that have a release, by track, risk and branch.
func (r *record) channels() (all []charmhub.Channel) {
	for _, one := range r.Releases {
		if c, err := charmhub.ParseChannel(one.Channel); err == nil && !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b charmhub.Channel) int {
		if a.Track != b.Track {
			if (a.Track == r.defaultTrack()) != (b.Track == r.defaultTrack()) { // it comes first
				if a.Track == r.defaultTrack() {
					return -1
				}
				return 1
			}
			return strings.Compare(a.Track, b.Track)
		}
		if a.Risk != b.Risk {
			return slices.Index(charmhub.Risks, a.Risk) - slices.Index(charmhub.Risks, b.Risk)
		}
		return strings.Compare(a.Branch, b.Branch)
	})
	return all
}

// A listed is a release for one base.
type listed struct {
	found
	charmhub.Channel
	base charmhub.Base
}

// list returns each release of each channel, once for each base: of several for one base, the latest.
func (r *record) list() (all []listed) {
	for _, c := range r.channels() {
		var bases []charmhub.Base
		for _, one := range r.releasedIn(c) {
			for _, b := range one.basesOf() {
				if !slices.Contains(bases, b) {
					bases = append(bases, b)
					all = append(all, listed{one, c, b})
				}
			}
		}
	}
	return all
}

// usual returns the release that a user gets who names no channel: of the most stable risk of the default track, else of whatever
// there is.
func (r *record) usual() (listed, bool) {
	all := r.list()
	for _, one := range all {
		if one.Track == r.defaultTrack() && one.Branch == "" {
			return one, true
		}
	}
	if len(all) == 0 {
		return listed{}, false
	}
	return all[0], true
}

// offered says what there is, for an error.
func (r *record) offered() (all []charmhub.Offered) {
	for _, one := range r.list() {
		all = append(all, charmhub.Offered{Base: one.base, Channel: one.Listed()})
	}
	return all
}

// bases returns those for which a channel has a release, on an architecture that is asked for.
func (r *record) bases(channel charmhub.Channel, arch string) (all []charmhub.Base) {
	for _, c := range channel.In(r.defaultTrack()).Fallbacks() {
		for _, one := range r.releasedIn(c) {
			for _, b := range one.basesOf() {
				if b.Architecture == "all" && arch != "" {
					b.Architecture = arch
				}
				if !slices.Contains(all, b) {
					all = append(all, b)
				}
			}
		}
	}
	return all
}

// add releases a revision in a channel. What the channel had for its bases is no longer released there.
func (r *record) add(one release) {
	rev := r.revision(one.Revision)
	r.Releases = append(slices.DeleteFunc(r.Releases, func(old release) bool {
		if old.Channel != one.Channel {
			return false
		}
		was := r.revision(old.Revision)
		return was == nil || !slices.ContainsFunc(was.Bases, func(b string) bool { return !slices.Contains(rev.Bases, b) })
	}), one)
}

// close takes all releases out of a channel, and reports whether it had any.
func (r *record) close(channel charmhub.Channel) bool {
	before := len(r.Releases)
	text := channel.In(r.defaultTrack()).String()
	r.Releases = slices.DeleteFunc(r.Releases, func(one release) bool { return one.Channel == text })
	return len(r.Releases) < before
}
