package params

import (
	"slices"
	"strings"

	"juju/state/entity"
)

// A FilesystemDetails is a filesystem that a storage instance has. Its number is the instance's.
type FilesystemDetails struct {
	FilesystemTag      string                                 `json:"filesystem-tag"`
	Info               FilesystemInfo                         `json:"info"`
	Life               string                                 `json:"life"`
	Status             EntityStatus                           `json:"status"`
	MachineAttachments map[string]FilesystemAttachmentDetails `json:"machine-attachments,omitempty"` // by the machine's tag
	UnitAttachments    map[string]FilesystemAttachmentDetails `json:"unit-attachments,omitempty"`
	Storage            *StorageDetails                        `json:"storage,omitempty"`
}

// A FilesystemInfo describes a filesystem.
type FilesystemInfo struct {
	FilesystemID string `json:"filesystem-id"` // the cloud's; "" until it exists
	Pool         string `json:"pool"`
	Size         uint64 `json:"size"` // MiB
}

// A FilesystemAttachmentDetails is where a filesystem is attached.
type FilesystemAttachmentDetails struct {
	MountPoint string `json:"mount-point,omitempty"`
	ReadOnly   bool   `json:"read-only,omitempty"`
	Life       string `json:"life,omitempty"`
}

// FilesystemDetailsOf returns the filesystem of an instance.
func FilesystemDetailsOf(s entity.StorageStatus) FilesystemDetails {
	storage := StorageDetailsOf(s)
	_, number, _ := strings.Cut(s.ID, "/")
	d := FilesystemDetails{FilesystemTag: "filesystem-" + number, Life: s.Life.String(), Status: *StatusOf(s.Status), Storage: &storage,
		Info: FilesystemInfo{FilesystemID: s.Filesystem, Pool: s.Pool, Size: s.Size}}
	if s.Unit != "" && s.Machine != "" {
		d.MachineAttachments = map[string]FilesystemAttachmentDetails{TagOf(entity.MachineTag(s.Machine)).String(): {
			MountPoint: s.Location, Life: s.AttachmentLife.String()}}
	}
	return d
}

// A FilesystemFilters is the parameter of ListFilesystems.
type FilesystemFilters struct {
	Filters []MachineFilter `json:"filters,omitempty"`
}

// A VolumeFilters is the parameter of ListVolumes.
type VolumeFilters struct {
	Filters []MachineFilter `json:"filters,omitempty"`
}

// A MachineFilter selects what is attached to one of the machines; none select all.
type MachineFilter struct {
	Machines []string `json:"machines,omitempty"` // ids
}

// Selects reports whether the filter selects storage.
func (f MachineFilter) Selects(s entity.StorageStatus) bool {
	return len(f.Machines) == 0 || s.Unit != "" && slices.Contains(f.Machines, s.Machine)
}

// A FilesystemDetailsListResults has a list of filesystems for each filter.
type FilesystemDetailsListResults struct {
	Results []FilesystemDetailsListResult `json:"results,omitempty"`
}

// A FilesystemDetailsListResult is the list for one filter.
type FilesystemDetailsListResult struct {
	Error  *Error              `json:"error,omitempty"`
	Result []FilesystemDetails `json:"result,omitempty"`
}

// A VolumeDetailsListResults has a list of block devices for each filter. There are none here.
type VolumeDetailsListResults struct {
	Results []VolumeDetailsListResult `json:"results,omitempty"`
}

// A VolumeDetailsListResult is the list for one filter.
type VolumeDetailsListResult struct {
	Error  *Error     `json:"error,omitempty"`
	Result []struct{} `json:"result,omitempty"`
}
