package local

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"juju/state/entity"
)

// loopbackBound is how long a connection within this host may take.
const loopbackBound = 2 * time.Second

// CheckLoopback checks that processes on this host can connect to each other at 127.0.0.1, which this
// cloud depends on. The error gives the problem and its fix.
func CheckLoopback() error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err == nil {
		defer l.Close()
		var conn net.Conn
		if conn, err = net.DialTimeout("tcp4", l.Addr().String(), loopbackBound); err == nil {
			return conn.Close()
		}
	}
	name, up := loopback()
	switch {
	case name != "" && !up:
		return entity.WithHint(fmt.Errorf("the loopback interface %s is down", name), "Bring it up: ip link set %s up", name)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return entity.WithHint(errors.New("this host has no address 127.0.0.1: "+
			"the cloud \"local\" needs IPv4 on the loopback interface"),
			"Give it one: ip address add 127.0.0.1/8 dev %s", orName(name, "lo"))
	case errors.Is(err, syscall.EAFNOSUPPORT):
		return entity.WithHint(errors.New("this host has no IPv4: the cloud \"local\" needs it on the loopback interface"),
			"Run the kernel with IPv4.")
	}
	return entity.WithHint(fmt.Errorf("this host cannot be reached at 127.0.0.1: %w", err),
		"A firewall may be in the way.")
}

func orName(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// loopback returns the name of the loopback interface, "" if there is none, and whether it is up.
func loopback() (name string, up bool) {
	all, err := net.Interfaces()
	if err != nil {
		return "", false
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name, i.Flags&net.FlagUp != 0
		}
	}
	return "", false
}
