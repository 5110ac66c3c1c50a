package entity

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"time"
)

// SHA256 returns the SHA-256 of the contents of src, in hex.
func SHA256(src io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(hash, src)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// A Resource is a file that a charm declares and that users upload separately.
type Resource struct {
	Name        string `json:"name"`
	Type        string `json:"type"`     // "file", or "oci-image", which only Kubernetes uses
	Filename    string `json:"filename"` // on the units, without directories
	Description string `json:"description,omitempty"`
	// File is nil if none was uploaded.
	File *ResourceFile `json:"file,omitempty"`
}

// A ResourceFile is the content of a resource.
type ResourceFile struct {
	SHA256   string    `json:"sha256" bson:"sha256"`                     // in hex
	SHA384   string    `json:"sha384" bson:"sha384"`                     // in hex; clients of Juju compare it
	Size     int64     `json:"size" bson:"size"`                         // in bytes
	User     string    `json:"user" bson:"user"`                         // who uploaded it
	Uploaded time.Time `json:"uploaded" bson:"uploaded"`                 // to the millisecond
	Upload   string    `json:"upload,omitempty" bson:"upload,omitempty"` // the id of the upload
	// Revision is that of the charm store that it came from; 0 if a user has uploaded it.
	Revision int `json:"revision,omitempty" bson:"revision,omitempty"`
}

// A PendingResource is an upload for a resource that no service uses yet.
type PendingResource struct {
	Service, Resource string
	User              string    // who uploads it
	Began             time.Time // to the millisecond
	Size              int64     // in bytes; 0 before it is uploaded
	Stored            bool      // the file is uploaded
}

// ResourcesOf are the resources of a service, and the files that its units fetched.
type ResourcesOf struct {
	Resources []Resource
	// Units are the files that each unit fetched last, by the names of the unit and the resource.
	Units map[string]map[string]ResourceFile
}

// Sums returns the checksums of the resources that have a file, by name.
func (r ResourcesOf) Sums() map[string]string {
	sums := map[string]string{}
	for _, one := range r.Resources {
		if one.File != nil {
			sums[one.Name] = one.File.SHA256
		}
	}
	return sums
}
