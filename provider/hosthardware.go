package provider

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// archNames maps Go's architecture names to ours where they differ.
var archNames = map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el"}

// HostArch returns the name of this host's architecture.
func HostArch() string {
	if name, ok := archNames[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}

// HostHardware returns the hardware of this host, which may be a container. dir is on its root disk. Properties
// that can't be determined are left zero.
func HostHardware(dir string) Hardware {
	h := Hardware{Arch: HostArch(), Cores: uint64(runtime.NumCPU())}
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
