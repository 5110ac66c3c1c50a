package params

import "juju/state/entity"

// A CharmURL names a charm.
type CharmURL struct {
	URL string `json:"url"`
}

// An AddCharmWithOrigin is the parameter of Charms 6 AddCharm.
type AddCharmWithOrigin struct {
	URL    string      `json:"url"`
	Origin CharmOrigin `json:"charm-origin"`
	Force  bool        `json:"force"`
}

// A CharmOriginResult is the result of AddCharm.
type CharmOriginResult struct {
	Origin CharmOrigin `json:"charm-origin"`
	Error  *Error      `json:"error,omitempty"`
}

// A ResolveCharms is the parameter of ResolveCharms: charms of a store.
type ResolveCharms struct {
	Resolve []ResolveCharm `json:"resolve"`
}

// A ResolveCharm names one.
type ResolveCharm struct {
	Reference string      `json:"reference"`
	Origin    CharmOrigin `json:"charm-origin"`
}

// A ResolveCharmResults is in the order of the request. The key is Juju's.
type ResolveCharmResults struct {
	Results []ResolveCharmResult `json:"Results"`
}

// A ResolveCharmResult is a charm that can be added: its URL, where it comes from, and what it runs on.
type ResolveCharmResult struct {
	URL            string        `json:"url"`
	Origin         CharmOrigin   `json:"charm-origin"`
	SupportedBases []entity.Base `json:"supported-bases"`
	Error          *Error        `json:"error,omitempty"`
}

// A Charm is the result of CharmInfo.
type Charm struct {
	Revision int                    `json:"revision"`
	URL      string                 `json:"url"`
	Config   map[string]CharmOption `json:"config"`
	Meta     *CharmMeta             `json:"meta,omitempty"`
	Actions  *CharmActions          `json:"actions,omitempty"`
	Manifest *CharmManifest         `json:"manifest,omitempty"`
}

// A CharmManifest lists the bases that a charm was built for.
type CharmManifest struct {
	Bases []entity.CharmBase `json:"bases"`
}

// A CharmOption is one setting that a charm defines.
type CharmOption struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Default     any    `json:"default,omitempty"`
}

// A CharmMeta is a charm's metadata.
type CharmMeta struct {
	Name        string                   `json:"name"`
	Summary     string                   `json:"summary"`
	Description string                   `json:"description"`
	Subordinate bool                     `json:"subordinate"`
	Provides    map[string]CharmRelation `json:"provides,omitempty"`
	Requires    map[string]CharmRelation `json:"requires,omitempty"`
	Peers       map[string]CharmRelation `json:"peers,omitempty"`
	Categories  []string                 `json:"categories,omitempty"`
	Tags        []string                 `json:"tags,omitempty"`
	Series      []string                 `json:"series,omitempty"`

	Storage   map[string]CharmStorage      `json:"storage,omitempty"`
	Resources map[string]CharmResourceMeta `json:"resources,omitempty"`
}

// A CharmStorage is a store that a charm declares.
type CharmStorage struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Shared      bool     `json:"shared"`
	ReadOnly    bool     `json:"read-only"`
	CountMin    int      `json:"count-min"`
	CountMax    int      `json:"count-max"`    // -1 for no bound
	MinimumSize uint64   `json:"minimum-size"` // MiB
	Location    string   `json:"location,omitempty"`
	Properties  []string `json:"properties,omitempty"`
}

// A CharmResourceMeta is a resource that a charm declares.
type CharmResourceMeta struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Path        string `json:"path"`
	Description string `json:"description"`
}

// CharmActions are the actions that a charm defines.
type CharmActions struct {
	Specs map[string]CharmActionSpec `json:"specs,omitempty"`
}

// A CharmActionSpec is one action.
type CharmActionSpec struct {
	Description string         `json:"description"`
	Params      map[string]any `json:"params"`
}

// A CharmsResponse is the response to an upload: the URL assigned to the charm, or an error.
type CharmsResponse struct {
	CharmURL  string         `json:"charm-url,omitempty"`
	Error     string         `json:"error,omitempty"`
	ErrorCode string         `json:"error-code,omitempty"`
	ErrorInfo map[string]any `json:"error-info,omitempty"`
}

// SHA256Header is the HTTP header with the SHA-256 of a downloaded archive, in hex.
const SHA256Header = "X-Juju-Sha256"

// CharmURLHeader is the HTTP header with a charm's URL, in an upload of Juju's Go client and in the response.
const CharmURLHeader = "Juju-Curl"

// ProgressHeader is the header of an informational response, status 102, with the number of bytes that are ready.
const ProgressHeader = "X-Juju-Progress"

// PlainBackup is set in the query for a backup that the client will not encrypt.
const PlainBackup = "plain"

// NonceHeader is the HTTP header with the nonce of a machine's agent, in requests other than the API's own login.
const NonceHeader = "X-Juju-Nonce"
