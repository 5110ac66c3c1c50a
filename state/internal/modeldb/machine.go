package modeldb

import (
	"slices"
	"time"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/limits"
)

// The jobs of machines. A machine with JobManageModel runs a controller.
const (
	JobHostUnits   = "JobHostUnits"
	JobManageModel = "JobManageModel"

	JobManageEnviron = "JobManageEnviron" // JobManageModel's older name
)

type Machine struct {
	Living     `bson:",inline"`
	Birth      `bson:",inline"`
	ID         string   `bson:"_id"`
	Series     string   `bson:"series"`
	Jobs       []string `bson:"jobs"`
	Container  string   `bson:"container,omitempty"` // the container's type; "" if it is not a container
	Host       string   `bson:"host,omitempty"`      // the machine that the container is on
	Placement  string   `bson:"placement,omitempty"`
	InstanceID string   `bson:"instance,omitempty"`
	Nonce      string   `bson:"nonce,omitempty"`
	// Addresses combines the next two, with the cloud's first. For a manual machine, those by which
	// the user added it count as the cloud's.
	Addresses      []string `bson:"addresses,omitempty"`
	CloudAddresses []string `bson:"cloudaddresses,omitempty"`
	HostAddresses  []string `bson:"hostaddresses,omitempty"` // from the machine's agent
	HostKeys       []string `bson:"hostkeys,omitempty"`      // of its SSH server
	// LostAddress is the address that units of the machine had when its instance was lost, until it
	// gets a new one.
	LostAddress string `bson:"lostaddress,omitempty"`
	// Hardware combines the next two, as status shows it.
	Hardware      string          `bson:"hardware,omitempty"`
	CloudHardware entity.Hardware `bson:"cloudhardware,omitempty"`
	HostHardware  entity.Hardware `bson:"hosthardware,omitempty"`
	// Reboot is the boot ID of the machine when a unit last requested a reboot.
	Reboot string `bson:"reboot,omitempty"`
	// Retries counts the users' requests to retry starting the instance.
	Retries int `bson:"retries,omitempty"`
	// Clean machines have never had a unit. New units are placed on them, unless they are
	// containers.
	Clean bool `bson:"clean"`
	// ForUnits machines were created by deploy or add-unit. No user requested them
	// explicitly, so they may be destroyed with their units.
	ForUnits bool `bson:"forunits,omitempty"`
	// Tasked is set with the machine's first task: when it is removed, its tasks are cancelled.
	Tasked bool `bson:"tasked,omitempty"`
	// Upgrade is set while a user upgrades the machine's operating system, and Upgrades counts these upgrades.
	Upgrade  *SeriesUpgrade `bson:"upgrade,omitempty"`
	Upgrades int64          `bson:"upgrades,omitempty"`
	// Profiles are those of charms that its instance has; nil if it has no instance, or one that can't have any.
	Profiles *Profiles `bson:"profiles,omitempty"`
}

// Profiles are the profiles of charms that an instance has.
type Profiles struct {
	Has    []entity.ProfileRef `bson:"has"`              // by name
	Failed string              `bson:"failed,omitempty"` // why it could not get others
}

// A SeriesUpgrade is the lock of a machine whose operating system a user upgrades. While a machine has one, its units run no
// hooks but those of the upgrade, and no units are placed on it.
type SeriesUpgrade struct {
	Number     int64     `bson:"number"` // the machine's Upgrades when it began
	To         string    `bson:"to"`     // the series that the machine gets
	Completing bool      `bson:"completing,omitempty"`
	Since      time.Time `bson:"since"`             // of this step
	Waiting    []string  `bson:"waiting,omitempty"` // the units that have not finished this step, sorted
	Version    int64     `bson:"version"`           // changes with the others
}

// AsRead asserts that the lock is unchanged since it was read, and nil that there is none.
func (u *SeriesUpgrade) AsRead() bson.D {
	if u == nil {
		return bson.D{{"upgrade", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"upgrade.number", u.Number}, {"upgrade.version", u.Version}}
}

// Merge sets the fields derived from the reports of the cloud and the machine's agent.
func (d *Machine) Merge() {
	d.Addresses = slices.Clone(d.CloudAddresses)
	for _, a := range d.HostAddresses {
		if !slices.Contains(d.Addresses, a) && len(d.Addresses) < limits.Addresses.Max {
			d.Addresses = append(d.Addresses, a)
		}
	}
	d.Hardware = d.KnownHardware().String()
}

// KeepsAddresses asserts that the machine's addresses are unchanged since it was read.
func (d *Machine) KeepsAddresses() bson.D {
	if len(d.Addresses) == 0 {
		return bson.D{{"addresses.0", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"addresses", d.Addresses}}
}

// KnownHardware returns what is known of the machine's hardware.
func (d *Machine) KnownHardware() entity.Hardware {
	if entity.IsManualInstance(d.InstanceID) {
		return d.HostHardware.Or(d.CloudHardware)
	}
	return d.CloudHardware.Or(d.HostHardware)
}

// Observed merges the reports, and returns the fields that differ from before.
func (d *Machine) Observed(before Machine) (change bson.D) {
	d.Merge()
	for _, f := range []struct {
		name    string
		was, is []string
	}{
		{"addresses", before.Addresses, d.Addresses},
		{"cloudaddresses", before.CloudAddresses, d.CloudAddresses},
		{"hostaddresses", before.HostAddresses, d.HostAddresses},
	} {
		if !slices.Equal(f.was, f.is) {
			change = append(change, bson.DocElem{Name: f.name, Value: f.is})
		}
	}
	if d.CloudHardware != before.CloudHardware {
		change = append(change, bson.DocElem{Name: "cloudhardware", Value: d.CloudHardware})
	}
	if d.HostHardware != before.HostHardware {
		change = append(change, bson.DocElem{Name: "hosthardware", Value: d.HostHardware})
	}
	if d.Hardware != before.Hardware {
		change = append(change, bson.DocElem{Name: "hardware", Value: d.Hardware})
	}
	return change
}

// Address returns the address that the machine's units publish to others; "" if it has none.
func (d Machine) Address() string {
	if len(d.Addresses) > 0 {
		return d.Addresses[0]
	}
	return d.LostAddress
}

// A Ports holds the open ports of the units on a machine. It is inserted with the first one, and
// removed with the machine.
type Ports struct {
	ID      string     `bson:"_id"` // a machine's id
	Ports   []OpenPort `bson:"ports"`
	Version int64      `bson:"version"`

	Missing bool `bson:"-"` // the document does not exist yet
}

// AsRead asserts that the document is unchanged since it was read.
func (d Ports) AsRead() any {
	if d.Missing {
		return txn.DocMissing
	}
	return bson.D{{"version", d.Version}}
}

type OpenPort struct {
	Unit     string `bson:"unit"`
	From     int    `bson:"from"`
	To       int    `bson:"to"`
	Protocol string `bson:"protocol"`
	// Endpoints are those that the ports are open for, sorted; none means all.
	Endpoints []string `bson:"endpoints,omitempty"`
}

func (p OpenPort) Range() entity.PortRange {
	return entity.PortRange{From: p.From, To: p.To, Protocol: p.Protocol}
}

// Targets returns the names of the entities that a reference of the machine names: the host of a container.
func (d Machine) Targets(lifecycle.Ref) []string {
	if d.Host == "" {
		return nil
	}
	return []string{d.Host}
}

// IsManager reports whether the machine runs a controller.
func (d Machine) IsManager() bool { return slices.Contains(d.Jobs, JobManageModel) }
