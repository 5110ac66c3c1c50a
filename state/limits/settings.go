package limits

import (
	"fmt"
	"slices"

	"juju/state/entity"
)

// CheckHookChanges returns an Invalid error for changes that can't be stored, whatever is already
// stored.
func CheckHookChanges(c entity.HookChanges) error {
	for _, relations := range []map[int]map[string]string{c.Relations, c.Applications} {
		if err := List.Check(len(relations)); err != nil {
			return err
		}
		for _, settings := range relations {
			if err := CheckRelationSettings(settings); err != nil {
				return err
			}
		}
	}
	for store, n := range c.Storage {
		if !entity.IsValidStore(store) {
			return entity.Errorf(entity.Invalid, "invalid storage name %q", store)
		}
		if n > uint64(UnitStorage.Max) {
			return UnitStorage.Check(UnitStorage.Max + 1)
		}
	}
	if err := Name.CheckText(c.StorageToken); err != nil {
		return err
	}
	ranges := make([]entity.PortRange, len(c.EndpointPorts))
	for i, open := range c.EndpointPorts {
		ranges[i] = open.PortRange
		if err := List.Check(len(open.Endpoints)); err != nil {
			return err
		}
		for _, name := range open.Endpoints {
			if err := Endpoint.CheckText(name); err != nil {
				return err
			}
		}
	}
	for _, ranges := range [][]entity.PortRange{c.OpenPorts, ranges, c.ClosePorts} {
		if err := UnitPorts.Check(len(ranges)); err != nil {
			return err
		}
		for _, r := range ranges {
			if err := r.Check(); err != nil {
				return err
			}
		}
	}
	if err := List.Check(len(c.DropState)); err != nil {
		return err
	}
	for _, key := range c.DropState {
		if err := CheckSettingsKey(key); err != nil {
			return err
		}
	}
	for _, class := range c.DropPayloads {
		if err := Name.CheckText(class); err != nil {
			return err
		}
	}
	if err := List.Check(len(c.DropPayloads)); err != nil {
		return err
	}
	if err := CheckPayloads(c.Payloads); err != nil {
		return err
	}
	if err := checkSecretChanges(c.Secrets); err != nil {
		return err
	}
	return CheckCharmState(c.CharmState)
}

// CheckPayloads returns an Invalid error for payloads of a unit that can't be stored or are too large.
func CheckPayloads(all []entity.Payload) error {
	size, classes := 0, map[string]bool{}
	for _, p := range all {
		if !slices.Contains(entity.PayloadStatuses, p.Status) {
			return entity.Errorf(entity.Invalid, "invalid status %q of a payload, expected one of %v", p.Status,
				entity.PayloadStatuses)
		}
		if p.Class == "" || p.ID == "" {
			return entity.Errorf(entity.Invalid, "payload %q has no class or no id", p.Class+"/"+p.ID)
		}
		if classes[p.Class] {
			return entity.Errorf(entity.Invalid, "two payloads of class %q", p.Class)
		}
		classes[p.Class] = true
		for _, text := range append([]string{p.Class, p.Type, p.ID}, p.Labels...) {
			if err := Name.CheckText(text); err != nil {
				return err
			}
			size += len(text) + 16
		}
	}
	return UnitPayloads.Check(size)
}

// CheckCharmState returns an Invalid error for a charm's state that can't be stored or is too large.
func CheckCharmState(s entity.CharmState) error { return checkSettings(s, CharmState) }

// CheckRelationSettings returns an Invalid error for the settings of a unit in a relation, or of a
// leader, that can't be stored or are too large.
func CheckRelationSettings(settings map[string]string) error {
	return checkSettings(settings, RelationSettings)
}

func checkSettings(settings map[string]string, limit Limit) error {
	for key, value := range settings {
		if err := CheckSettingsKey(key); err != nil {
			return err
		}
		if err := CheckPlain("setting "+key, value); err != nil {
			return err
		}
	}
	return limit.Check(SettingsSize(settings))
}

// CheckMembers returns an Invalid error for members of a relation that can't be stored.
func CheckMembers(m entity.Members) error {
	if err := List.Check(len(m.Units)); err != nil {
		return err
	}
	for n, settings := range m.Units {
		if n < 0 || !m.Has(n) {
			return entity.Errorf(entity.Invalid, "%d is not the number of a unit in this part", n)
		}
		if err := CheckRelationSettings(settings); err != nil {
			return fmt.Errorf("unit %d: %w", n, err)
		}
	}
	if err := CheckShared(m.Secrets); err != nil {
		return err
	}
	return CheckRelationSettings(m.Application)
}

// CheckSettingsKey returns an Invalid error unless key is a valid name of a setting.
func CheckSettingsKey(key string) error {
	if key == "" {
		return entity.Errorf(entity.Invalid, "%s: it is empty", SettingsKey.Of)
	}
	return SettingsKey.CheckText(key)
}

// SettingsSize returns the size of settings for limits.
func SettingsSize(settings map[string]string) (size int) {
	for key, value := range settings {
		size += SettingSize(key, value)
	}
	return size
}

// SettingSize returns the size of a setting for limits: its name, its text, and the store's overhead.
func SettingSize(key, value string) int { return len(key) + len(value) + 16 }

// JSONSize returns the most bytes that a setting takes in the JSON of a request.
func JSONSize(key, value string) int {
	size := len(`"":"",`)
	for _, text := range []string{key, value} {
		size += len(text)
		for _, r := range text {
			switch {
			case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
				size++
			case r < ' ', r == '\u2028', r == '\u2029':
				size += 5
			}
		}
	}
	return size
}
