package confine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is the running program, even where its file was replaced meanwhile.
const self = "/proc/self/exe"

// protections are those worth trying, the strongest first.
var protections = []Protection{Namespace, Landlock}

// apply turns the command into one that starts the shim, which becomes the
// command under the given name.
func (w *Walls) apply(cmd *exec.Cmd, name string) error {
	dir := cmd.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return fmt.Errorf("finding the working directory: %w", err)
		}
	}
	plan := plan{by: w.By, hidden: w.dir, dir: dir, path: cmd.Path, args: append([]string{name}, cmd.Args[1:]...)}
	if w.By == Namespace {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		if err := plan.unshare(cmd.SysProcAttr); err != nil {
			return err
		}
	}
	cmd.Path, cmd.Args = self, plan.encode()
	return nil
}

// unshare has the shim begin in namespaces of its own.
//
// An ordinary user is known inside by his own number only. The shim writes that
// mapping itself, for which it needs capabilities in its namespace: we cannot,
// because the files in /proc of a process that is not dumpable are not ours.
//
// Root keeps all numbers, and with them its power over files. It loses its power
// over the system, which would let it see through any wall.
func (p *plan) unshare(attr *syscall.SysProcAttr) error {
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	if os.Geteuid() != 0 {
		p.uid, p.gid = os.Geteuid(), os.Getegid()
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
		return nil
	}
	var err error
	if attr.UidMappings, err = mappings("/proc/self/uid_map"); err != nil {
		return err
	}
	if attr.GidMappings, err = mappings("/proc/self/gid_map"); err != nil {
		return err
	}
	attr.GidMappingsEnableSetgroups = true
	return nil
}

// mappings reads which numbers there are, and maps each to itself.
func mappings(path string) ([]syscall.SysProcIDMap, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []syscall.SysProcIDMap
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q is no mapping", path, lines.Text())
		}
		first, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, err
		}
		all = append(all, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return all, lines.Err()
}

// Undumpable keeps other processes of the same user from reading the memory of
// this one and from going through its open files.
func Undumpable() error {
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
