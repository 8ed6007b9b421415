package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock decides about, by what it is done to.
const (
	onFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	onFolders = unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	// onSockets is known from version 9 on; before, a socket whose path is known
	// can be connected to, and what listens there must ask for more.
	onSockets = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	needed      = 3 // the version that knows all of onFiles and onFolders
	withSockets = 9
)

// restrict allows this thread, and what it becomes, everything that lies beside
// the path to the hidden folder.
func restrict(hidden string) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("asking for Landlock: %w", errno)
	}
	if version < needed {
		return fmt.Errorf("version %d of Landlock is too old", version)
	}
	files := uint64(onFiles)
	if version >= withSockets {
		files |= onSockets
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: files | onFolders}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("making rules: %w", errno)
	}
	r := rules{fd: fd, files: files}
	for below := hidden; below != "/"; below = filepath.Dir(below) {
		if err := r.allowBeside(below); err != nil {
			return err
		}
	}
	// Folders above may be listed: nobody gets far in a home he cannot list.
	if err := r.allow("/", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // others have none, and get none any more
		if err := dropPower(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("keeping to the rules: %w", errno)
	}
	return unix.Close(int(fd))
}

// rules are a set of rules in the making.
type rules struct {
	fd    uintptr
	files uint64 // what may be done to a file
}

// allowBeside allows everything in what lies in the same folder as path. A
// symbolic link gets no rule: what it points at has one, or must not.
func (r *rules) allowBeside(path string) error {
	parent := filepath.Dir(path)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil // who cannot list it can still go through, and gets nothing
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		beside := filepath.Join(parent, e.Name())
		if beside == path || e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		access := r.files
		if e.IsDir() {
			access |= onFolders
		}
		if err := r.allow(beside, access); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// allow adds a rule for what lies beneath path.
func (r *rules) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, r.fd, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allowing %s: %w", path, errno)
	}
	return nil
}
