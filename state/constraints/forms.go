package constraints

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"juju/state/entity"
)

// noContainer is the container type of a machine that must not be a container.
const noContainer = "none"

// form is the syntax of a key's values, for users and in JSON and YAML.
type form struct {
	// canonical parses a user's text, never "", and returns the canonical text for its value.
	canonical func(string) (string, error)
	// plain returns the JSON and YAML value of a canonical text; for "", the value of the same
	// type that requires nothing.
	plain func(string) any
	// takes tells users what the key requires and how to write its value.
	takes string
}

// forms maps every key to its form.
var forms = map[string]form{
	AllocatePublicIP: {canonicalBool, plainBool, "a public address: true or false"},
	Arch:             {canonicalArch, plainText, "an architecture: " + strings.Join(arches, ", ")},
	Container:        {canonicalContainer, plainText, "a container of this type: " + strings.Join(containers, ", ")},
	Cores:            {canonicalNumber, plainNumber, "the minimum number of cores; also written cpu-cores"},
	CPUPower:         {canonicalNumber, plainNumber, "the minimum CPU power in the cloud's unit; 100 is about a core"},
	ImageID:          {canonicalText, plainText, "the cloud's ID of an image"},
	InstanceRole:     {canonicalText, plainText, "the cloud's name for a role"},
	InstanceType:     {canonicalText, plainText, "the cloud's name for a machine type"},
	Mem:              {canonicalSize, plainNumber, "the minimum memory, in MiB or with M, G, T or P: 2048, 2G, 1.5G"},
	RootDisk:         {canonicalSize, plainNumber, "the minimum size of the root disk, in MiB or with M, G, T or P: 20G"},
	RootDiskSource:   {canonicalText, plainText, "the cloud's name for a storage pool"},
	Spaces:           {canonicalSpaces, plainList, "networks that the machine is in or, with ^, is not in: db,^public"},
	Tags:             {canonicalList, plainList, "labels that the machine has or, with ^, lacks: fast,^shared"},
	VirtType:         {canonicalText, plainText, "the cloud's name for a kind of virtualisation"},
	Zones:            {canonicalList, plainList, "one of these zones of the cloud: a,b"},
}

// Keys returns the keys of constraints, sorted.
func Keys() []string { return slices.Sorted(maps.Keys(forms)) }

// Help returns a line for each key of constraints: what it requires, and how to write its
// value.
func Help() string {
	var lines []string
	for _, key := range Keys() {
		lines = append(lines, fmt.Sprintf("  %-19s %s", key, forms[key].takes))
	}
	return strings.Join(lines, "\n")
}

var (
	arches     = []string{"amd64", "arm64", "armhf", "i386", "ppc64el", "riscv64", "s390x"}
	containers = append([]string{noContainer}, entity.ContainerTypes...)
)

// canonicalText accepts any UTF-8 text without white space. A value with a blank, which only
// JSON can contain, couldn't be written as a pair; text that isn't UTF-8 couldn't be written as
// JSON.
func canonicalText(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("%q is not UTF-8", s)
	}
	if strings.Join(strings.Fields(s), "") != s {
		return "", fmt.Errorf("%q has white space in it", s)
	}
	return s, nil
}

func canonicalNumber(s string) (string, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return "", errors.New("must be a non-negative integer")
	}
	return nonZero(n, ""), nil
}

// sizeUnits are the units of sizes, each 1024 times the previous one. The first is MiB.
const sizeUnits = "MGTP"

// canonicalSize parses a size and returns it in MiB.
func canonicalSize(s string) (string, error) {
	bad := errors.New("must be a non-negative float with optional M/G/T/P suffix")
	multiplier := 1.0
	if i := strings.IndexByte(sizeUnits, s[len(s)-1]); i >= 0 {
		multiplier = math.Pow(1024, float64(i))
		s = s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < 0 || math.Signbit(f) {
		return "", bad
	}
	f = math.Ceil(f * multiplier)
	// Above 2^53 a float can't represent every whole number, and no disk has 8 ZiB.
	if f > 1<<53 {
		return "", bad
	}
	return nonZero(uint64(f), "M"), nil
}

// nonZero formats n, with "" for 0: requiring no memory is requiring nothing.
func nonZero(n uint64, suffix string) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10) + suffix
}

func canonicalArch(s string) (string, error) {
	if !slices.Contains(arches, s) {
		return "", fmt.Errorf("%q not recognized", s)
	}
	return s, nil
}

func canonicalContainer(s string) (string, error) {
	if !slices.Contains(containers, s) {
		return "", fmt.Errorf("invalid container type %q", s)
	}
	return s, nil
}

func canonicalBool(s string) (string, error) {
	if s != "true" && s != "false" {
		return "", errors.New("must be 'true' or 'false'")
	}
	return s, nil
}

// canonicalList drops empty elements, so that "a,,b," and "a,b" are equal.
func canonicalList(s string) (string, error) {
	elements := slices.DeleteFunc(strings.Split(s, ","), func(e string) bool { return e == "" })
	return canonicalText(strings.Join(elements, ","))
}

func canonicalSpaces(s string) (string, error) {
	s, err := canonicalList(s)
	if err != nil || s == "" {
		return "", err
	}
	for _, space := range strings.Split(s, ",") {
		if name := strings.TrimPrefix(space, "^"); !entity.IsValidSpace(name) {
			return "", fmt.Errorf("%q is not a valid space name", name)
		}
	}
	return s, nil
}

func plainText(s string) any { return s }

func plainNumber(s string) any {
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "M"), 10, 64)
	if err != nil {
		return uint64(0)
	}
	return n
}

func plainList(s string) any {
	if s == "" {
		return []string{}
	}
	return strings.Split(s, ",")
}

// plainBool writes "" for a bool without a value, since neither true nor false means that.
func plainBool(s string) any {
	if s == "" {
		return ""
	}
	return s == "true"
}

// plain returns c as the map written to JSON and YAML.
func (c Value) plain() map[string]any {
	m := make(map[string]any, len(c.values))
	for key, value := range c.values {
		m[key] = forms[key].plain(value)
	}
	return m
}

// fromPlain reads such a map, with the types of numbers and lists that any decoder returns. A
// key whose value is null is absent.
func fromPlain(m map[string]any) (Value, error) {
	set := newSet()
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names) // to make the error deterministic
	for _, name := range names {
		if m[name] == nil {
			continue
		}
		text, err := plainToText(m[name])
		if err != nil {
			return Value{}, entity.Errorf(entity.Invalid, "bad %q constraint: %w", name, err)
		}
		if err := set.add(name, text); err != nil {
			return Value{}, err
		}
	}
	return set.done(), nil
}

func plainToText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case []any:
		elements := make([]string, len(v))
		for i, e := range v {
			s, ok := e.(string)
			if !ok || s == "" || strings.Contains(s, ",") {
				return "", fmt.Errorf("%v can't be an element of a list", e)
			}
			elements[i] = s
		}
		return strings.Join(elements, ","), nil
	}
	return "", errors.New("must be a text, a number, true, false or a list of texts")
}

// MarshalText writes String's form.
func (c Value) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses String's form.
func (c *Value) UnmarshalText(text []byte) (err error) {
	*c, err = Parse(string(text))
	return err
}

// MarshalJSON writes the object that Juju's clients expect: sizes as numbers of MiB, lists as
// arrays. A key without a value is 0, "" or [].
func (c Value) MarshalJSON() ([]byte, error) { return json.Marshal(c.plain()) }

// UnmarshalJSON reads what MarshalJSON writes, and also the text form.
func (c *Value) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return entity.Errorf(entity.Invalid, "cannot read constraints: they are not JSON")
	}
	return c.setPlain(v)
}

// MarshalYAML returns the mapping that MarshalJSON writes.
func (c Value) MarshalYAML() (any, error) { return c.plain(), nil }

// UnmarshalYAML reads a mapping, or the text form, which bundles contain.
func (c *Value) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return entity.Errorf(entity.Invalid, "cannot read constraints: %w", err)
	}
	return c.setPlain(v)
}

func (c *Value) setPlain(v any) (err error) {
	switch v := v.(type) {
	case nil:
		*c = Value{}
	case string:
		*c, err = Parse(v)
	case map[string]any:
		*c, err = fromPlain(v)
	default:
		err = entity.Errorf(entity.Invalid, "constraints must be pairs of keys and values")
	}
	return err
}
