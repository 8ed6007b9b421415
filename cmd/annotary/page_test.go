package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/annotary/annotary/internal/testenv"
)

// A testBrowser is a real chromium.
type testBrowser struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// A seen is what the browser shows after a command.
type seen struct {
	URL, Text, Error     string
	Status, Alerts, Tabs int
	Overflow             int
	Frames               []string
}

func newBrowser(t *testing.T) *testBrowser {
	t.Helper()
	cmd := exec.Command(testenv.Node(t), filepath.Join("testdata", "browser.mjs"), testenv.NPM(t, "playwright-core", "index.js"), testenv.Program(t, "chromium"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = testWriter{t}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		killer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		killer.Stop()
	})
	b := &testBrowser{t, in, bufio.NewScanner(out)}
	b.out.Buffer(nil, 1<<20)
	b.do("open")
	return b
}

// do runs a command with pairs of name and value.
func (b *testBrowser) do(op string, args ...any) seen {
	b.t.Helper()
	m := map[string]any{"op": op}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(b.in, "%s\n", raw); err != nil {
		b.t.Fatal(err)
	}
	if !b.out.Scan() {
		b.t.Fatalf("the browser is gone after %s: %v", raw, b.out.Err())
	}
	var s seen
	if err := json.Unmarshal(b.out.Bytes(), &s); err != nil || s.Error != "" {
		b.t.Fatalf("%s: %v %s", raw, err, s.Error)
	}
	return s
}

// signIn opens the link that annotary approvals open would.
func (b *testBrowser) signIn(g *runningGateway) string {
	b.t.Helper()
	c := operator(g.data)
	defer c.Close()
	a, err := c.Login(b.t.Context(), "")
	if err != nil {
		b.t.Fatal(err)
	}
	if s := b.do("goto", "url", a.Link); !strings.HasSuffix(s.URL, "/approvals") {
		b.t.Fatalf("signed in at %s: %s", s.URL, s.Text)
	}
	return a.Link
}

// pantry is a gateway in front of the pantry, and what happened there.
type pantry struct {
	*runningGateway
	t     *testing.T
	diary string
}

func newPantry(t *testing.T, more string) *pantry {
	t.Helper()
	dir := t.TempDir()
	p := &pantry{t: t, diary: filepath.Join(dir, "diary")}
	p.runningGateway = startGateway(t, fmt.Sprintf(
		"preset: careful\npage: {listen: 127.0.0.1:0}\nservers:\n  pantry: {command: %s, env: {PANTRY: %s}%s}\n", program(t, "pantry-mcp"), p.diary, more))
	return p
}

// done is what the server was really told to do.
func (p *pantry) done() []string {
	p.t.Helper()
	raw, err := os.ReadFile(p.diary)
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' })
}

var linkIn = regexp.MustCompile(`http://127\.0\.0\.1:\d+/approvals/[a-z0-9]+`)

// ask calls a tool that asks, and returns the link of its answer.
func (p *pantry) ask(tool string, args any) string {
	p.t.Helper()
	answer := p.call(p.t, "pantry", tool, args)
	link := linkIn.FindString(answer)
	if link == "" || !strings.Contains(answer, "approval_required") {
		p.t.Fatalf("no question: %s", answer)
	}
	return link
}

type jar struct {
	Name string `json:"name"`
}

// TestPage is S7: a person opens the link of an approval_required result, answers
// by keyboard, and exactly what was approved happens, once.
func TestPage(t *testing.T) {
	p, b := newPantry(t, ""), newBrowser(t)
	link := p.ask("remove_jar", jar{"plum"})
	if s := b.do("goto", "url", link); s.Status != http.StatusUnauthorized || strings.Contains(s.Text, "jar") {
		t.Errorf("without a session: %d %s", s.Status, s.Text)
	}
	b.signIn(p.runningGateway)

	s := b.do("goto", "url", link)
	for _, want := range []string{"Run “Remove a jar”?", "remove_jar of pantry", "no way back is known", "plum", "Why you are asked"} {
		if !strings.Contains(s.Text, want) {
			t.Errorf("the page lacks %q: %s", want, s.Text)
		}
	}
	p.shoot(b, "question")
	b.do("tab", "to", "Approve")
	b.do("press", "key", "Enter")
	b.do("wait", "text", "Approved by local, once")
	if got := p.done(); len(got) != 0 {
		t.Errorf("the yes itself did %v", got)
	}
	if got := p.call(t, "pantry", "remove_jar", jar{"plum"}); !strings.Contains(got, "done") {
		t.Errorf("the retry: %s", got)
	}
	if p.ask("remove_jar", jar{"plum"}); len(p.done()) != 1 {
		t.Errorf("done: %v", p.done())
	}

	link = p.ask("remove_jar", jar{"cherry"})
	b.do("goto", "url", link+"?alone")
	b.do("tab", "to", "Deny")
	b.do("press", "key", "Enter")
	b.do("wait", "text", "Denied by local")
	if got := p.call(t, "pantry", "remove_jar", jar{"cherry"}); !strings.Contains(got, "approval_denied") {
		t.Errorf("after a no: %s", got)
	}
	if got := p.done(); len(got) != 1 {
		t.Errorf("done: %v", got)
	}
}

// TestPage_batch: five calls at once are one screen and one answer; each then runs
// once.
func TestPage_batch(t *testing.T) {
	p, b := newPantry(t, ""), newBrowser(t)
	b.signIn(p.runningGateway)
	var asking sync.WaitGroup
	links := make([]string, 5)
	for i := range links {
		asking.Go(func() { links[i] = linkIn.FindString(p.call(t, "pantry", "remove_jar", jar{fmt.Sprint("jar ", i)})) })
	}
	asking.Wait()
	s := b.do("goto", "url", links[3])
	if !strings.Contains(s.Text, "Run these 5?") {
		t.Fatalf("the batch: %s", s.Text)
	}
	p.shoot(b, "batch")
	b.do("tab", "to", "Approve the ticked")
	b.do("press", "key", "Enter")
	b.do("wait", "text", "Approved by local, once")
	for i := range links {
		p.call(t, "pantry", "remove_jar", jar{fmt.Sprint("jar ", i)})
		p.ask("remove_jar", jar{fmt.Sprint("jar ", i)}) // once is once
	}
	if got := p.done(); len(got) != 5 {
		t.Errorf("done: %v", got)
	}
	if s := b.do("goto", "url", strings.TrimSuffix(links[0], links[0][strings.LastIndex(links[0], "/"):])); !strings.Contains(s.Text, "asked together") {
		t.Errorf("the list: %s", s.Text)
	}
	p.shoot(b, "list")
}

// shoot takes pictures for people to look at, and sees that nothing sticks out.
// ANNOTARY_SHOTS names the folder to keep them in.
func (p *pantry) shoot(b *testBrowser, name string) {
	p.t.Helper()
	dir := os.Getenv("ANNOTARY_SHOTS")
	if dir == "" {
		dir = p.t.TempDir()
	}
	for _, width := range []int{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
			s := b.do("shot", "path", path, "width", width, "scheme", scheme)
			info, err := os.Stat(path)
			if err != nil || info.Size() < 5000 || s.Overflow > 0 {
				p.t.Errorf("%s: %v, %d pixels stick out", path, err, s.Overflow)
			}
		}
	}
}

// TestPage_attacks: what others do with the page of somebody who is signed in
// approves nothing and shows nothing.
func TestPage_attacks(t *testing.T) {
	p, b := newPantry(t, ""), newBrowser(t)
	used := b.signIn(p.runningGateway)
	link := p.ask("remove_jar", jar{"plum"})
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/post":
			fmt.Fprintf(w, `<form id=f method=post action="%s"><input name=answer value=yes><input name=scope value=once></form><script>f.submit()</script>`, link)
		case "/fetch":
			fmt.Fprintf(w, `<p id=p>wait</p><script>fetch(%q,{method:'POST',credentials:'include',mode:'no-cors',body:new URLSearchParams({answer:'yes',scope:'once'})}).finally(()=>{p.textContent='sent'})</script>`, link)
		case "/frame":
			fmt.Fprintf(w, `<iframe src="%s" width=900 height=900></iframe><p>framed</p>`, link)
		}
	}))
	defer evil.Close()
	port := evil.URL[strings.LastIndex(evil.URL, ":"):]
	for _, origin := range []string{evil.URL, "http://localhost" + port} { // the same site to a browser, and another one
		b.do("goto", "url", origin+"/post")
		b.do("wait", "text", "cross-origin")
		b.do("goto", "url", origin+"/fetch")
		b.do("wait", "text", "sent")
		b.do("goto", "url", origin+"/frame")
		b.do("wait", "text", "framed")
		if s := b.do("frames"); strings.Contains(strings.Join(s.Frames, " "), "jar") {
			t.Errorf("the page can be framed by %s: %q", origin, s.Frames)
		}
	}

	other := newBrowser(t)
	if s := other.do("goto", "url", used); s.Status != http.StatusUnauthorized {
		t.Errorf("a used login link: %d %s", s.Status, s.Text)
	}
	if s := other.do("goto", "url", link); s.Status != http.StatusUnauthorized || strings.Contains(s.Text, "jar") {
		t.Errorf("a link without a session: %d %s", s.Status, s.Text)
	}
	// A name of somebody else's that resolves to this machine.
	pagePort := regexp.MustCompile(`:\d+`).FindString(strings.TrimPrefix(link, "http://"))
	if s := b.do("goto", "url", strings.Replace(link, "127.0.0.1"+pagePort, "rebound.localhost"+pagePort, 1)); s.Status != http.StatusMisdirectedRequest || strings.Contains(s.Text, "jar") {
		t.Errorf("through another name: %d %s", s.Status, s.Text)
	}

	evilLink := p.ask(evilName, map[string]string{evilName: evilName})
	if s := b.do("goto", "url", evilLink+"?alone"); s.Alerts != 0 || !strings.Contains(s.Text, "<script>") {
		t.Errorf("a script ran %d times: %s", s.Alerts, s.Text)
	}
	if s := b.do("goto", "url", evilLink[:strings.LastIndex(evilLink, "/")]); s.Alerts != 0 {
		t.Errorf("a script ran in the list: %s", s.Text)
	}
	p.ask("remove_jar", jar{"plum"}) // it still asks
	if got := p.done(); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
}
