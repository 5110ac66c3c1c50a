package commandline

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"juju/state/entity"
)

// Limits of a confined process.
const (
	maxFiles  = 64
	maxMemory = 2 << 30
)

// confine takes from this process for good what the command line of a user elsewhere must not reach, whatever the
// commands do: all files, programs, other processes and the network. What is open stays so. It needs Landlock, which Linux
// has since 5.13; where it is missing, nothing may run.
func confine() error {
	for resource, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: maxFiles,
		unix.RLIMIT_DATA: maxMemory} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("cannot limit this process: %w", err)
		}
	}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return entity.WithHint(fmt.Errorf("cannot run commands on this controller: its kernel has no Landlock, to keep them "+
			"from its files: %w", errno), "Run them with juju, where you are. Linux has Landlock since 5.13.")
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	if version >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("cannot confine this process: %w", errno)
	}
	// A thread is confined by itself, and passes it on to those that it starts. In a program that has C, Go does not know
	// all threads, and this fails.
	if _, _, errno = syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno == 0 {
		_, _, errno = syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("cannot confine this process: %w", errno)
	}
	if err := unix.Close(int(rules)); err != nil {
		return fmt.Errorf("cannot confine this process: %w", err)
	}
	return refuseCalls()
}

// refused are the system calls that fail from now on. Landlock knows some kinds of sockets only, and signals only in newer
// kernels. A socket pair is made by another call.
var refused = []uint32{unix.SYS_SOCKET, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_KILL, unix.SYS_PROCESS_VM_READV,
	unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_OPEN, unix.SYS_IO_URING_SETUP}

// auditArch names the processors in a filter.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64,
	"ppc64le": unix.AUDIT_ARCH_PPC64LE, "riscv64": unix.AUDIT_ARCH_RISCV64, "s390x": unix.AUDIT_ARCH_S390X}

// foreignCalls is the first number of the calls that amd64 also has in another form.
const foreignCalls = 0x40000000

// refuseCalls has the kernel refuse the refused calls to all threads of this process.
func refuseCalls() error {
	arch, known := auditArch[runtime.GOARCH]
	if !known {
		return fmt.Errorf("cannot confine this process: unknown processor %s", runtime.GOARCH)
	}
	const load, equal, atLeast, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	n := uint8(len(refused))
	filter := []unix.SockFilter{
		{Code: load, K: 4}, // the processor
		{Code: equal, K: arch, Jf: n + 3},
		{Code: load, K: 0}, // the call
		{Code: atLeast, K: foreignCalls, Jt: n + 1},
	}
	for i, call := range refused {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jt: n - uint8(i)})
	}
	filter = append(filter, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("cannot confine this process: %w", errno)
	}
	return nil
}
