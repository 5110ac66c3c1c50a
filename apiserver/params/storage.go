package params

import (
	"fmt"
	"time"

	"juju/state/entity"
)

// A StorageDetails is a storage instance. Juju does not have Pool, Size, Release, FilesystemID
// and ImportID.
type StorageDetails struct {
	StorageTag  Tag                                 `json:"storage-tag"`
	OwnerTag    string                              `json:"owner-tag"` // "" once it is detached
	Kind        int                                 `json:"kind"`      // 2: a filesystem
	Life        string                              `json:"life"`
	Status      EntityStatus                        `json:"status"`
	Persistent  bool                                `json:"persistent"`
	Attachments map[string]StorageAttachmentDetails `json:"attachments,omitempty"` // by the unit's tag
	Pool        string                              `json:"pool"`
	Size        uint64                              `json:"size"` // MiB
	Release     bool                                `json:"release,omitempty"`
	// FilesystemID is the cloud's, "" until the filesystem exists; ImportID is the one with which to import it, once it is
	// released.
	FilesystemID string `json:"filesystem-id,omitempty"`
	ImportID     string `json:"import-id,omitempty"`
}

// FilesystemKind is the number of the storage kind filesystem.
const FilesystemKind = 2

// StorageDetailsOf returns an instance in the wire format.
func StorageDetailsOf(s entity.StorageStatus) StorageDetails {
	d := StorageDetails{StorageTag: TagOf(entity.StorageTag(s.ID)), Kind: FilesystemKind, Life: s.Life.String(),
		Status: *StatusOf(s.Status), Persistent: s.Persistent, Pool: s.Pool, Size: s.Size, Release: s.Release,
		FilesystemID: s.Filesystem, ImportID: s.ImportID}
	if s.Unit != "" {
		unit := TagOf(entity.UnitTag(s.Unit))
		d.OwnerTag = unit.String()
		d.Attachments = map[string]StorageAttachmentDetails{unit.String(): {
			StorageTag: d.StorageTag, UnitTag: unit, MachineTag: TagOf(entity.MachineTag(s.Machine)),
			Location: s.Location, Life: s.AttachmentLife.String()}}
	}
	return d
}

// Read returns the instance.
func (d StorageDetails) Read() entity.StorageStatus {
	s := entity.StorageStatus{ID: d.StorageTag.ID, Pool: d.Pool, Size: d.Size, Life: lifeFrom(d.Life),
		Persistent: d.Persistent, Release: d.Release, Status: d.Status.Read(), Filesystem: d.FilesystemID,
		ImportID: d.ImportID}
	for _, a := range d.Attachments {
		s.Unit, s.Machine, s.Location, s.AttachmentLife = a.UnitTag.ID, a.MachineTag.ID, a.Location, lifeFrom(a.Life)
	}
	return s
}

// A StorageAttachmentDetails is the attachment of an instance to a unit.
type StorageAttachmentDetails struct {
	StorageTag Tag    `json:"storage-tag"`
	UnitTag    Tag    `json:"unit-tag"`
	MachineTag Tag    `json:"machine-tag"`
	Location   string `json:"location,omitempty"`
	Life       string `json:"life"`
}

// A StorageDetailsResults is the result of StorageDetails.
type StorageDetailsResults struct {
	Results []StorageDetailsResult `json:"results"`
}

// A StorageDetailsResult is one instance.
type StorageDetailsResult struct {
	Result *StorageDetails `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// A StorageFilters is the parameter of ListStorageDetails. A filter has no conditions yet.
type StorageFilters struct {
	Filters []struct{} `json:"filters"`
}

// A StorageDetailsListResults has a list of instances for each filter.
type StorageDetailsListResults struct {
	Results []StorageDetailsListResult `json:"results"`
}

// A StorageDetailsListResult is the list for one filter.
type StorageDetailsListResult struct {
	Result []StorageDetails `json:"result,omitempty"`
	Error  *Error           `json:"error,omitempty"`
}

// A StoragesAddParams is the parameter of AddToUnit.
type StoragesAddParams struct {
	Storages []StorageAddParams `json:"storages"`
}

// A StorageAddParams describes new instances for a unit.
type StorageAddParams struct {
	UnitTag     Tag                       `json:"unit"`
	StorageName string                    `json:"name"`
	Constraints entity.StorageConstraints `json:"storage"`
}

// An AddStorageResults is the result of AddToUnit.
type AddStorageResults struct {
	Results []AddStorageResult `json:"results"`
}

// An AddStorageResult names the new instances.
type AddStorageResult struct {
	Error  *Error             `json:"error,omitempty"`
	Result *AddStorageDetails `json:"result,omitempty"`
}

// An AddStorageDetails has the tags of the new instances.
type AddStorageDetails struct {
	StorageTags []Tag `json:"storage-tags"`
}

// A StorageAttachmentIDs is the parameter of Attach.
type StorageAttachmentIDs struct {
	IDs []StorageAttachmentID `json:"ids"`
}

// A StorageAttachmentID is an instance and a unit; for DetachStorage the unit may be missing.
type StorageAttachmentID struct {
	StorageTag Tag `json:"storage-tag"`
	UnitTag    Tag `json:"unit-tag"`
}

// A StorageDetachmentParams is the parameter of DetachStorage.
type StorageDetachmentParams struct {
	StorageIDs StorageAttachmentIDs `json:"ids"`
	Force      *bool                `json:"force,omitempty"`
	MaxWait    *time.Duration       `json:"max-wait,omitempty"`
}

// A RemoveStorage is the parameter of Remove.
type RemoveStorage struct {
	Storage []RemoveStorageInstance `json:"storage"`
}

// A RemoveStorageInstance is one instance. Without DestroyStorage its filesystem is released.
type RemoveStorageInstance struct {
	Tag                Tag            `json:"tag"`
	DestroyAttachments bool           `json:"destroy-attachments,omitempty"`
	DestroyStorage     bool           `json:"destroy-storage,omitempty"`
	Force              *bool          `json:"force,omitempty"`
	MaxWait            *time.Duration `json:"max-wait,omitempty"`
}

// A BulkImportStorageParams is the parameter of Import.
type BulkImportStorageParams struct {
	Storage []ImportStorageParams `json:"storage"`
}

// An ImportStorageParams is a filesystem in the cloud, and the store that the instance is for.
type ImportStorageParams struct {
	Kind        int    `json:"kind"`
	Pool        string `json:"pool"`
	ProviderID  string `json:"provider-id"`
	StorageName string `json:"storage-name"`
}

// An ImportStorageResults is the result of Import.
type ImportStorageResults struct {
	Results []ImportStorageResult `json:"results"`
}

// An ImportStorageResult is one instance.
type ImportStorageResult struct {
	Result *ImportStorageDetails `json:"result,omitempty"`
	Error  *Error                `json:"error,omitempty"`
}

// An ImportStorageDetails has the tag of the new instance.
type ImportStorageDetails struct {
	StorageTag Tag `json:"storage-tag"`
}

// A StoragePoolFilters is the parameter of ListPools.
type StoragePoolFilters struct {
	Filters []StoragePoolFilter `json:"filters,omitempty"`
}

// A StoragePoolFilter selects pools by their names and providers; an empty list selects all.
type StoragePoolFilter struct {
	Names     []string `json:"names,omitempty"`
	Providers []string `json:"providers,omitempty"`
}

// A StoragePoolsResults has a list of pools for each filter.
type StoragePoolsResults struct {
	Results []StoragePoolsResult `json:"results,omitempty"`
}

// A StoragePoolsResult is the list for one filter.
type StoragePoolsResult struct {
	Pools []StoragePool `json:"storage-pools,omitempty"`
	Error *Error        `json:"error,omitempty"`
}

// A StoragePool is a pool of storage.
type StoragePool struct {
	Name     string         `json:"name"`
	Provider string         `json:"provider"`
	Attrs    map[string]any `json:"attrs"`
}

// StoragePoolOf returns a pool in the wire format.
func StoragePoolOf(p entity.StoragePool) StoragePool {
	pool := StoragePool{Name: p.Name, Provider: p.Provider, Attrs: map[string]any{}}
	for key, value := range p.Attributes {
		pool.Attrs[key] = value
	}
	return pool
}

// Read returns the pool. Attributes that are not strings are formatted.
func (p StoragePool) Read() entity.StoragePool {
	pool := entity.StoragePool{Name: p.Name, Provider: p.Provider}
	for key, value := range p.Attrs {
		if pool.Attributes == nil {
			pool.Attributes = map[string]string{}
		}
		pool.Attributes[key] = fmt.Sprint(value)
	}
	return pool
}

// A StoragePoolArgs is the parameter of CreatePool and UpdatePool.
type StoragePoolArgs struct {
	Pools []StoragePool `json:"pools"`
}

// A StoragePoolDeleteArgs is the parameter of RemovePool.
type StoragePoolDeleteArgs struct {
	Pools []StoragePoolDeleteArg `json:"pools"`
}

// A StoragePoolDeleteArg is the name of a pool.
type StoragePoolDeleteArg struct {
	Name string `json:"name"`
}
