package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/annotary/annotary/internal/rpc"
)

const (
	stderrKept = 16 << 10               // bytes of standard error kept per child
	drainAfter = 200 * time.Millisecond // how long output is read after the end
	closeGrace = 2 * time.Second        // the default of how long ending a child may take
)

// inherited are the variables every child gets; all others only if configured.
var inherited = []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}

// process is a running child and the link to it.
type process struct {
	*link
	cmd   *exec.Cmd
	grace time.Duration // between closing stdin and SIGKILL; SIGTERM is half-way
}

// pipes are our three ends and the child's three ends.
type pipes struct{ inR, inW, outR, outW, errR, errW *os.File }

// startProcess runs the target's command. Every line it writes goes to receive,
// from one goroutine.
func startProcess(t Target, maxLine int, grace time.Duration, receive func(line []byte, err error)) (*process, error) {
	p := &process{link: newLink(), cmd: exec.Command(t.Command, t.Args...), grace: grace}
	p.cmd.Dir, p.cmd.Env = t.Dir, environ(t.Env)
	ownGroup(p.cmd)
	if err := t.Walls.Apply(p.cmd); err != nil {
		return nil, err
	}
	ends, err := newPipes()
	if err != nil {
		return nil, fmt.Errorf("opening pipes: %w", err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = ends.inR, ends.outW, ends.errW
	err = p.cmd.Start()
	closeAll(ends.inR, ends.outW, ends.errW)
	if err != nil {
		closeAll(ends.inW, ends.outR, ends.errR)
		return nil, err
	}
	go p.write(ends.inW)
	go p.run(ends, maxLine, receive)
	return p, nil
}

func newPipes() (p pipes, err error) {
	for _, ends := range [][2]**os.File{{&p.inR, &p.inW}, {&p.outR, &p.outW}, {&p.errR, &p.errW}} {
		if *ends[0], *ends[1], err = os.Pipe(); err != nil {
			closeAll(p.inR, p.inW, p.outR, p.outW, p.errR, p.errW)
			return pipes{}, err
		}
	}
	return p, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // a pipe end: nothing to lose
		}
	}
}

// environ is the child's environment: a few inherited variables, then what was
// configured.
func environ(configured map[string]string) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			if _, own := configured[name]; !own {
				env = append(env, name+"="+value)
			}
		}
	}
	for name, value := range configured {
		env = append(env, name+"="+value)
	}
	return env
}

// write carries queued lines to the child until it is to end.
func (p *process) write(stdin *os.File) {
	defer stdin.Close()
	var buf []byte
	for {
		select {
		case line := <-p.in:
			buf = append(append(buf[:0], rpc.OneLine(line)...), '\n')
			if _, err := stdin.Write(buf); err != nil {
				return // it no longer reads; run sees its end
			}
			if cap(buf) > 256<<10 {
				buf = nil // a rare large message must not stay in memory
			}
		case <-p.quit:
			return
		case <-p.done:
			return
		}
	}
}

// run reads the child's output and waits for its end. The process group is
// killed in any case: a wrapper such as npx leaves its own children behind.
func (p *process) run(ends pipes, maxLine int, receive func([]byte, error)) {
	read := make(chan struct{}, 2)
	go func() { readLines(ends.outR, maxLine, receive); read <- struct{}{} }()
	go func() { _, _ = io.Copy(p.stderr, ends.errR); read <- struct{}{} }()
	ended := make(chan struct{})
	go p.stopOnQuit(ended)

	p.exit = p.cmd.Wait()
	close(ended)
	killGroup(p.cmd)
	deadline := time.Now().Add(drainAfter)
	_ = ends.outR.SetReadDeadline(deadline)
	_ = ends.errR.SetReadDeadline(deadline)
	<-read
	<-read
	closeAll(ends.outR, ends.errR)
	close(p.done)
}

func readLines(r io.Reader, maxLine int, receive func([]byte, error)) {
	lines := rpc.NewLines(r, maxLine)
	for {
		line, err := lines.Next()
		if err != nil && !errors.Is(err, rpc.ErrLong) {
			return
		}
		receive(line, err)
	}
}

// stopOnQuit ends the child the way the specification asks for: close its
// standard input (write does), then SIGTERM, then SIGKILL.
func (p *process) stopOnQuit(ended chan struct{}) {
	select {
	case <-ended:
		return
	case <-p.quit:
	}
	for _, signal := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-ended:
			return
		case <-time.After(p.grace / 2):
			signal(p.cmd)
		}
	}
}
