package entity

import "regexp"

// A CloudSpec is what a program needs to use a cloud. It contains secrets.
type CloudSpec struct {
	Type           string           `json:"type" yaml:"type"`
	Name           string           `json:"name" yaml:"name"`
	Region         string           `json:"region,omitempty" yaml:"region"`
	Endpoint       string           `json:"endpoint,omitempty" yaml:"endpoint"`
	Credential     *CloudCredential `json:"credential,omitempty" yaml:"credential"`
	CACertificates []string         `json:"cacertificates,omitempty" yaml:"cacertificates"`
	// IsControllerCloud reports whether the controller is on this cloud.
	IsControllerCloud bool `json:"is-controller-cloud,omitempty" yaml:"iscontrollercloud"`
}

// A CloudCredential is what a cloud is shown to let a program use it.
type CloudCredential struct {
	AuthType   string            `json:"auth-type" yaml:"authtype"`
	Attributes map[string]string `json:"attrs,omitempty" yaml:"attributes" limit:"file"`
}

// A Cloud is what users see of a cloud.
type Cloud struct {
	Type      string
	AuthTypes []string // of its credentials
	Endpoint  string
	Regions   []string
}

// A ModelDefault is the value of a setting that new models get: its own default, and the one that a superuser has set;
// nil for none.
type ModelDefault struct{ Default, Controller any }

// CloudCredentialName is the name of the credential of a built-in cloud.
const CloudCredentialName = "default"

var validCloudName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// IsValidCloudName reports whether a cloud, a region or a credential can have a name: tags and paths can contain it.
func IsValidCloudName(name string) bool {
	return len(name) <= MaxName && validCloudName.MatchString(name)
}

// IsSecretAttribute reports whether an attribute of credentials is not shown unless it is asked for.
func IsSecretAttribute(name string) bool { return name == "client-key" }

// The kinds of credentials.
const (
	AuthEmpty       = "empty" // none is needed
	AuthCertificate = "certificate"
)

// CloudRegion is the region of a cloud whose definition has none.
const CloudRegion = "default"
