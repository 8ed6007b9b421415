package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/config"
)

var (
	errNoServer = errors.New("name the server with --server, or say --find")
	errTwoDoors = errors.New("say --server or --find, not both: --find is in front of all servers")
)

// home is the data folder: this user's one gateway lives in it. Only the user
// may enter, so whoever reaches the socket is the user.
type home struct{ dir string }

// startWithin is how long a gateway in the background may take to listen.
const startWithin = 10 * time.Second

// openHome makes the data folder if need be.
func openHome(cfg *config.Config) (home, error) {
	dir, err := filepath.Abs(cfg.Data.Value()) // config has settled where it is
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return home{}, annotary.E(annotary.CodeConfig, "the data folder "+dir+" cannot be used: "+err.Error(), err).
			WithHint("it must be a folder of this user; the configuration says where it is: data")
	}
	return home{dir}, nil
}

func (h home) path(name string) string { return filepath.Join(h.dir, name) }

// The sockets of the gateway.
const (
	pipesSocket    = "gateway.sock"  // annotary stdio
	operatorSocket = "operator.sock" // commands that look at it or change it
)

// socket is the address of a socket. The kernel allows about a hundred
// characters; a longer path is reached through an open folder.
func (h home) socket(name string) (addr string, done func(), err error) {
	path := h.path(name)
	if len(path) < 100 {
		return path, func() {}, nil
	}
	dir, err := os.Open(h.dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name), func() { _ = dir.Close() }, nil
}

func (h home) dial(name string) (net.Conn, error) {
	addr, done, err := h.socket(name)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.Dial("unix", addr)
}

// listen makes this process the user's one gateway. It fails with errTaken if
// another is, and still is when patience is over: one that was killed a moment
// ago may still hold the lock while the system clears up after it.
func (h home) listen(patience time.Duration) (pipes, operator net.Listener, err error) {
	lock, err := lockFile(h.path("gateway.lock"), false)
	for until := time.Now().Add(patience); errors.Is(err, errTaken) && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
		lock, err = lockFile(h.path("gateway.lock"), false)
	}
	if err != nil {
		return nil, nil, err
	}
	if operator, err = h.listenOn(operatorSocket); err != nil {
		_ = lock.Close()
		return nil, nil, err
	}
	if pipes, err = h.listenOn(pipesSocket); err != nil {
		_ = operator.Close()
		_ = lock.Close()
		return nil, nil, err
	}
	return &homeListener{pipes, lock}, operator, nil
}

// listenOn listens on a socket that only the user may open. Whoever listened
// there before is gone: we hold the lock.
func (h home) listenOn(name string) (net.Listener, error) {
	if err := os.Remove(h.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	addr, done, err := h.socket(name)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", addr)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the path may be gone or another's by then
	return l, os.Chmod(h.path(name), 0o600)
}

// tokenFile holds what a command must show the gateway: it changes with every
// gateway, and only who can read this folder can read it.
const tokenFile = "operator.token"

// newToken makes the token of a gateway that begins to listen.
func (h home) newToken() (string, error) {
	token := rand.Text()
	next := h.path(tokenFile + ".new")
	if err := os.WriteFile(next, []byte(token), 0o600); err != nil {
		return "", err
	}
	return token, os.Rename(next, h.path(tokenFile))
}

// token reads the token of the gateway that listens.
func (h home) token() (string, error) {
	raw, err := os.ReadFile(h.path(tokenFile))
	return string(raw), err
}

// homeListener holds the lock for as long as it listens.
type homeListener struct {
	net.Listener
	lock *os.File
}

// Close stops listening and lets others be the gateway.
func (l *homeListener) Close() error {
	err := l.Listener.Close()
	_ = l.lock.Close()
	return err
}

// dialOrStart connects to the gateway. If none runs it starts one; of many who
// find none at the same time, one starts it and the others wait.
func (h home) dialOrStart(ctx context.Context, configPath string) (net.Conn, error) {
	if conn, err := h.dial(pipesSocket); err == nil {
		return conn, nil
	}
	lock, err := lockFile(h.path("start.lock"), true)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if conn, err := h.dial(pipesSocket); err == nil { // somebody else started it
		return conn, nil
	}
	if err := h.start(configPath); err != nil {
		return nil, err
	}
	for until := time.Now().Add(startWithin); ; {
		conn, err := h.dial(pipesSocket)
		if err == nil || time.Now().After(until) {
			return conn, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// start runs the gateway in the background.
func (h home) start(configPath string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if configPath, err = filepath.Abs(configPath); err != nil {
		return err
	}
	said, err := os.OpenFile(h.path("gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.Command(self, "serve", "--background", "--config", configPath)
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.dir, said, said
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
