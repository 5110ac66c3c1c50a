package entity

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Hardware describes a machine's hardware; zero fields are unknown.
type Hardware struct {
	Arch     string `json:"arch,omitempty"`
	Cores    uint64 `json:"cores,omitempty"`
	Mem      uint64 `json:"mem,omitempty"`       // MiB
	RootDisk uint64 `json:"root-disk,omitempty"` // MiB
	Zone     string `json:"zone,omitempty"`      // the availability zone
}

// String returns the form that status shows:
// "arch=amd64 cores=2 mem=2048M root-disk=8192M availability-zone=a".
func (h Hardware) String() string {
	var parts []string
	if h.Arch != "" {
		parts = append(parts, "arch="+h.Arch)
	}
	if h.Cores != 0 {
		parts = append(parts, fmt.Sprintf("cores=%d", h.Cores))
	}
	if h.Mem != 0 {
		parts = append(parts, fmt.Sprintf("mem=%dM", h.Mem))
	}
	if h.RootDisk != 0 {
		parts = append(parts, fmt.Sprintf("root-disk=%dM", h.RootDisk))
	}
	if h.Zone != "" {
		parts = append(parts, "availability-zone="+h.Zone)
	}
	return strings.Join(parts, " ")
}

// ParseHardware is the inverse of String. It ignores what it doesn't know.
func ParseHardware(text string) (h Hardware) {
	for _, part := range strings.Fields(text) {
		key, value, _ := strings.Cut(part, "=")
		n, _ := strconv.ParseUint(strings.TrimSuffix(value, "M"), 10, 64) // 0 is unknown
		switch key {
		case "arch":
			h.Arch = value
		case "cores":
			h.Cores = n
		case "mem":
			h.Mem = n
		case "root-disk":
			h.RootDisk = n
		case "availability-zone":
			h.Zone = value
		}
	}
	return h
}

// Or returns h with its unknown fields taken from other.
func (h Hardware) Or(other Hardware) Hardware {
	return Hardware{Arch: cmp.Or(h.Arch, other.Arch), Cores: cmp.Or(h.Cores, other.Cores), Mem: cmp.Or(h.Mem, other.Mem),
		RootDisk: cmp.Or(h.RootDisk, other.RootDisk), Zone: cmp.Or(h.Zone, other.Zone)}
}
