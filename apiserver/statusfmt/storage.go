package statusfmt

import (
	"strings"
	"time"

	"juju/apiserver/display"
	"juju/state/entity"
)

// The YAML and JSON forms of storage, in status and in the commands about storage. Volumes, which Juju has here too, are
// never there: storage is filesystems.
type (
	StorageDocument struct {
		Storage     map[string]StorageEntry    `yaml:"storage,omitempty" json:"storage,omitempty"`
		Filesystems map[string]FilesystemEntry `yaml:"filesystems,omitempty" json:"filesystems,omitempty"`
	}
	StorageEntry struct {
		Kind        string              `yaml:"kind" json:"kind"`
		Pool        string              `yaml:"pool" json:"pool"`
		Size        uint64              `yaml:"size" json:"size"` // MiB
		Life        string              `yaml:"life" json:"life"`
		Status      StorageStatus       `yaml:"status" json:"status"`
		Persistent  bool                `yaml:"persistent" json:"persistent"`
		Attachments *StorageAttachments `yaml:"attachments,omitempty" json:"attachments,omitempty"`
	}
	FilesystemEntry struct {
		ProviderID  string              `yaml:"provider-id,omitempty" json:"provider-id,omitempty"`
		Storage     string              `yaml:"storage" json:"storage"`
		Attachments *StorageAttachments `yaml:"attachments,omitempty" json:"attachments,omitempty"`
		Pool        string              `yaml:"pool" json:"pool"`
		Size        uint64              `yaml:"size" json:"size"` // MiB
		Life        string              `yaml:"life" json:"life"`
		Status      StorageStatus       `yaml:"status" json:"status"`
	}
	StorageStatus struct {
		Current string       `yaml:"current" json:"current"`
		Message string       `yaml:"message,omitempty" json:"message,omitempty"`
		Since   display.Time `yaml:"since,omitempty" json:"since,omitzero"`
	}
	StorageAttachments struct {
		Machines map[string]MachineStorage `yaml:"machines,omitempty" json:"machines,omitempty"`
		Units    map[string]UnitStorage    `yaml:"units,omitempty" json:"units,omitempty"`
	}
	MachineStorage struct {
		MountPoint string `yaml:"mount-point" json:"mount-point"`
		ReadOnly   bool   `yaml:"read-only" json:"read-only"`
		Life       string `yaml:"life" json:"life"`
	}
	UnitStorage struct {
		Machine  string `yaml:"machine,omitempty" json:"machine,omitempty"`
		Location string `yaml:"location,omitempty" json:"location,omitempty"`
		Life     string `yaml:"life" json:"life"`
	}
)

// FilesystemID returns the number of an instance's filesystem, which is the instance's own.
func FilesystemID(s entity.StorageStatus) string {
	_, number, _ := strings.Cut(s.ID, "/")
	return number
}

// Storage returns the YAML and JSON form of storage.
func Storage(all []entity.StorageStatus, location *time.Location) StorageDocument {
	d := StorageDocument{Storage: map[string]StorageEntry{}, Filesystems: map[string]FilesystemEntry{}}
	for _, one := range all {
		status := StorageStatus{string(one.Status.Status), one.Status.Message, display.TimeIn(one.Status.Since.In(location), sinceFormat)}
		entry := StorageEntry{Kind: entity.StorageKind, Pool: one.Pool, Size: one.Size, Life: one.Life.String(), Persistent: one.Persistent,
			Status: status}
		filesystem := FilesystemEntry{ProviderID: one.Filesystem, Storage: one.ID, Pool: one.Pool, Size: one.Size, Life: one.Life.String(),
			Status: status}
		if one.Unit != "" {
			life := one.AttachmentLife.String()
			units := map[string]UnitStorage{one.Unit: {Machine: one.Machine, Location: one.Location, Life: life}}
			entry.Attachments = &StorageAttachments{Units: units}
			filesystem.Attachments = &StorageAttachments{Units: units}
			if one.Machine != "" {
				filesystem.Attachments.Machines = map[string]MachineStorage{one.Machine: {MountPoint: one.Location, Life: life}}
			}
		}
		d.Storage[one.ID], d.Filesystems[FilesystemID(one)] = entry, filesystem
	}
	return d
}

func storageTable(all []entity.StorageStatus) *table {
	t := &table{}
	t.add(plain("Storage Unit", "Storage id", "Type", "Pool", "Mountpoint", "Size", "Status", "Message")...)
	for _, s := range all {
		row := plain(s.Unit, s.ID, entity.StorageKind, s.Pool, s.Location, entity.MiB(s.Size), "", s.Status.Message)
		row[6] = statusCell(s.Status)
		t.add(row...)
	}
	return t
}
