package params

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"juju/state/modelconfig"
)

// WireTypes maps Go types whose values JSON would change to the types that represent them in the requests and replies
// of agents. The types of each pair can be converted into each other.
var WireTypes = map[reflect.Type]reflect.Type{
	reflect.TypeFor[map[string]any]():     reflect.TypeFor[Values](),
	reflect.TypeFor[modelconfig.Config](): reflect.TypeFor[ModelConfig](),
}

// WireType returns the type that represents t in requests and replies, which may be t.
func WireType(t reflect.Type) reflect.Type {
	if wire, ok := WireTypes[t]; ok {
		return wire
	}
	return t
}

// Values are a service's settings: string, bool, int64, float64 or nil, by option. JSON has a single type of number;
// Values preserves the difference between int64 and float64.
type Values map[string]any

// MarshalJSON writes whole float64s as "5.0".
func (v Values) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(v))
	for key, value := range v {
		if f, ok := value.(float64); ok {
			text, err := json.Marshal(f)
			if err != nil {
				return nil, fmt.Errorf("cannot write option %q: %w", key, err)
			}
			if !strings.ContainsAny(string(text), ".e") {
				text = append(text, ".0"...)
			}
			value = json.RawMessage(text)
		}
		out[key] = value
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads numbers with a point or an exponent as float64, others as int64.
func (v *Values) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	raw := map[string]any{}
	if err := decoder.Decode(&raw); err != nil {
		return err
	}
	for key, value := range raw {
		n, ok := value.(json.Number)
		if !ok {
			continue
		}
		var err error
		if strings.ContainsAny(n.String(), ".eE") {
			raw[key], err = n.Float64()
		} else {
			raw[key], err = n.Int64()
		}
		if err != nil {
			return fmt.Errorf("cannot read option %q: %s is too large a number", key, n)
		}
	}
	*v = raw
	return nil
}
