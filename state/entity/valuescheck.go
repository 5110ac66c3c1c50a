package entity

import (
	"net/netip"
	"regexp"
	"strings"
)

var hostName = regexp.MustCompile(`^[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*\.?$`)

// zoneName is what the zone of an IPv6 address, the name of an interface, may be. Go takes any text.
var zoneName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,15}$`)

// CheckAddresses returns an Invalid error unless each address is an IP address or a host name.
func CheckAddresses(addresses []string) error {
	if err := LimitAddresses.Check(len(addresses)); err != nil {
		return err
	}
	for _, a := range addresses {
		if err := LimitAddress.CheckText(a); err != nil {
			return err
		}
		ip, err := netip.ParseAddr(a)
		if err != nil && !hostName.MatchString(a) || ip.Zone() != "" && !zoneName.MatchString(ip.Zone()) {
			return Errorf(Invalid, "%q is neither an IP address nor the name of a host", a)
		}
	}
	return nil
}

// Check returns an Invalid error for an instance that can't be recorded. Callers decide whether
// id and nonce are required.
func (in Instance) Check() error {
	if err := LimitInstanceID.CheckText(in.ID); err != nil {
		return err
	}
	if strings.ContainsFunc(in.ID, isControl) {
		return Errorf(Invalid, "instance id: %q holds a control character", in.ID)
	}
	if err := LimitNonce.CheckText(in.Nonce); err != nil {
		return err
	}
	if err := in.Hardware.Check(); err != nil {
		return err
	}
	return CheckAddresses(in.Addresses)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Check returns an Invalid error for changes that can't be stored, whatever they are added to.
func (c HookChanges) Check() error {
	for _, relations := range []map[int]map[string]string{c.Relations, c.Applications} {
		if err := LimitList.Check(len(relations)); err != nil {
			return err
		}
		for _, settings := range relations {
			if err := CheckRelationSettings(settings); err != nil {
				return err
			}
		}
	}
	for store, n := range c.Storage {
		if !IsValidStore(store) {
			return Errorf(Invalid, "storage %q: no such name", store)
		}
		if n > uint64(LimitUnitStorage.Max) {
			return LimitUnitStorage.Check(LimitUnitStorage.Max + 1)
		}
	}
	if err := LimitName.CheckText(c.StorageToken); err != nil {
		return err
	}
	for _, ranges := range [][]PortRange{c.OpenPorts, c.ClosePorts} {
		if err := LimitUnitPorts.Check(len(ranges)); err != nil {
			return err
		}
		for _, r := range ranges {
			if err := r.Check(); err != nil {
				return err
			}
		}
	}
	if err := LimitList.Check(len(c.DropState)); err != nil {
		return err
	}
	for _, key := range c.DropState {
		if err := CheckSettingsKey(key); err != nil {
			return err
		}
	}
	return c.CharmState.Check()
}

// Check returns an Invalid error for a charm's state that can't be stored or is too large.
func (s CharmState) Check() error { return checkSettings(s, LimitCharmState) }

// Check returns an Invalid error for settings that can't be stored or are too large.
func (s LeaderSettings) Check() error { return CheckRelationSettings(s) }

// CheckRelationSettings returns an Invalid error for a unit's relation settings that can't be
// stored or are too large.
func CheckRelationSettings(settings map[string]string) error {
	return checkSettings(settings, LimitRelationSettings)
}

func checkSettings(settings map[string]string, limit Limit) error {
	size := 0
	for key, value := range settings {
		if err := CheckSettingsKey(key); err != nil {
			return err
		}
		if err := CheckPlain("setting "+key, value); err != nil {
			return err
		}
		size += SettingSize(key, value)
	}
	return limit.Check(size)
}

// CheckSettingsKey returns an Invalid error for text that can't be the name of a setting.
func CheckSettingsKey(key string) error {
	if key == "" {
		return Errorf(Invalid, "%s: it is empty", LimitSettingsKey.Of)
	}
	return LimitSettingsKey.CheckText(key)
}

// SettingSize is the size of a setting that limits count: its name, its text, and the store's
// overhead.
func SettingSize(key, value string) int { return len(key) + len(value) + 16 }
