// Package constraints implements users' requirements for machines: the keys, their syntax, and how the
// constraints of a model and a service combine.
package constraints

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"juju/state/entity"
	"juju/state/limits"
)

// The keys of constraints. Parse also accepts cpu-cores, an alias of Cores that is never written.
const (
	AllocatePublicIP = "allocate-public-ip"
	Arch             = "arch"
	Container        = "container"
	Cores            = "cores"
	CPUPower         = "cpu-power"
	ImageID          = "image-id"
	InstanceRole     = "instance-role"
	InstanceType     = "instance-type"
	Mem              = "mem"
	RootDisk         = "root-disk"
	RootDiskSource   = "root-disk-source"
	Spaces           = "spaces"
	Tags             = "tags"
	VirtType         = "virt-type"
	Zones            = "zones"
)

// aliases maps alternative keys to the canonical ones.
var aliases = map[string]string{"cpu-cores": Cores}

// A Value is a user's requirements for the machines of a service or model: a set of keys with values. A key
// without a value means "none, whatever the model has"; an absent key inherits from the model. The zero value
// requires nothing.
//
// Values are immutable, so they may be shared and copied. Compare them with Equal, not with ==.
type Value struct {
	values map[string]string // key → canonical text, "" for a key without a value
}

// Parse parses "mem=2G cores=4 tags=fast,^shared". Each argument may contain several pairs, separated by
// white space. Sizes are in MiB unless they have the suffix M, G, T or P; fractions are rounded up to whole
// MiB. Errors are Invalid and name the pair or key at fault.
func Parse(args ...string) (Value, error) {
	set := newSet()
	for _, arg := range args {
		for _, pair := range strings.Fields(arg) {
			name, value, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return Value{}, entity.Errorf(entity.Invalid, "malformed constraint %q", pair)
			}
			if err := set.add(name, value); err != nil {
				return Value{}, err
			}
		}
	}
	return set.done(), nil
}

// A set collects pairs into a Value and rejects a key that occurs twice, even under an alias.
type set struct {
	values map[string]string
	names  map[string]string // key → the name used for it
}

func newSet() *set {
	return &set{values: map[string]string{}, names: map[string]string{}}
}

func (s *set) add(name, value string) error {
	key := name
	if k, ok := aliases[name]; ok {
		key = k
	}
	read, ok := forms[key]
	if !ok {
		return entity.WithHint(entity.Errorf(entity.Invalid, "unknown constraint %q", name), "The constraints there are: %s",
			strings.Join(Keys(), ", "))
	}
	if before, ok := s.names[key]; ok && before != name {
		return entity.Errorf(entity.Invalid, "constraint %q duplicates constraint %q", name, before)
	} else if ok {
		return entity.Errorf(entity.Invalid, "bad %q constraint: already set", name)
	}
	if value != "" {
		var err error
		if value, err = read.canonical(value); err != nil {
			return entity.Errorf(entity.Invalid, "bad %q constraint: %w", name, err)
		}
	}
	s.names[key], s.values[key] = name, value
	return nil
}

func (s *set) done() Value {
	if len(s.values) == 0 {
		return Value{}
	}
	return Value{s.values}
}

// String returns c in the form that Parse accepts, keys in alphabetical order: "cores=4 mem=2048M tags=fast,^shared".
// Parsing it returns c again.
func (c Value) String() string {
	pairs := make([]string, 0, len(c.values))
	for _, key := range c.Keys() {
		pairs = append(pairs, key+"="+c.values[key])
	}
	return strings.Join(pairs, " ")
}

// IsEmpty reports whether c has no keys.
func (c Value) IsEmpty() bool { return len(c.values) == 0 }

// Equal reports whether c and other have the same keys with the same values.
func (c Value) Equal(other Value) bool { return maps.Equal(c.values, other.values) }

// Keys returns the keys that are present, with or without a value, sorted.
func (c Value) Keys() []string { return slices.Sorted(maps.Keys(c.values)) }

// Get returns the value of key in the form that String writes, or "" for a key without a value, and whether
// the key is present.
func (c Value) Get(key string) (value string, ok bool) {
	value, ok = c.values[key]
	return value, ok
}

// Shown returns the value of key as people write it: a size in the largest unit that gives a whole number,
// such as "500T". Parse reads it as the same value.
func (c Value) Shown(key string) string {
	n := c.Number(key)
	if n == 0 || key != Mem && key != RootDisk {
		return c.values[key]
	}
	unit := 0
	for unit < len(sizeUnits)-1 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatUint(n, 10) + sizeUnits[unit:unit+1]
}

// demands reports whether key is present with a value that requires something.
func (c Value) demands(key string) bool {
	v := c.values[key]
	return v != "" && !(key == Container && v == noContainer)
}

// Number returns the value of a numeric key: cores and cpu-power as they are, mem and root-disk in MiB. It is
// 0 if c requires nothing for key.
func (c Value) Number(key string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(c.values[key], "M"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Rules are a cloud's rules for constraints.
type Rules struct {
	// Conflicts are pairs of keys that can't be combined, because each determines what the other specifies.
	Conflicts [][2]string
	// Unsupported are keys that the cloud ignores. They cause warnings, not errors, because one bundle should
	// work on many clouds.
	Unsupported []string
	// Values lists, for some keys, the only values allowed.
	Values map[string][]string
	// Needs is, for keys that the cloud compares with the host and does not limit, what an agent alone needs, in the unit
	// of Number. Less causes a warning: no machine is that small.
	Needs map[string]uint64
}

// DefaultRules returns the rules for clouds without special rules: an instance type determines everything it
// implies.
func DefaultRules() Rules {
	return Rules{Conflicts: [][2]string{
		{InstanceType, Cores},
		{InstanceType, CPUPower},
		{InstanceType, Mem},
	}}
}

// Check returns an Invalid error if c has two conflicting keys or a value that isn't allowed, and otherwise
// the keys that the cloud ignores, sorted.
func (r Rules) Check(c Value) (unsupported []string, err error) {
	for _, pair := range r.Conflicts {
		if c.demands(pair[0]) && c.demands(pair[1]) {
			return nil, entity.Errorf(entity.Invalid, "ambiguous constraints: %q overlaps with %q", pair[0], pair[1])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Values)) {
		if value := c.values[key]; c.demands(key) && !slices.Contains(r.Values[key], value) {
			return nil, entity.Errorf(entity.Invalid, "invalid constraint value: %v=%v\nvalid values are: %v",
				key, value, r.Values[key])
		}
	}
	for _, key := range c.Keys() {
		if c.demands(key) && slices.Contains(r.Unsupported, key) {
			unsupported = append(unsupported, key)
		}
	}
	return unsupported, nil
}

// TooSmall returns the constraints that are below what an agent needs, as users write them.
func (r Rules) TooSmall(c Value) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(r.Needs)) {
		if n := c.Number(key); n > 0 && n < r.Needs[key] {
			all = append(all, key+"="+c.Shown(key))
		}
	}
	return all
}

// Merge merges service's constraints over the model's. Every key of service wins, even without a value. Keys
// of the model that conflict with a requirement of service are dropped: a user who specifies an instance type
// for one service doesn't expect the model's mem to forbid it. Merge checks nothing.
func (r Rules) Merge(model, service Value) Value {
	s := newSet()
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

// Merge is Rules.Merge with the default rules.
func Merge(model, service Value) Value {
	return DefaultRules().Merge(model, service)
}

// Spaces returns the names of the spaces in which a machine must have an address, and of those in which it must have none.
func (c Value) Spaces() (in, out []string) {
	for _, name := range strings.Split(c.values[Spaces], ",") {
		if without, ok := strings.CutPrefix(name, "^"); ok {
			out = append(out, without)
		} else if name != "" {
			in = append(in, name)
		}
	}
	return in, out
}

// RenameSpace returns c with another name for a space, or without it if to is "".
func (c Value) RenameSpace(from, to string) Value {
	var kept []string
	for _, name := range strings.Split(c.values[Spaces], ",") {
		not, plain := "", name
		if without, ok := strings.CutPrefix(name, "^"); ok {
			not, plain = "^", without
		}
		if plain == from {
			plain = to
		}
		if plain != "" {
			kept = append(kept, not+plain)
		}
	}
	values := maps.Clone(c.values)
	if values[Spaces] = strings.Join(kept, ","); len(kept) == 0 {
		delete(values, Spaces)
	}
	return Value{values}
}

// MetBy reports whether c is satisfied by a machine with this hardware that was requested with the
// constraints own. A cloud gives a machine at least the requested sizes; requirements that hardware does not
// describe, such as tags, must have been requested literally. Spaces are not judged: they depend on the machine's addresses.
func (c Value) MetBy(h entity.Hardware, own Value) bool {
	has := map[string]uint64{Cores: h.Cores, Mem: h.Mem, RootDisk: h.RootDisk}
	for _, key := range c.Keys() {
		value, _ := c.Get(key)
		asked, _ := own.Get(key)
		if !c.demands(key) || value == asked || key == Spaces {
			continue
		}
		n, met := c.Number(key), false
		switch key {
		case Arch:
			met = h.Arch == value
		case Cores, Mem, RootDisk, CPUPower:
			met = has[key] >= n || own.Number(key) >= n
		case Zones:
			met = h.Zone != "" && slices.Contains(strings.Split(value, ","), h.Zone)
		}
		if !met {
			return false
		}
	}
	return true
}

// Check returns an Invalid error for constraints that can't be stored.
func (c Value) Check() error {
	size := 0
	for key, value := range c.values {
		if err := limits.CheckPlain("constraint "+key, value); err != nil {
			return err
		}
		size += len(key) + len(value) + 2
	}
	return limits.Constraints.Check(size)
}
