package charmhub

import "juju/state/entity"

// Paths of the protocol, below a store's URL.
const (
	InfoPath      = "/v2/charms/info/"      // NAME
	FindPath      = "/v2/charms/find"       // ?q=TEXT
	RefreshPath   = "/v2/charms/refresh"    // by POST
	ResourcesPath = "/v2/charms/resources/" // CHARM/RESOURCE/revisions
)

// A Base is what a charm runs on: a system, its release without a risk, and an architecture.
type Base struct {
	Name         string `json:"name"`
	Channel      string `json:"channel"`
	Architecture string `json:"architecture"`
}

// AnyBase asks for a charm on an architecture, whatever the system: the store answers with the bases that there are.
func AnyBase(arch string) *Base { return &Base{Name: notAsked, Channel: notAsked, Architecture: arch} }

const notAsked = "NA"

// IsAny reports whether the base asks for no system.
func (b Base) IsAny() bool { return b.Name == notAsked || b.Name == "" }

// Of returns the base without its architecture.
func (b Base) Of() entity.Base { return entity.Base{Name: b.Name, Channel: b.Channel} }

// String returns the base as users write it: "ubuntu@22.04".
func (b Base) String() string { return b.Of().String() }

// A ListedChannel is where a revision is released. Track is "latest" for the track that need not be named, and Name leaves that out.
type ListedChannel struct {
	Name       string `json:"name"`
	Base       Base   `json:"base"`
	ReleasedAt string `json:"released-at"` // RFC 3339
	Risk       string `json:"risk"`
	Track      string `json:"track"`
}

// A File is what is downloaded from a URL. The hashes are in hexadecimal.
type File struct {
	HashSHA256 string `json:"hash-sha-256,omitempty"`
	HashSHA384 string `json:"hash-sha-384,omitempty"`
	Size       int64  `json:"size"`
	URL        string `json:"url,omitempty"`
}

// A Revision is a revision of a charm as info and find tell of it.
type Revision struct {
	Bases        []Base `json:"bases,omitempty"`
	ConfigYAML   string `json:"config-yaml,omitempty"`
	MetadataYAML string `json:"metadata-yaml,omitempty"`
	BundleYAML   string `json:"bundle-yaml,omitempty"`
	CreatedAt    string `json:"created-at,omitempty"`
	Download     File   `json:"download"`
	Revision     int    `json:"revision"`
	Version      string `json:"version,omitempty"`
}

// A Release is a revision in a channel, for one base.
type Release struct {
	Channel  ListedChannel `json:"channel"`
	Revision Revision      `json:"revision"`
}

// A Result is what a store says of a charm as a whole.
type Result struct {
	Categories  []Category        `json:"categories,omitempty"`
	Description string            `json:"description,omitempty"`
	License     string            `json:"license,omitempty"`
	Publisher   map[string]string `json:"publisher,omitempty"` // "display-name"
	StoreURL    string            `json:"store-url,omitempty"`
	Summary     string            `json:"summary,omitempty"`
}

// A Category is a subject of charms.
type Category struct {
	Name     string `json:"name"`
	Featured bool   `json:"featured"`
}

// An Info is the reply to info, and without a ChannelMap an element of that to find.
type Info struct {
	Type           string    `json:"type"` // "charm" or "bundle"
	ID             string    `json:"id"`   // 32 characters
	Name           string    `json:"name"`
	Result         Result    `json:"result"`
	ChannelMap     []Release `json:"channel-map,omitempty"` // one for each channel, base and architecture
	DefaultRelease Release   `json:"default-release"`       // of the most stable risk of the default track
}

// Found is the reply to find.
type Found struct {
	Results []Info `json:"results"`
}

// What an Action asks for.
const (
	Install  = "install"
	Download = "download"
	Refresh  = "refresh"
)

// A Context says what is installed: a store answers with what is newer.
type Context struct {
	InstanceKey     string            `json:"instance-key"`
	ID              string            `json:"id"`
	Revision        int               `json:"revision"`
	Base            Base              `json:"base"`
	TrackingChannel string            `json:"tracking-channel,omitempty"`
	Metrics         map[string]string `json:"metrics,omitempty"`
}

// An Action asks for a charm: by ID or name, by channel and base or by revision, or with Refresh for what is newer than the context
// with the same key. A null base is asked for where the revision says it.
type Action struct {
	Action      string             `json:"action"`
	InstanceKey string             `json:"instance-key"`
	ID          string             `json:"id,omitempty"`
	Name        string             `json:"name,omitempty"`
	Channel     string             `json:"channel,omitempty"`
	Revision    *int               `json:"revision,omitempty"`
	Base        *Base              `json:"base"`
	Resources   []ResourceRevision `json:"resource-revisions,omitempty"`
}

// A ResourceRevision names a revision of a resource.
type ResourceRevision struct {
	Name     string `json:"name"`
	Revision int    `json:"revision"`
}

// A RefreshRequest asks for charms.
type RefreshRequest struct {
	Context []Context `json:"context"`
	Actions []Action  `json:"actions"`
	Fields  []string  `json:"fields,omitempty"`
}

// A RefreshReply has an Answer for each action, in any order.
type RefreshReply struct {
	Errors  []Error  `json:"error-list"`
	Results []Answer `json:"results"`
}

// An Answer is the answer to an action: Result is the action's, or "error".
type Answer struct {
	InstanceKey      string `json:"instance-key"`
	Result           string `json:"result"`
	ID               string `json:"id"`
	Name             string `json:"name"`
	ReleasedAt       string `json:"released-at,omitempty"`
	EffectiveChannel string `json:"effective-channel,omitempty"` // where it was found: not the one asked for, if that is closed
	Entity           *Charm `json:"charm"`
	Error            *Error `json:"error"`
}

// A Charm is a revision of a charm as refresh tells of it.
type Charm struct {
	Type         string            `json:"type"`
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Revision     int               `json:"revision"`
	Version      string            `json:"version"`
	Bases        []Base            `json:"bases"`
	Download     File              `json:"download"`
	Resources    []Resource        `json:"resources"`
	MetadataYAML string            `json:"metadata-yaml,omitempty"`
	ConfigYAML   string            `json:"config-yaml,omitempty"` // "{}\n" if the charm has none
	ActionsYAML  string            `json:"actions-yaml,omitempty"`
	License      string            `json:"license,omitempty"`
	Summary      string            `json:"summary,omitempty"`
	Publisher    map[string]string `json:"publisher,omitempty"`
	CreatedAt    string            `json:"created-at"`
}

// A Resource is a revision of a resource of a charm.
type Resource struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // "file" or "oci-image"
	Filename    string `json:"filename"`
	Description string `json:"description"`
	Revision    int    `json:"revision"`
	Download    File   `json:"download"`
}

// Resources is the reply to a question for a resource's revisions, the newest first.
type Resources struct {
	Revisions []Resource `json:"revisions"`
}

// An Error is what a store says is wrong with a request, or with an action.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Extra   Extra  `json:"extra"`
}

// Extra says what there is instead.
type Extra struct {
	Releases     []Offered `json:"releases,omitempty"`
	DefaultBases []Base    `json:"default-bases,omitempty"`
}

// An Offered is a channel that has a release for a base.
type Offered struct {
	Base    Base   `json:"base"`
	Channel string `json:"channel"`
}

// An ErrorReply is the reply to a request that fails as a whole.
type ErrorReply struct {
	Errors []Error `json:"error-list"`
}

// The codes of errors that the client or the server tells apart.
const (
	CodeNotFound         = "not-found"
	CodeNameNotFound     = "name-not-found"
	CodeIDNotFound       = "id-not-found"
	CodeResourceNotFound = "resource-not-found"
	CodeBadArgument      = "bad-argument"
	CodeAPI              = "api-error"
	CodeInvalidBase      = "invalid-charm-base"
	CodeInvalidPlatform  = "invalid-charm-platform"
	CodeInvalidChannel   = "invalid-channel"
	CodeRevisionNotFound = "revision-not-found"
	CodeMissingKey       = "missing-instance-key"
	CodeDuplicateKey     = "instance-key-not-unique"
	CodeMissingContext   = "missing-context"
)
