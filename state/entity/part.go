package entity

// A PartKind is a kind of part of a model.
type PartKind int

// The kinds, in the order in which a watch of everything first shows them: none needs one that comes later.
const (
	PartModel PartKind = iota
	PartCharm
	PartMachine
	PartService
	PartRemote
	PartOffer
	PartRelation
	PartUnit
	PartAnnotations
	PartTask
)

// A PartKey names a part of a model. The ID is the entity's name, a charm's URL, a relation's number, or the id of the
// document of a task or of annotations; the model's is its UUID.
type PartKey struct {
	Kind PartKind
	ID   string
}

// A Part is a part of a model as it is now. The field of its kind is set.
type Part struct {
	Key         PartKey
	Model       *ModelPart
	Charm       *CharmPart
	Machine     *MachineStatus // without containers
	Service     *ServicePart
	Remote      *RemotePart
	Offer       *OfferPart
	Relation    *RelationStatus
	Unit        *UnitPart
	Annotations *AnnotationsPart
	Task        *Task
}

// A ModelPart is the model itself.
type ModelPart struct {
	ModelHeader
	Config      map[string]string
	Constraints string
}

// A CharmPart is a charm that the model has.
type CharmPart struct {
	URL      string
	Version  string         // what it says it was built from
	Defaults map[string]any // of its settings
}

// A ServicePart is a service without its units and relations.
type ServicePart struct {
	ServiceStatus
	Constraints string
	Config      map[string]any // what users have set
}

// A RemotePart is a remote service without its relations.
type RemotePart struct {
	RemoteStatus
	Offer string // the UUID of the offer that it uses
}

// An OfferPart is an offer without its endpoints.
type OfferPart struct {
	OfferStatus
	UUID  string
	Charm string // the name of the service's charm
}

// A UnitPart is a unit without its subordinates.
type UnitPart struct {
	UnitStatus
	Service, Series string
	Principal       string // of a subordinate
	Charm           string // that it runs
}

// An AnnotationsPart is the annotations of an entity.
type AnnotationsPart struct {
	Tag         Tag
	Annotations map[string]string
}
