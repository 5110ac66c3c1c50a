package charm

import (
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// StorageType is the type of a store: a mounted filesystem or a block device.
type StorageType string

// The storage types.
const (
	StorageFilesystem StorageType = "filesystem"
	StorageBlock      StorageType = "block"
)

// Storage is a store that a charm declares.
type Storage struct {
	Name        string
	Description string
	Type        StorageType
	Shared      bool
	ReadOnly    bool
	CountMin    int
	CountMax    int    // -1: no bound
	MinimumSize uint64 // MiB; 0: no minimum
	Location    string // mount point; with CountMax other than 1, its parent
	Transient   bool   // may be lost with the machine
}

// isProvided reports whether such storage is supported.
func (s Storage) isProvided() bool { return s.Type == StorageFilesystem && !s.Shared }

// Resource is a file or image that is delivered separately from the charm's archive.
type Resource struct {
	Name        string
	Type        string // "file" or "oci-image"
	Filename    string // of a file: its name, without directories
	Description string
}

func parseStorage(charmName string, f field) (map[string]Storage, error) {
	entries, err := f.entries()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	stores := make(map[string]Storage, len(entries))
	for _, e := range entries {
		s, err := parseStore(charmName, e)
		if err != nil {
			return nil, err
		}
		stores[s.Name] = s
	}
	return stores, nil
}

var (
	storageKeys = []string{"type", "description", "shared", "read-only", "location", "minimum-size", "multiple",
		"properties"}
	resourceKeys = []string{"type", "description", "filename", "upstream-source"}
)

func parseStore(charmName string, e entry) (s Storage, err error) {
	s = Storage{Name: e.key, CountMin: 1, CountMax: 1}
	if !namePattern.MatchString(s.Name) {
		return s, e.value.refuse(nameRule, "charm %q storage %q: invalid name", charmName, s.Name)
	}
	fs, err := e.value.fields()
	if err != nil {
		return s, err
	}
	fs.only(storageKeys, map[string]string{"range": "it belongs under multiple: multiple: {range: …}"})
	kind, err := fs.get("type").text()
	if err != nil {
		return s, err
	}
	s.Type = StorageType(kind)
	if s.Type != StorageFilesystem && s.Type != StorageBlock {
		return s, fs.get("type").errorf(`expected "filesystem" or "block", got %q`, kind)
	}
	if s.Description, err = fs.get("description").optionalText(); err != nil {
		return s, err
	}
	if s.Shared, err = fs.get("shared").boolean(); err != nil {
		return s, err
	}
	if s.ReadOnly, err = fs.get("read-only").boolean(); err != nil {
		return s, err
	}
	if loc := fs.get("location"); !loc.empty() {
		if s.Location, err = loc.text(); err != nil {
			return s, err
		}
		if s.Type == StorageBlock {
			return s, loc.errorf(`charm %q storage %q: location may not be specified for "type: %s"`, charmName, s.Name, s.Type)
		}
		if tooLong(s.Location) {
			return s, loc.errorf("charm %q storage %q: location has a name of more than %d bytes", charmName, s.Name, maxPart)
		}
		if !path.IsAbs(s.Location) {
			return s, loc.errorf("charm %q storage %q: location %q is not an absolute path", charmName, s.Name, s.Location)
		}
	}
	if size := fs.get("minimum-size"); !size.empty() {
		var ok bool
		if s.MinimumSize, ok = parseMiB(size.node.Value); !ok {
			return s, size.errorf("expected a size such as 512M or 1.5G, got %q", size.node.Value)
		}
	}
	multiple, err := fs.get("multiple").fields()
	if err != nil {
		return s, err
	}
	multiple.only([]string{"range"}, nil)
	if !multiple.of.empty() {
		r := multiple.get("range")
		if r.empty() {
			return s, r.expected("a range such as 1, 0-2 or 1+")
		}
		var ok bool
		if s.CountMin, s.CountMax, ok = parseRange(r.node.Value); !ok {
			return s, r.errorf("expected a range such as 1, 0-2 or 1+, got %q", r.node.Value)
		}
	}
	properties, err := fs.get("properties").texts()
	if err != nil {
		return s, err
	}
	for _, p := range properties {
		if p != "transient" {
			return s, fs.get("properties").errorf("charm %q storage %q: unknown property %q", charmName, s.Name, p)
		}
		s.Transient = true
	}
	return s, nil
}

var rangePattern = regexp.MustCompile(`^(\d{1,9})(?:([+-])(\d{1,9})?)?$`)

// parseRange parses "m" (exactly m), "m-n", and "m+" or "m-" (no upper bound).
func parseRange(s string) (low, high int, ok bool) {
	m := rangePattern.FindStringSubmatch(s)
	if m == nil || m[2] == "+" && m[3] != "" {
		return 0, 0, false
	}
	low, _ = strconv.Atoi(m[1])
	switch {
	case m[2] == "":
		high = low
	case m[3] == "":
		high = -1
	default:
		high, _ = strconv.Atoi(m[3])
	}
	return low, high, high != 0 && (high < 0 || low <= high)
}

// parseMiB parses a size in MiB, or with a suffix of "MGTPEZY". It rounds fractions up.
func parseMiB(s string) (uint64, bool) {
	factor := 1.0
	if s != "" {
		if i := strings.IndexByte("MGTPEZY", s[len(s)-1]); i >= 0 {
			factor = math.Pow(1024, float64(i))
			s = s[:len(s)-1]
		}
	}
	if !sizePattern.MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	n = math.Ceil(n * factor)
	if err != nil || n >= math.MaxUint64 {
		return 0, false
	}
	return uint64(n), true
}

var sizePattern = regexp.MustCompile(`^\d+(\.\d+)?$`)

func parseResources(f field) (map[string]Resource, error) {
	entries, err := f.entries()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	resources := make(map[string]Resource, len(entries))
	for _, e := range entries {
		r := Resource{Name: e.key, Type: "file"}
		if !resourcePattern.MatchString(r.Name) {
			return nil, e.value.refuse(resourceRule, "invalid resource name %q", r.Name)
		}
		fs, err := e.value.fields()
		if err != nil {
			return nil, err
		}
		fs.only(resourceKeys, nil)
		if kind := fs.get("type"); !kind.empty() {
			if r.Type, err = kind.text(); err != nil {
				return nil, err
			}
			if r.Type != "file" && r.Type != "oci-image" {
				return nil, kind.errorf(`expected "file" or "oci-image", got %q`, r.Type)
			}
		}
		if r.Description, err = fs.get("description").optionalText(); err != nil {
			return nil, err
		}
		filename := fs.get("filename")
		if r.Type == "file" || !filename.empty() {
			if r.Filename, err = filename.text(); err != nil {
				return nil, err
			}
			if r.Filename == "" || r.Filename == "." || r.Filename == ".." || strings.ContainsAny(r.Filename, "/\x00") ||
				len(r.Filename) > maxPart {
				return nil, filename.errorf("expected a file name without directories, of at most %d bytes, got %q", maxPart,
					r.Filename)
			}
		}
		resources[r.Name] = r
	}
	return resources, nil
}

func parsePayloads(f field) (map[string]string, error) {
	entries, err := f.entries()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	payloads := make(map[string]string, len(entries))
	for _, e := range entries {
		if !resourcePattern.MatchString(e.key) {
			return nil, e.value.errorf("invalid payload class %q", e.key)
		}
		fs, err := e.value.fields()
		if err != nil {
			return nil, err
		}
		fs.only([]string{"type"}, nil)
		if payloads[e.key], err = fs.get("type").text(); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}
