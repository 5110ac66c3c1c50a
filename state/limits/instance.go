package limits

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"juju/state/entity"
)

var hostName = regexp.MustCompile(`^[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9_])?)*\.?$`)

// zoneName matches valid zones of IPv6 addresses, which are names of interfaces. Go accepts any text.
var zoneName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,15}$`)

// CheckAddresses returns an Invalid error unless each address is an IP address or a host name.
func CheckAddresses(addresses []string) error {
	if err := Addresses.Check(len(addresses)); err != nil {
		return err
	}
	for _, a := range addresses {
		if err := Address.CheckText(a); err != nil {
			return err
		}
		ip, err := netip.ParseAddr(a)
		if err != nil && !hostName.MatchString(a) || ip.Zone() != "" && !zoneName.MatchString(ip.Zone()) {
			return entity.Errorf(entity.Invalid, "%q is neither an IP address nor a host name", a)
		}
	}
	return nil
}

// CheckInstance returns an Invalid error for an instance that can't be recorded. Callers decide
// whether id and nonce are required.
func CheckInstance(in entity.Instance) error {
	if err := InstanceID.CheckText(in.ID); err != nil {
		return err
	}
	if strings.ContainsFunc(in.ID, isControl) {
		return entity.Errorf(entity.Invalid, "instance id: %q contains a control character", in.ID)
	}
	if err := Nonce.CheckText(in.Nonce); err != nil {
		return err
	}
	if err := CheckHardware(in.Hardware); err != nil {
		return err
	}
	return CheckAddresses(in.Addresses)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// CheckHardware returns an Invalid error unless the architecture and zone are valid names.
func CheckHardware(h entity.Hardware) error {
	for _, text := range []string{h.Arch, h.Zone} {
		if err := Address.CheckText(text); err != nil {
			return err
		}
		if strings.ContainsFunc(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:/+-", r)
		}) {
			return entity.Errorf(entity.Invalid, "hardware: %q is not a valid name", text)
		}
	}
	return nil
}

// CheckFilesystem returns an Invalid error for a filesystem that can't be recorded.
func CheckFilesystem(f entity.Filesystem) error {
	if f.ID == "" {
		return entity.Errorf(entity.Invalid, "filesystem has no id")
	}
	return InstanceID.CheckText(f.ID)
}
