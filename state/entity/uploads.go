package entity

// The maximum upload sizes in bytes, of a charm archive, a resource, and an archive of agent binaries.
const (
	MaxCharm    = 512 << 20
	MaxResource = 1 << 30
	MaxBinaries = 512 << 20
)

// TooLarge returns the Invalid error for an upload (what) of more than limit bytes.
func TooLarge(what string, limit int64) error {
	return Errorf(Invalid, "%s is larger than %d bytes", what, limit)
}
