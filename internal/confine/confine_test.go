package confine

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/annotary/annotary/internal/testenv"
)

// folder makes a folder with a secret and a socket in it.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home", "share", "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(dir, "key"): "sesame", filepath.Join(dir, "..", "other"): "open"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wall returns walls of one kind, or skips where the system has none. In CI one of
// them must hold.
func wall(t *testing.T, by Protection, dir string) *Walls {
	t.Helper()
	w := &Walls{By: by, dir: dir}
	if err := w.try(filepath.Join(dir, "key")); err != nil {
		t.Skipf("%s does not hold on this system: %v", by, err)
	}
	return w
}

// each runs a test behind every kind of wall.
func each(t *testing.T, test func(t *testing.T, w *Walls)) {
	for _, by := range protections {
		t.Run(string(by), func(t *testing.T) { test(t, wall(t, by, folder(t))) })
	}
}

func run(t *testing.T, w *Walls, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if err := w.Apply(cmd); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestAround(t *testing.T) {
	dir := folder(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	w, err := Around(link)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("protection: %s; %s", w.By, w.Missing)
	if out, err := run(t, w, "/", "cat", filepath.Join(dir, "key")); w.By != Neither && err == nil {
		t.Errorf("read %q", out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if _, err := Around(filepath.Join(dir, "none")); err == nil {
		t.Error("a wall around nothing")
	}
}

// TestApply_secret: whatever a shell tries, it does not get at the folder, and it
// can use everything else.
func TestApply_secret(t *testing.T) {
	each(t, func(t *testing.T, w *Walls) {
		dir, up, tmp := w.dir, filepath.Dir(w.dir), t.TempDir()
		for _, script := range []string{
			"cat " + dir + "/key",
			"cat " + up + "/./data/key",
			"echo x > " + dir + "/key",
			"echo x > " + dir + "/new",
			"rm " + dir + "/key",
			"mv " + dir + " " + up + "/moved",
			"ln " + dir + "/key " + tmp + "/key",
			"ln -s " + dir + " " + tmp + "/l && cat " + tmp + "/l/key",
			"umount " + dir,
			"umount -l " + dir + " && cat " + dir + "/key",
			"mount --bind " + up + " /mnt && cat /mnt/data/key",
			"unshare -rm sh -c 'umount " + dir + "; cat " + dir + "/key'",
			"unshare -Urm sh -c 'mount --bind " + up + " /mnt && cat /mnt/data/key'",
			fmt.Sprintf("cat /proc/%d/root%s/key", os.Getpid(), dir),
			fmt.Sprintf("cat /proc/%d/root%s/key", os.Getppid(), dir),
			fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
			fmt.Sprintf("nsenter -t %d -m cat %s/key", os.Getpid(), dir),
		} {
			if out, err := run(t, w, "/", "sh", "-c", script); err == nil || strings.Contains(out, "sesame") {
				t.Errorf("%s: %q, %v", script, out, err)
			}
		}
		if got, err := os.ReadFile(filepath.Join(dir, "key")); string(got) != "sesame" {
			t.Errorf("the key is now %q, %v", got, err)
		}
		out, err := run(t, w, t.TempDir(), "sh", "-c", "cat "+up+"/other && echo x > file && mkdir d && mv file d && ls / >&2 >/dev/null")
		if err != nil || !strings.HasPrefix(out, "open") {
			t.Errorf("what it may use: %q, %v", out, err)
		}
	})
}

// TestApply_socket: a namespace hides the socket. Landlock, before its ninth
// version, does not, which is why the socket asks for a token.
func TestApply_socket(t *testing.T) {
	python := testenv.Program(t, "python3")
	w := wall(t, Namespace, folder(t))
	l, err := net.Listen("unix", filepath.Join(w.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	script := "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
	if out, err := run(t, nil, "/", python, "-c", script, filepath.Join(w.dir, "s")); err != nil {
		t.Fatalf("without a wall: %v %s", err, out)
	}
	if out, err := run(t, w, "/", python, "-c", script, filepath.Join(w.dir, "s")); err == nil {
		t.Errorf("connected: %s", out)
	}
}

// TestApply_process: behind a wall a command is what it was without: same user,
// same group of processes, same streams, same end.
func TestApply_process(t *testing.T) {
	each(t, func(t *testing.T, w *Walls) {
		cmd := exec.Command("sh", "-c", `read line; echo "$line $0 $X $(id -u) $(pwd)"; kill -TERM $$`, "$0")
		cmd.Dir, cmd.Env, cmd.Stdin = "/usr", []string{"X=1", "PATH=" + os.Getenv("PATH")}, strings.NewReader("in\n")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := w.Apply(cmd); err != nil {
			t.Fatal(err)
		}
		err := cmd.Run()
		if want := fmt.Sprintf("in $0 1 %d /usr\n", os.Getuid()); out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGTERM {
			t.Errorf("ended by %v", err)
		}
	})
}

// TestApply_workingDirectory: a working directory inside the folder is no way in.
func TestApply_workingDirectory(t *testing.T) {
	each(t, func(t *testing.T, w *Walls) {
		if out, err := run(t, w, w.dir, "cat", "key"); err == nil {
			t.Errorf("read %q", out)
		}
		sub := filepath.Join(w.dir, "sub")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := run(t, w, sub, "cat", "../key"); err == nil || strings.Contains(out, "sesame") {
			t.Errorf("read %q", out)
		}
	})
}

func TestApply_missingProgram(t *testing.T) {
	each(t, func(t *testing.T, w *Walls) {
		if _, err := run(t, w, "/", "no-such-program"); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("got %v", err)
		}
		if out, err := run(t, w, "/", "/no/such/program"); err == nil || !strings.Contains(out, "no such file") {
			t.Errorf("got %v %q", err, out)
		}
	})
}

// TestUnprivileged runs this test's own binary as an ordinary user that is not
// dumpable, as the gateway is.
func TestUnprivileged(t *testing.T) {
	if os.Getenv("ANNOTARY_CONFINE_CHILD") != "" {
		if err := Undumpable(); err != nil {
			t.Fatal(err)
		}
		t.Run("around", TestAround)
		t.Run("secret", TestApply_secret)
		t.Run("process", TestApply_process)
		t.Run("directory", TestApply_workingDirectory)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	dir := t.TempDir()
	for d := dir; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "confine.test")
	raw, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(binary, raw, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestUnprivileged$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "ANNOTARY_CONFINE_CHILD=1", "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
