package entity

// The most bytes of each of what users upload: the archive of a charm, the file of a resource, an archive of
// programs.
const (
	MaxCharm    = 512 << 20
	MaxResource = 1 << 30
	MaxBinaries = 512 << 20
)

// TooLarge returns the Invalid error of an upload of more than limit bytes; what names it.
func TooLarge(what string, limit int64) error {
	return Errorf(Invalid, "%s is larger than %d bytes", what, limit)
}
