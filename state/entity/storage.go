package entity

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// StorageConstraints say what storage a unit gets for one of its charm's stores.
type StorageConstraints struct {
	Pool  string `json:"pool,omitempty" bson:"pool"`
	Size  uint64 `json:"size,omitempty" bson:"size"`   // MiB
	Count uint64 `json:"count,omitempty" bson:"count"` // of instances
}

// String returns the constraints in the form that ParseStorageConstraints accepts: "fast,1024M,2".
func (c StorageConstraints) String() string { return fmt.Sprintf("%s,%dM,%d", c.Pool, c.Size, c.Count) }

// Complete returns the constraints with the pool and size of others where they have none.
func (c StorageConstraints) Complete(others StorageConstraints) StorageConstraints {
	c.Pool, c.Size = cmp.Or(c.Pool, others.Pool), cmp.Or(c.Size, others.Size)
	return c
}

// The grammars of storage. The id of an instance is the name of its charm's store and a number.
var (
	storeName  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)
	storageID  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*/(0|[1-9][0-9]*)$`)
	poolName   = regexp.MustCompile(`^[a-zA-Z]+(-?[a-zA-Z0-9])*$`)
	plainCount = regexp.MustCompile(`^-?[0-9]+$`)
	plainSize  = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)([MGTPEZY])(?:i?B)?$`)
)

// IsValidStore reports whether name is a valid name of a charm's store.
func IsValidStore(name string) bool { return isShort(name) && storeName.MatchString(name) }

// IsValidStorage reports whether id has the form "data/0".
func IsValidStorage(id string) bool { return storageID.MatchString(id) }

// IsValidPool reports whether name is a valid name of a storage pool.
func IsValidPool(name string) bool { return isShort(name) && poolName.MatchString(name) }

// StoreOf returns the name of the charm's store that a storage instance is for: "data" for "data/0".
func StoreOf(id string) string {
	store, _, _ := strings.Cut(id, "/")
	return store
}

// ParseStorageConstraints parses "[pool,][size,][count]", whose parts may be in any order. The count
// defaults to 1. The errors are Invalid.
func ParseStorageConstraints(s string) (c StorageConstraints, err error) {
	for part := range strings.SplitSeq(s, ",") {
		switch {
		case part == "":
		case poolName.MatchString(part):
			if c.Pool != "" {
				return c, Errorf(Invalid, "pool name is already set to %q, new value %q not valid", c.Pool, part)
			}
			c.Pool = part
		case plainCount.MatchString(part):
			n, err := strconv.ParseInt(part, 10, 32)
			if err != nil || n <= 0 {
				return c, Errorf(Invalid, "cannot parse count: count must be greater than zero, got %q", part)
			}
			c.Count = uint64(n)
		case plainSize.MatchString(part):
			if c.Size, err = parseStorageSize(part); err != nil {
				return c, fmt.Errorf("cannot parse size: %w", err)
			}
		default:
			return c, Errorf(Invalid, "unrecognized storage constraint %q not valid", part)
		}
	}
	if c == (StorageConstraints{}) {
		return c, Errorf(Invalid, "storage constraints require at least one field to be specified")
	}
	if c.Count == 0 {
		c.Count = 1
	}
	return c, nil
}

// parseStorageSize parses a size that plainSize matches. It returns MiB, rounded up.
func parseStorageSize(s string) (uint64, error) {
	m := plainSize.FindStringSubmatch(s)
	n, err := strconv.ParseFloat(m[1], 64)
	n = math.Ceil(n * math.Pow(1024, float64(strings.Index("MGTPEZY", m[2]))))
	switch {
	case err != nil || n >= math.MaxInt64:
		return 0, Errorf(Invalid, "size %q is too large", s)
	case n <= 0:
		return 0, Errorf(Invalid, "size must be greater than zero, got %q", s)
	}
	return uint64(n), nil
}

// ParseStorage parses words of the form "name=constraints", or "name" for one instance unless must is
// set. It returns the constraints by name. The errors are Invalid.
func ParseStorage(words []string, must bool) (map[string]StorageConstraints, error) {
	all := make(map[string]StorageConstraints, len(words))
	for _, word := range words {
		name, text, has := strings.Cut(word, "=")
		switch {
		case name == "" || strings.Contains(text, "="):
			return nil, Errorf(Invalid, `expected "name=constraints" or "name", got %q`, word)
		case must && !has:
			return nil, Errorf(Invalid, `expected "name=constraints" where "constraints" must be specified, got %q`, word)
		case !has:
			text = "1"
		}
		if _, twice := all[name]; twice {
			return nil, Errorf(Invalid, "storage %q specified more than once", name)
		}
		c, err := ParseStorageConstraints(text)
		if err != nil {
			return nil, fmt.Errorf("cannot parse constraints for storage %q: %w", name, err)
		}
		all[name] = c
	}
	return all, nil
}

// A StoragePool is a source of storage: a provider and its configuration.
type StoragePool struct {
	Name       string            `json:"name"`
	Provider   string            `json:"provider"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Check returns an error for a pool that users can't have on a cloud: Invalid, or NotFound if the
// cloud has no such provider. The cloud itself knows the attributes of pools.
func (p StoragePool) Check(cloud string) error {
	own := StoragePools(cloud)
	switch {
	case !IsValidPool(p.Name):
		return Errorf(Invalid, "pool name %q not valid", p.Name)
	case !slices.ContainsFunc(own, func(o StoragePool) bool { return o.Provider == p.Provider }):
		return WithHint(Errorf(NotFound, "storage provider %q not found", p.Provider),
			"The storage providers of cloud %q are %s and %s.", cloud,
			own[0].Provider, own[1].Provider)
	}
	return nil
}

// PoolRootFS is the pool and provider of directories on a machine's own disk, which are lost with the
// machine.
const PoolRootFS = "rootfs"

// StoragePools returns the built-in pools of a cloud. Each is named after its provider. The first is
// the default: it is the cloud's own, and its storage outlives machines.
func StoragePools(cloud string) []StoragePool {
	return []StoragePool{{Name: cloud, Provider: cloud}, {Name: PoolRootFS, Provider: PoolRootFS}}
}

// StorageKind is the kind of all storage: a directory, never a device.
const StorageKind = "filesystem"

// A StorageStatus is a storage instance as users see it.
type StorageStatus struct {
	ID         string `json:"id"`
	Pool       string `json:"pool"`
	Size       uint64 `json:"size"` // MiB
	Life       Life   `json:"life"`
	Persistent bool   `json:"persistent,omitempty"` // it outlives machines
	Release    bool   `json:"release,omitempty"`    // it is being removed, but its data is kept
	Status     Status `json:"status"`
	// Filesystem is the cloud's id, "" until it is created. ImportID is the id with which another model can
	// import the filesystem once it is released, if known.
	Filesystem string `json:"filesystem,omitempty"`
	ImportID   string `json:"import-id,omitempty"`
	// Where it is attached; "" if it is not. The location is "" until the storage is usable there.
	Unit           string `json:"unit,omitempty"`
	Machine        string `json:"machine,omitempty"`
	Location       string `json:"location,omitempty"`
	AttachmentLife Life   `json:"attachment-life,omitempty"`
}

// The statuses of storage.
const (
	StatusAttaching StatusWord = "attaching"
	StatusAttached  StatusWord = "attached"
	StatusDetaching StatusWord = "detaching"
	StatusDetached  StatusWord = "detached"
)

// A UnitStorage is storage as seen from the unit that it is attached to.
type UnitStorage struct {
	ID       string `json:"id"`
	Size     uint64 `json:"size"`               // MiB
	Location string `json:"location,omitempty"` // "" until it is usable
	Life     Life   `json:"life"`               // of the attachment
}

// StorageWork is a storage instance that the storage provisioner has work to do for. If it is Gone,
// only its filesystem remains.
type StorageWork struct {
	ID         string      `json:"id"`
	Life       Life        `json:"life"`
	Pool       StoragePool `json:"pool"`
	Size       uint64      `json:"size"`                 // requested, in MiB
	Filesystem string      `json:"filesystem,omitempty"` // the cloud's id; "" until it is created
	Release    bool        `json:"release,omitempty"`    // release it instead of destroying it
	// OnMachine is set if the filesystem is on the instance's own disk.
	OnMachine  bool            `json:"on-machine,omitempty"`
	Attachment *AttachmentWork `json:"attachment,omitempty"`
}

// AttachmentWork is the attachment of a storage instance to a unit.
type AttachmentWork struct {
	Unit     string `json:"unit"`
	Instance string `json:"instance,omitempty"` // of the unit's machine; "" if it has none yet
	Life     Life   `json:"life"`
	Mount    string `json:"mount"`              // where the charm wants it
	Location string `json:"location,omitempty"` // where it is; "" until it is attached
	InUse    string `json:"in-use,omitempty"`   // other storage that is already at Mount or below it
	// After is storage that must be attached first, because this is mounted inside it; or, when this is
	// detached, storage inside it that must be detached first.
	After string `json:"after,omitempty"`
}

// An Attached is storage that is recorded as attached to a unit.
type Attached struct {
	Storage    string
	Unit       string
	Machine    string
	Instance   string // of the machine
	Filesystem string
	Mount      string    // where the charm wants it
	Location   string    // where it is
	Born       time.Time // of the attachment; distinguishes it from an earlier one
}

// A Filesystem is what a cloud created for a storage instance.
type Filesystem struct {
	ID   string `json:"id"`
	Size uint64 `json:"size"` // MiB
	// Instance is the instance on whose disk it is; "" if it outlives instances.
	Instance string `json:"instance,omitempty"`
}

// MiB formats a size in MiB for users: "1.0GiB".
func MiB(n uint64) string {
	size, unit := float64(n), 0
	for size >= 1024 && unit < len("MGTPE")-1 {
		size, unit = size/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%dMiB", n)
	}
	return fmt.Sprintf("%.1f%ciB", size, "MGTPE"[unit])
}
