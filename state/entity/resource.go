package entity

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"time"
)

// SHA256 returns the SHA-256 of what src has, in hex.
func SHA256(src io.Reader) (string, error) {
	hash := sha256.New()
	_, err := io.Copy(hash, src)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// A Resource is a file that a charm declares, and that users give to a service beside the charm.
type Resource struct {
	Name        string `json:"name"`
	Type        string `json:"type"`     // "file", or "oci-image", which is only for Kubernetes
	Filename    string `json:"filename"` // in the units, without directories
	Description string `json:"description,omitempty"`
	// File is what a user has uploaded for it, nil if no one has.
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
}

// ResourcesOf are the resources of a service, and what its units have fetched of them.
type ResourcesOf struct {
	Resources []Resource
	// Units are the files that each unit has fetched last, by the names of the unit and the
	// resource.
	Units map[string]map[string]ResourceFile
}
