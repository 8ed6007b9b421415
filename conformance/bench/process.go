package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/annotary/annotary/internal/testenv"
)

// A process is one program in the middle or at the end, while it runs.
type process struct {
	cmd     *exec.Cmd
	log     bytes.Buffer
	addr    string
	counter string
}

// spawn starts this very program in a role and waits until it listens.
func spawn(gogc, name string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{}
	if p.addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if p.counter, err = freeAddr(); err != nil {
		return nil, err
	}
	args = append([]string{"role", name, "-addr", p.addr, "-counter", p.counter}, args...)
	p.cmd = exec.Command(self, args...)
	p.cmd.Env = append(os.Environ(), "GOGC="+gogc)
	p.cmd.Stderr = &p.log
	return p, p.cmd.Start()
}

// ready waits until the process listens.
func (p *process) ready() error {
	for range 200 {
		if testenv.Listening(p.addr) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.stop()
	return fmt.Errorf("%v does not listen on %s: %s", p.cmd.Args, p.addr, p.log.String())
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
}

// allocated returns how many bytes the process has allocated so far.
func (p *process) allocated() (uint64, error) {
	res, err := http.Get("http://" + p.counter)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(body), 10, 64)
}

// tick is the unit of /proc/PID/stat on Linux, on every architecture Go runs on.
const tick = 10 * time.Millisecond

// cpu returns the CPU time the process has used so far, in user and kernel.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat"))
	if err != nil {
		return 0, err
	}
	// The name of the program may hold blanks and brackets; fields are counted
	// after its closing one.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	kernel, err := strconv.Atoi(fields[12])
	return time.Duration(user+kernel) * tick, err
}

// freeAddr returns a loopback address nobody listens on, from below the ports
// that outgoing connections are given.
func freeAddr() (string, error) {
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no port is free")
}
