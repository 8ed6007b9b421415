package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names under which this program starts itself.
const (
	shimName   = "annotary-confine"
	proberName = "annotary-confine-probe"
)

// init is the shim. It runs before the rest of the program is set up: a command
// must not wait for what it does not use. Initialisation runs on the main thread,
// which is what capabilities and Landlock, both of the thread, need.
func init() {
	if len(os.Args) == 0 {
		return
	}
	switch os.Args[0] {
	case shimName:
		exit(126, become(os.Args))
	case proberName:
		if err := look(os.Args[len(os.Args)-1]); err != nil {
			exit(1, err)
		}
		os.Exit(0)
	}
}

// exit says to whoever reads the command's standard error why there is none.
func exit(code int, err error) {
	fmt.Fprintf(os.Stderr, "annotary: %v\n", err)
	os.Exit(code)
}

// A plan is what the shim is to do.
type plan struct {
	by       Protection
	uid, gid int    // to be known as; 0 where the mapping is made already
	hidden   string // the folder
	dir      string // the working directory
	path     string // the program
	args     []string
}

// encode writes the plan as the arguments of the shim.
func (p *plan) encode() []string {
	head := []string{shimName, string(p.by), strconv.Itoa(p.uid), strconv.Itoa(p.gid), p.hidden, p.dir, p.path}
	return append(head, p.args...)
}

// decode reads what encode wrote.
func decode(args []string) (*plan, error) {
	if len(args) < 8 {
		return nil, errors.New("the shim is not for people")
	}
	uid, err := strconv.Atoi(args[2])
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(args[3])
	if err != nil {
		return nil, err
	}
	return &plan{by: Protection(args[1]), uid: uid, gid: gid, hidden: args[4], dir: args[5], path: args[6], args: args[7:]}, nil
}

// become carries the plan out. It returns only if something failed.
func become(args []string) error {
	p, err := decode(args)
	if err != nil {
		return err
	}
	switch p.by {
	case Namespace:
		err = p.cover()
	case Landlock:
		err = restrict(p.hidden)
	default:
		err = errors.New("no such protection")
	}
	if err != nil {
		return fmt.Errorf("keeping the command out of %s (%s): %w", p.hidden, p.by, err)
	}
	// The working directory is the old one even where something covers it now.
	if err := os.Chdir(p.dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the working directory %s cannot be entered; commands are kept out of %s", p.dir, p.hidden)
	} else if err != nil {
		return err
	}
	return fmt.Errorf("starting %s: %w", p.path, syscall.Exec(p.path, p.args, os.Environ()))
}

// cover lays an empty folder over the hidden one and gives up the power to
// remove it. Whoever makes further namespaces inside gets the cover locked.
func (p *plan) cover() error {
	if p.uid != 0 {
		if err := p.mapSelf(); err != nil {
			return err
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("parting the mounts: %w", err)
	}
	flags := uintptr(unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("tmpfs", p.hidden, "tmpfs", flags, "mode=0700,size=4k"); err != nil {
		return fmt.Errorf("covering the folder: %w", err)
	}
	return dropPower()
}

// mapSelf makes the user known inside by his own number.
func (p *plan) mapSelf() error {
	for _, w := range []struct{ file, text string }{
		{"/proc/self/setgroups", "deny"},
		{"/proc/self/gid_map", fmt.Sprintf("%d %d 1", p.gid, p.gid)},
		{"/proc/self/uid_map", fmt.Sprintf("%d %d 1", p.uid, p.uid)},
	} {
		if err := os.WriteFile(w.file, []byte(w.text), 0); err != nil {
			return fmt.Errorf("mapping the user: %w", err)
		}
	}
	return nil
}

// powers are the capabilities that see through a wall: they change mounts, read
// the memory of other processes, or reach into the kernel.
var powers = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF,
	unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_DAC_READ_SEARCH,
}

// dropPower gives up the powers for this process and all it becomes. They go from
// the bounding set, so that no file capability and no uid 0 brings them back, and
// from the ambient and inheritable sets, which a new program would keep.
func dropPower() error {
	for _, power := range powers {
		if has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, power, 0, 0, 0); err == nil && has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0); err != nil {
			return fmt.Errorf("dropping capability %d: %w", power, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing ambient capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	for i := range caps {
		caps[i].Inheritable = 0
	}
	if err := unix.Capset(&head, &caps[0]); err != nil {
		return fmt.Errorf("setting capabilities: %w", err)
	}
	return nil
}
