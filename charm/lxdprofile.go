package charm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
)

// An LXDProfile is the content of lxd-profile.yaml: what the containers get in which the charm's units run, on a cloud of
// LXD.
type LXDProfile struct {
	entity.LXDProfile
	Warnings []string // about content without effect
}

// maxProfile is the maximum size of lxd-profile.yaml in bytes.
const maxProfile = 64 << 10

var profileKeys = []string{"config", "description", "devices"}

// ParseLXDProfile parses lxd-profile.yaml. Values are texts as they are written. It does not check what they mean: Check
// does, because a user can deploy the charm all the same.
func ParseLXDProfile(data []byte) (*LXDProfile, error) {
	if len(data) > maxProfile {
		return nil, &FileError{File: profileFile, Err: fmt.Errorf("larger than %d bytes", maxProfile)}
	}
	root, err := parseYAML(profileFile, data)
	if err != nil {
		return nil, err
	}
	top, err := root.fields()
	if err != nil {
		return nil, err
	}
	p := &LXDProfile{}
	if p.Description, err = top.get("description").written(); err != nil {
		return nil, err
	}
	if p.Config, err = top.get("config").writtenTexts(); err != nil {
		return nil, err
	}
	devices, err := top.get("devices").entries()
	if err != nil {
		return nil, err
	}
	for _, e := range devices {
		device, err := e.value.writtenTexts()
		if err != nil {
			return nil, err
		}
		if p.Devices == nil {
			p.Devices = map[string]map[string]string{}
		}
		p.Devices[e.key] = device
	}
	top.only(profileKeys, map[string]string{"name": "only the controller names profiles", "used_by": "only LXD knows that"})
	p.Warnings = root.log.texts()
	return p, nil
}

// writtenTexts returns a mapping to scalars, as they are written; nil for an empty field.
func (f field) writtenTexts() (texts map[string]string, err error) {
	es, err := f.entries()
	if err != nil {
		return nil, err
	}
	for _, e := range es {
		text, err := e.value.written()
		if err != nil {
			return nil, err
		}
		if texts == nil {
			texts = map[string]string{}
		}
		texts[e.key] = text
	}
	return texts, nil
}

// The devices and configuration that a profile may have. A device without a type passes, as it does in Juju: in LXD it
// fails.
var (
	profileDevices   = []string{"gpu", "unix-block", "unix-char", "usb"}
	withheldPrefixes = []string{"boot", "limits", "migration"}
)

// Check returns an error if the profile has devices or configuration that charms may not give to a container. By force a
// user can deploy the charm all the same. p may be nil.
func (p *LXDProfile) Check() error {
	if p == nil {
		return nil
	}
	refused := func(help, format string, args ...any) error {
		return &helpError{fmt.Errorf("invalid %s: %w", profileFile, invalidf(format, args...)), help}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Devices)) {
		if kind, ok := p.Devices[name]["type"]; ok && !slices.Contains(profileDevices, kind) {
			return refused("Charms can have devices of the types "+strings.Join(profileDevices,
				", ")+". To deploy it anyway: --force",
				"contains device type %q", kind)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Config)) {
		if slices.ContainsFunc(withheldPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			return refused("The keys that begin with "+strings.Join(withheldPrefixes,
				", ")+" are Juju's: memory and the like are for "+
				"constraints. To deploy it anyway: --force", "contains config value %q", key)
		}
	}
	return nil
}
