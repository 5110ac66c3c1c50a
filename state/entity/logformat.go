package entity

// A LogFormat is the format of the log files of controllers and agents. The zero value is TextLog.
type LogFormat string

// The formats.
const (
	TextLog LogFormat = "text" // a line of text for each entry
	JSONLog LogFormat = "json" // a JSON object in a line for each entry
)

// UnmarshalText implements encoding.TextUnmarshaler. The error is Invalid.
func (f *LogFormat) UnmarshalText(text []byte) error {
	switch LogFormat(text) {
	case "", TextLog, JSONLog:
		*f = LogFormat(text)
		return nil
	}
	return Errorf(Invalid, "log format %q is not known: it is text or json", text)
}

// MarshalText implements encoding.TextMarshaler.
func (f LogFormat) MarshalText() ([]byte, error) { return []byte(f), nil }
