package entity

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The keys that constraints can have. CPUCores is another name of Cores: it is
// read and never written.
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

// constraintAliases are the names that are read as others.
var constraintAliases = map[string]string{"cpu-cores": ConstraintCores}

// Constraints are what a user demands of the machines that something will run
// on: a set of keys with values. A key can also be there with no value, which
// says "none, whatever the model says"; that is not the same as a key that is
// not there. The zero value demands nothing.
//
// A Constraints never changes once made, so it may be shared and copied freely.
// Compare with Equal, not with ==.
type Constraints struct {
	values map[string]string // key → canonical text, "" for a key without a value
}

// ParseConstraints reads "mem=2G cores=4 tags=fast,^shared". Each argument may
// hold several pairs, separated by white space. Sizes are in MiB unless their
// suffix is M, G, T or P, may be fractions and are rounded up to whole MiB. The
// errors are Invalid and name the pair or key at fault.
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

// constraintSet collects pairs into Constraints and refuses a key that comes
// twice, under one name or two.
type constraintSet struct {
	values map[string]string
	names  map[string]string // key → the name it came by
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
		return WithHint(Errorf(Invalid, "unknown constraint %q", name), "The constraints there are: %s", strings.Join(slices.Sorted(maps.Keys(constraintForms)), ", "))
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

// String writes the form that ParseConstraints reads, keys in alphabetical
// order: "cores=4 mem=2048M tags=fast,^shared". Parsing it gives c again.
func (c Constraints) String() string {
	pairs := make([]string, 0, len(c.values))
	for _, key := range c.Keys() {
		pairs = append(pairs, key+"="+c.values[key])
	}
	return strings.Join(pairs, " ")
}

// IsEmpty reports whether c says nothing at all.
func (c Constraints) IsEmpty() bool { return len(c.values) == 0 }

// Equal reports whether c and other have the same keys with the same values.
func (c Constraints) Equal(other Constraints) bool { return maps.Equal(c.values, other.values) }

// Keys returns the keys that are there, with or without a value, sorted.
func (c Constraints) Keys() []string { return slices.Sorted(maps.Keys(c.values)) }

// Get returns the value of key in the form that String writes, and whether the
// key is there; it is there with "" when it has been set to nothing.
func (c Constraints) Get(key string) (value string, ok bool) {
	value, ok = c.values[key]
	return value, ok
}

// demands reports whether key is there with a value that asks for something.
func (c Constraints) demands(key string) bool {
	v := c.values[key]
	return v != "" && !(key == ConstraintContainer && v == noContainer)
}

// Number returns the value of one of the keys that hold a number: cores and
// cpu-power as they are, mem and root-disk in MiB. It is 0 when none is demanded.
func (c Constraints) Number(key string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(c.values[key], "M"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ConstraintRules is what a cloud says of constraints.
type ConstraintRules struct {
	// Conflicts are pairs of keys of which one only can be demanded, because
	// either decides what the other is about.
	Conflicts [][2]string
	// Unsupported are keys that the cloud pays no heed to. Users are warned of
	// them and never refused, so that one bundle serves many clouds.
	Unsupported []string
	// Values are the only ones that a key may have here.
	Values map[string][]string
}

// DefaultConstraintRules are those of clouds that have none of their own: an
// instance type decides all that it stands for.
func DefaultConstraintRules() ConstraintRules {
	return ConstraintRules{Conflicts: [][2]string{
		{ConstraintInstanceType, ConstraintCores},
		{ConstraintInstanceType, ConstraintCPUPower},
		{ConstraintInstanceType, ConstraintMem},
	}}
}

// Check returns an Invalid error when c demands two things that conflict, or a
// value that is not to be had, and otherwise the keys it demands in vain, sorted.
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

// Merge lays service's constraints over the model's. Each key that service has,
// be it without a value, wins; of the model's other keys those are left out that
// conflict with something service demands, because the user who named an
// instance type for one service did not mean the model's mem to forbid it.
// Merge checks nothing.
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
