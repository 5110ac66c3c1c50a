package entity

// A ConfigSetting is one option of a service with its value.
type ConfigSetting struct {
	Description string
	Type        string
	Value       any    // string, bool, int64 or float64; nil for none
	Default     any    // of the same types
	Source      string // of Value: SourceUser, SourceDefault or SourceUnset
}

// The sources of a ConfigSetting's value.
const (
	SourceUser    = "user"
	SourceDefault = "default"
	SourceUnset   = "unset"
)
