package params

import (
	"encoding/hex"
	"time"

	"juju/state/entity"
)

// A CharmResource is a resource as declared by a charm, with its file if it has one.
type CharmResource struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Path        string `json:"path"` // the name of its file
	Description string `json:"description,omitempty"`
	Origin      string `json:"origin"`      // "upload", or OriginStore
	Revision    int    `json:"revision"`    // in the charm store; 0 for an upload, and -1 to ask for that of the channel
	Fingerprint []byte `json:"fingerprint"` // the file's SHA-384, empty without a file
	Size        int64  `json:"size"`        // in bytes
}

// A Resource is a resource of a service.
type Resource struct {
	CharmResource
	ID          string    `json:"id"` // "service/name"
	PendingID   string    `json:"pending-id"`
	Application string    `json:"application"`
	Username    string    `json:"username"`  // the user who uploaded the file
	Timestamp   time.Time `json:"timestamp"` // when; zero without a file
	SHA256      string    `json:"sha256,omitempty"`
}

// originUpload is the origin of a resource whose file a user uploads.
const originUpload = "upload"

// OriginStore is the origin of a resource that a charm store has.
const OriginStore = "store"

// ResourceOf returns a service's resource in the wire format.
func ResourceOf(service string, r entity.Resource) Resource {
	out := Resource{ID: service + "/" + r.Name, Application: service,
		CharmResource: CharmResource{Name: r.Name, Type: r.Type, Path: r.Filename, Description: r.Description,
			Origin: originUpload}}
	if f := r.File; f != nil {
		out.Fingerprint, _ = hex.DecodeString(f.SHA384) // valid, since the controller computed it
		out.Size, out.Username, out.Timestamp, out.SHA256 = f.Size, f.User, f.Uploaded, f.SHA256
		if out.Revision = f.Revision; f.Revision > 0 {
			out.Origin = OriginStore
		}
	}
	return out
}

// Read returns the resource.
func (r Resource) Read() entity.Resource {
	out := entity.Resource{Name: r.Name, Type: r.Type, Filename: r.Path, Description: r.Description}
	if !r.Timestamp.IsZero() {
		out.File = &entity.ResourceFile{SHA256: r.SHA256, SHA384: hex.EncodeToString(r.Fingerprint), Size: r.Size,
			User: r.Username, Uploaded: r.Timestamp, Revision: r.Revision}
	}
	return out
}

// A ResourcesResults is the result of ListResources, with a result for each service.
type ResourcesResults struct {
	Results []ResourcesResult `json:"results"`
}

// A ResourcesResult has the resources of a service, and those that its units have fetched.
type ResourcesResult struct {
	Error               *Error          `json:"error,omitempty"`
	Resources           []Resource      `json:"resources"`
	CharmStoreResources []CharmResource `json:"charm-store-resources"`
	UnitResources       []UnitResources `json:"unit-resources"`
}

// UnitResources are the resources that a unit has fetched.
type UnitResources struct {
	Entity
	Resources        []Resource       `json:"resources"`
	DownloadProgress map[string]int64 `json:"download-progress"`
}

// AddPendingResources is the parameter of AddPendingResources: resources of a service that is about to be deployed or
// upgraded.
type AddPendingResources struct {
	Entity
	URL       string          `json:"url"`
	Origin    *CharmOrigin    `json:"charm-origin,omitempty"`
	Resources []CharmResource `json:"resources"`
}

// AddPendingResourcesResult has the id for each upload, in the order of the resources.
type AddPendingResourcesResult struct {
	Error      *Error   `json:"error,omitempty"`
	PendingIDs []string `json:"pending-ids"`
}

// A PendingResource is an upload that no service uses yet.
type PendingResource struct {
	Application string    `json:"application"`
	Name        string    `json:"name"`
	Username    string    `json:"username"`
	Began       time.Time `json:"began"`
	Size        int64     `json:"size"` // in bytes; 0 before it is uploaded
	Uploaded    bool      `json:"uploaded"`
}

// PendingResources are the uploads that no application uses yet.
type PendingResources struct {
	Resources []PendingResource `json:"resources"`
}

// PendingResourcesOf returns the wire format of uploads.
func PendingResourcesOf(all []entity.PendingResource) PendingResources {
	result := PendingResources{Resources: make([]PendingResource, len(all))}
	for i, r := range all {
		result.Resources[i] = PendingResource{r.Service, r.Resource, r.User, r.Began, r.Size, r.Stored}
	}
	return result
}

// Read returns the uploads.
func (p PendingResources) Read() []entity.PendingResource {
	all := make([]entity.PendingResource, len(p.Resources))
	for i, r := range p.Resources {
		all[i] = entity.PendingResource{Service: r.Application, Resource: r.Name, User: r.Username, Began: r.Began, Size: r.Size,
			Stored: r.Uploaded}
	}
	return all
}

// ClearPendingResources is the parameter of ClearPendingResources, which removes the caller's uploads that no application
// uses. The result is what it has removed.
type ClearPendingResources struct {
	Applications []string `json:"applications,omitempty"` // none for all
	AllUsers     bool     `json:"all-users,omitempty"`    // also those of other users, which takes admin access
}

// A ResourceUploadResult is the response to an upload.
type ResourceUploadResult struct {
	Resource Resource `json:"resource"`
}

// SHA384Header is the HTTP header with the SHA-384 of a resource's file, in hex.
const SHA384Header = "Content-Sha384"
