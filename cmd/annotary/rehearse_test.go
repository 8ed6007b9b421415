package main

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// reader is a browser without pictures, signed in.
func reader(t *testing.T, g *runningGateway) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := operator(g.data)
	defer c.Close()
	login, err := c.Login(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	read(t, client, login.Link)
	return client
}

func read(t *testing.T, client *http.Client, link string) string {
	t.Helper()
	res, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestRehearse is S8's part about dry runs: a server that clears the shelf under
// dry_run clears nothing before a person says so; where the operator vouches for
// the argument, the try happens when the question is looked at, once, and is
// recorded. What the server says to it is shown as its words.
func TestRehearse(t *testing.T) {
	const tried = `clear_shelf {"shelf":"top","dry_run":true}`
	for _, tt := range []struct {
		name, config string
		unasked      bool
	}{
		{"nobody vouches", "", false},
		{"the operator vouches", ", narrow: {clear_shelf: {kind: dry_run, at: /dry_run}}", true},
		{"the server is believed", ", believe_hints: true", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPantry(t, tt.config)
			client := reader(t, p.runningGateway)
			link := p.ask("clear_shelf", map[string]string{"shelf": "top"})
			if got := p.done(); len(got) != 0 {
				t.Fatalf("asking did %v", got)
			}
			read(t, client, link)
			body := read(t, client, link) // looking again does not try again
			if !tt.unasked {
				if got := p.done(); len(got) != 0 || !strings.Contains(body, "Try it anyway") {
					t.Fatalf("looking did %v: %s", got, body)
				}
				csrf := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(body)
				res, err := client.PostForm(link+"/try", url.Values{"csrf": {csrf[1]}})
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				raw, _ := io.ReadAll(res.Body)
				body = string(raw)
			}
			if got := p.done(); len(got) != 1 || got[0] != tried {
				t.Errorf("tried %v", got)
			}
			if !strings.Contains(body, "<blockquote>&lt;b&gt;done&lt;/b&gt;</blockquote>") {
				t.Errorf("the try is not quoted: %s", body)
			}
			if recorded := p.audit(t); strings.Count(recorded, `"tool":"clear_shelf"`) < 3 {
				t.Errorf("the try is not recorded: %s", recorded)
			}
			p.ask("clear_shelf", map[string]string{"shelf": "top"}) // the call itself still asks
		})
	}
}

// audit is the log as it stands.
func (p *pantry) audit(t *testing.T) string {
	t.Helper()
	c := operator(p.data)
	defer c.Close()
	lines, err := c.Lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	raw, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
