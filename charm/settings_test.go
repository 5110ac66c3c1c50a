package charm

import "testing"

// Values of an option whose type another charm has changed are carried over if that loses nothing.
func TestSettingsOfAnotherType(t *testing.T) {
	t.Parallel()
	config, err := ParseConfig([]byte("options: {s: {type: string}, i: {type: int}, f: {type: float}, b: {type: boolean}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		option      string
		value, want any // nil if it is not carried over
	}{
		{"i", "8080", int64(8080)}, {"i", "08080", nil}, {"i", "x", nil}, {"i", "1.5", nil}, {"i", "", nil}, {"i", 3.0, int64(3)},
		{"i", 3.5, nil}, {"i", true, nil}, {"i", 1e300, nil},
		{"s", int64(8080), "8080"}, {"s", true, "true"}, {"s", 1.5, "1.5"},
		{"f", "1.5", 1.5}, {"f", "1.50", nil}, {"f", int64(2), 2.0}, {"f", true, nil},
		{"b", "true", true}, {"b", "yes", nil}, {"b", "True", nil}, {"b", int64(1), nil},
	} {
		if got, ok := config.UsableSettings(map[string]any{c.option: c.value})[c.option]; got != c.want || ok != (c.want != nil) {
			t.Errorf("%s: %#v becomes %#v, want %#v", c.option, c.value, got, c.want)
		}
	}
}
