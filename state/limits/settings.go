package limits

import "juju/state/entity"

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
	return CheckCharmState(c.CharmState)
}

// CheckCharmState returns an Invalid error for a charm's state that can't be stored or is too large.
func CheckCharmState(s entity.CharmState) error { return checkSettings(s, CharmState) }

// CheckRelationSettings returns an Invalid error for the settings of a unit in a relation, or of a
// leader, that can't be stored or are too large.
func CheckRelationSettings(settings map[string]string) error {
	return checkSettings(settings, RelationSettings)
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

// CheckSettingsKey returns an Invalid error unless key is a valid name of a setting.
func CheckSettingsKey(key string) error {
	if key == "" {
		return entity.Errorf(entity.Invalid, "%s: it is empty", SettingsKey.Of)
	}
	return SettingsKey.CheckText(key)
}

// SettingSize returns the size of a setting for limits: its name, its text, and the store's overhead.
func SettingSize(key, value string) int { return len(key) + len(value) + 16 }
