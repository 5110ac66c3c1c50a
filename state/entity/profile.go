package entity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// An LXDProfile is what a charm gives to the containers of its units: configuration and devices, in LXD's terms.
type LXDProfile struct {
	Config      map[string]string            `json:"config"`
	Description string                       `json:"description"`
	Devices     map[string]map[string]string `json:"devices"`
}

// IsEmpty reports whether the profile gives nothing.
func (p LXDProfile) IsEmpty() bool { return len(p.Config)+len(p.Devices) == 0 }

// A CharmProfile is the profile of a service's charm, by the name that it has in the cloud.
type CharmProfile struct {
	Name string `json:"name"`
	LXDProfile
}

// Ref returns a reference to this content of the profile.
func (p CharmProfile) Ref() ProfileRef {
	text, _ := json.Marshal(p.LXDProfile) // texts, with sorted keys
	sum := sha256.Sum256(text)
	return ProfileRef{Name: p.Name, Digest: hex.EncodeToString(sum[:])}
}

// ProfileRefs returns references to profiles; never nil.
func ProfileRefs(all []CharmProfile) []ProfileRef {
	refs := make([]ProfileRef, len(all))
	for i, p := range all {
		refs[i] = p.Ref()
	}
	return refs
}

// A ProfileRef is a profile as an instance has it.
type ProfileRef struct {
	Name   string `json:"name" bson:"name"`
	Digest string `json:"digest" bson:"digest"` // of its content
}

// ProfileWork is a machine whose instance must get other profiles.
type ProfileWork struct {
	Machine  string `json:"machine"`
	Instance string `json:"instance"`
	// Wanted are the profiles that it should have, by name.
	Wanted []ProfileRef `json:"wanted,omitempty"`
	// Recorded means that it is recorded which profiles the instance has. It is not if it was started by a controller, or
	// in a cloud, that knew none.
	Recorded bool `json:"recorded,omitempty"`
}

// ProfilesSet is what has become of an attempt to give an instance other profiles.
type ProfilesSet struct {
	Instance string       `json:"instance"`
	Has      []ProfileRef `json:"has,omitempty"`    // unless it has failed
	Failed   string       `json:"failed,omitempty"` // why; "" if it has not
}
