package entity

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The keys of constraints. CPUCores is an alias of Cores: it is parsed and never written.
const (
	ConstraintAllocatePublicIP = "allocate-public-ip"
	ConstraintArch             = "arch"
	ConstraintContainer        = "container"
	ConstraintCores            = "cores"
	ConstraintCPUPower         = "cpu-power"
	ConstraintImageID          = "image-id"
	ConstraintInstanceRole     = "instance-role"
	ConstraintInstanceType     = "instance-type"
	ConstraintMem              = "mem"
	ConstraintRootDisk         = "root-disk"
	ConstraintRootDiskSource   = "root-disk-source"
	ConstraintSpaces           = "spaces"
	ConstraintTags             = "tags"
	ConstraintVirtType         = "virt-type"
	ConstraintZones            = "zones"
)

// constraintAliases are the keys that are parsed as others.
var constraintAliases = map[string]string{"cpu-cores": ConstraintCores}

// Constraints are a user's demands on the machines that something runs on: a set of keys with
// values. A key may be present without a value, which says "none, whatever the model says"; an
// absent key doesn't. The zero value demands nothing.
//
// Constraints are immutable, so they may be shared and copied. Compare them with Equal, not with
// ==.
type Constraints struct {
	values map[string]string // key → canonical text, "" for a key without a value
}

// ParseConstraints parses "mem=2G cores=4 tags=fast,^shared". Each argument may hold several
// pairs, separated by white space. Sizes are in MiB unless their suffix is M, G, T or P; they may
// be fractions and are rounded up to whole MiB. The errors are Invalid and name the pair or key
// at fault.
func ParseConstraints(args ...string) (Constraints, error) {
	set := newConstraintSet()
	for _, arg := range args {
		for _, pair := range strings.Fields(arg) {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return Constraints{}, Errorf(Invalid, "malformed constraint %q", pair)
			}
			if err := set.add(name, value); err != nil {
				return Constraints{}, err
			}
		}
	}
	return set.done(), nil
}

// constraintSet collects pairs into Constraints and refuses a key that occurs twice, even under
// an alias.
type constraintSet struct {
	values map[string]string
	names  map[string]string // key → the name it was given by
}

func newConstraintSet() *constraintSet {
	return &constraintSet{values: map[string]string{}, names: map[string]string{}}
}

func (s *constraintSet) add(name, value string) error {
	key := name
	if k, ok := constraintAliases[name]; ok {
		key = k
	}
	read, ok := constraintForms[key]
	if !ok {
		return WithHint(Errorf(Invalid, "unknown constraint %q", name), "The constraints there are: %s", strings.Join(ConstraintKeys(), ", "))
	}
	if before, ok := s.names[key]; ok && before != name {
		return Errorf(Invalid, "constraint %q duplicates constraint %q", name, before)
	} else if ok {
		return Errorf(Invalid, "bad %q constraint: already set", name)
	}
	if value != "" {
		var err error
		if value, err = read.canonical(value); err != nil {
			return Errorf(Invalid, "bad %q constraint: %w", name, err)
		}
	}
	s.names[key], s.values[key] = name, value
	return nil
}

func (s *constraintSet) done() Constraints {
	if len(s.values) == 0 {
		return Constraints{}
	}
	return Constraints{s.values}
}

// String returns the form that ParseConstraints parses, keys in alphabetical order: "cores=4
// mem=2048M tags=fast,^shared". Parsing it returns c again.
func (c Constraints) String() string {
	pairs := make([]string, 0, len(c.values))
	for _, key := range c.Keys() {
		pairs = append(pairs, key+"="+c.values[key])
	}
	return strings.Join(pairs, " ")
}

// IsEmpty reports whether c has no keys.
func (c Constraints) IsEmpty() bool { return len(c.values) == 0 }

// Equal reports whether c and other have the same keys with the same values.
func (c Constraints) Equal(other Constraints) bool { return maps.Equal(c.values, other.values) }

// Keys returns the keys that are present, with or without a value, sorted.
func (c Constraints) Keys() []string { return slices.Sorted(maps.Keys(c.values)) }

// Get returns the value of key in the form that String writes, and whether the key is present; a
// key without a value has "".
func (c Constraints) Get(key string) (value string, ok bool) {
	value, ok = c.values[key]
	return value, ok
}

// Shown returns the value of key as people write it: a size in the largest unit of which it is a
// whole number, "500T". ParseConstraints reads it as the same value.
func (c Constraints) Shown(key string) string {
	n := c.Number(key)
	if n == 0 || key != ConstraintMem && key != ConstraintRootDisk {
		return c.values[key]
	}
	unit := 0
	for unit < len(sizeUnits)-1 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatUint(n, 10) + sizeUnits[unit:unit+1]
}

// demands reports whether key is present with a value that demands something.
func (c Constraints) demands(key string) bool {
	v := c.values[key]
	return v != "" && !(key == ConstraintContainer && v == noContainer)
}

// Number returns the value of a numeric key: cores and cpu-power as they are, mem and root-disk
// in MiB. It is 0 if nothing is demanded.
func (c Constraints) Number(key string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(c.values[key], "M"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ConstraintRules are a cloud's rules for constraints.
type ConstraintRules struct {
	// Conflicts are pairs of keys that can't be demanded together, because each determines what
	// the other is about.
	Conflicts [][2]string
	// Unsupported are keys that the cloud ignores. Users are warned about them, not refused, so
	// that one bundle works on many clouds.
	Unsupported []string
	// Values are the only values that a key may have.
	Values map[string][]string
}

// DefaultConstraintRules are those of clouds without rules of their own: an instance type
// determines everything it stands for.
func DefaultConstraintRules() ConstraintRules {
	return ConstraintRules{Conflicts: [][2]string{
		{ConstraintInstanceType, ConstraintCores},
		{ConstraintInstanceType, ConstraintCPUPower},
		{ConstraintInstanceType, ConstraintMem},
	}}
}

// Check returns an Invalid error if c demands two keys that conflict or a value that doesn't
// exist, and otherwise the demanded keys that the cloud ignores, sorted.
func (r ConstraintRules) Check(c Constraints) (unsupported []string, err error) {
	for _, pair := range r.Conflicts {
		if c.demands(pair[0]) && c.demands(pair[1]) {
			return nil, Errorf(Invalid, "ambiguous constraints: %q overlaps with %q", pair[0], pair[1])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Values)) {
		if value := c.values[key]; c.demands(key) && !slices.Contains(r.Values[key], value) {
			return nil, Errorf(Invalid, "invalid constraint value: %v=%v\nvalid values are: %v", key, value, r.Values[key])
		}
	}
	for _, key := range c.Keys() {
		if c.demands(key) && slices.Contains(r.Unsupported, key) {
			unsupported = append(unsupported, key)
		}
	}
	return unsupported, nil
}

// Merge lays service's constraints over the model's. Each key of service wins, even without a
// value. Keys of the model that conflict with a demand of service are left out: a user who names
// an instance type for one service doesn't mean the model's mem to forbid it. Merge checks
// nothing.
func (r ConstraintRules) Merge(model, service Constraints) Constraints {
	s := newConstraintSet()
	maps.Copy(s.values, model.values)
	for _, pair := range r.Conflicts {
		for i, key := range pair {
			if service.demands(key) {
				delete(s.values, pair[1-i])
			}
		}
	}
	maps.Copy(s.values, service.values)
	return s.done()
}

// MergeConstraints is Merge by the default rules.
func MergeConstraints(model, service Constraints) Constraints {
	return DefaultConstraintRules().Merge(model, service)
}
