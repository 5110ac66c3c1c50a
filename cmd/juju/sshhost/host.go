package sshhost

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh/knownhosts"

	"juju/state/entity"
	"juju/state/limits"
)

// A Host is an SSH server and user.
type Host struct {
	User string // "" if it was not given
	Name string // a name or an IP address
	Port uint16
}

// DefaultPort is the port of SSH servers.
const DefaultPort = 22

var userPattern = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._@+-]*\$?$`)

// ParseHost parses [user@]host[:port]. An IPv6 address with a port is in brackets.
func ParseHost(text string) (Host, error) {
	h := Host{Name: text, Port: DefaultPort}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		h.User, h.Name = text[:i], text[i+1:]
		if !userPattern.MatchString(h.User) {
			return h, entity.Errorf(entity.Invalid, "%q is not a valid user name", h.User)
		}
	}
	if inner, ok := strings.CutPrefix(h.Name, "["); ok && strings.HasSuffix(inner, "]") {
		h.Name = strings.TrimSuffix(inner, "]")
	} else if _, err := netip.ParseAddr(h.Name); err != nil && strings.ContainsRune(h.Name, ':') {
		name, port, err := net.SplitHostPort(h.Name)
		n, err2 := strconv.ParseUint(port, 10, 16)
		if err != nil || err2 != nil || n == 0 {
			return h, entity.Errorf(entity.Invalid, "%q is not a valid host and port", h.Name)
		}
		h.Name, h.Port = name, uint16(n)
	}
	if err := limits.CheckAddresses([]string{h.Name}); err != nil {
		return h, err
	}
	return h, nil
}

// String returns the host as users write it, without the user.
func (h Host) String() string {
	if h.Port == DefaultPort {
		return h.Name
	}
	return h.address()
}

// KnownAs returns the host's name in known_hosts files.
func (h Host) KnownAs() string { return knownhosts.Normalize(h.address()) }

func (h Host) address() string { return net.JoinHostPort(h.Name, strconv.Itoa(int(h.Port))) }
