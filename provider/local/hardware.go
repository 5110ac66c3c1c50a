package local

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"

	"juju/provider"
)

// nativeIsBig reports whether this host is big-endian.
var nativeIsBig = binary.NativeEndian.Uint16([]byte{1, 0}) == 256

// archNames maps Go's names of architectures to the orchestrator's, where they differ.
var archNames = map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el"}

func hostArch() string {
	if name, ok := archNames[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}

// hardware returns what every instance has, which is everything the host has. dir is where the
// instances' files are. A property that can't be determined is left unknown.
func hardware(dir string) provider.Hardware {
	h := provider.Hardware{Arch: hostArch(), Cores: uint64(runtime.NumCPU())}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.Mem = uint64(info.Totalram) * uint64(info.Unit) >> 20
	}
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) == nil {
		h.RootDisk = disk.Blocks * uint64(disk.Bsize) >> 20
	}
	return h
}
