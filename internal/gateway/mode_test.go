package gateway_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/derive"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/memory"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/internal/upstream"
)

var operator = annotary.Principal{Tenant: "default", Subject: "operator"}

// listed are the names of the tools the principal is shown.
func listed(t *testing.T, g *gateway.Gateway, who annotary.Principal, readOnly bool) []string {
	t.Helper()
	raw := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	m, err := rpc.Parse([]byte(raw), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.Call(t.Context(), &gateway.Call{
		Principal: who, Server: "db", Era: upstream.EraModern, Message: m, ReadOnly: readOnly,
		Header: http.Header{"Mcp-Method": {"tools/list"}, "Mcp-Protocol-Version": {"2026-07-28"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var names []string
	for _, tool := range strict.Elements(strict.Get(a.Body, "result", "tools")) {
		name, _ := strict.Text(strict.Get(tool, "name"))
		names = append(names, name)
	}
	return names
}

// TestModesAgree (I2): with kills, read-only addresses and observing in play,
// over random policies, the list, the prediction and the call agree; nothing
// relaxes a kill or the read-only mode; observing relaxes policies and nothing
// else, and ends by itself.
func TestModesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noon := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	codes, observed := map[annotary.Code]int{}, 0
	for range 60 {
		log := &memory.Log{}
		now := noon
		j := &gateway.Judge{
			Policies: randomSet(t, r), Log: log, Kills: gateway.NewKills(memory.NewBucket()),
			Observe: pick(r, []time.Time{{}, noon.Add(time.Hour)}), Now: func() time.Time { return now },
			Stances: map[string]catalog.Stance{"db": {
				Believe:   r.IntN(4) == 0,
				Overrides: []catalog.Override{{Tools: "get_*", Hints: map[annotary.HintName]bool{annotary.ReadOnly: true}}},
				Narrow:    []catalog.Narrow{{Tools: "run_sql", Rule: derive.Rule{Kind: "sql", At: "/query"}}},
			}},
		}
		f := &fixture{tools: mixed}
		g := start(t, f, j)
		var stopped string
		if r.IntN(2) == 0 {
			k := pick(r, []gateway.Kill{{Server: "db", Tool: "get_*"}, {Server: "db", Tool: "drop_table"}, {User: "bob"}})
			k.Note, stopped = "stop it", k.Tool+k.User
			if _, err := g.Kill(t.Context(), k, &operator); err != nil {
				t.Fatal(err)
			}
		}
		for range 8 {
			if r.IntN(4) == 0 {
				now = noon.Add(time.Hour) // from here on policies are enforced
			}
			q := &gateway.Question{
				Principal: annotary.Principal{Tenant: "default", Subject: pick(r, []string{"ann", "bob"}), Groups: pick(r, [][]string{nil, {"interns"}}), Scopes: pick(r, [][]string{nil, {"root"}})},
				Server:    "db", Tool: pick(r, []string{"get_row", "put_row", "drop_table", "run_sql", "admin", "absent"}),
				Arguments: pick(r, [][]byte{[]byte(`{}`), []byte(`{"x":"1"}`), []byte(`{"query":"SELECT 1"}`), []byte(`{"query":"DROP TABLE a"}`)}),
				ReadOnly:  r.IntN(3) == 0,
			}
			p, err := g.Predict(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			shown := slices.Contains(listed(t, g, q.Principal, q.ReadOnly), q.Tool)
			happened, told, entry := really(t, g, j, f, log, q)
			what := fmt.Sprintf("%s %s by %s (read-only %v, stopped %q)", q.Tool, q.Arguments, q.Principal.Subject, q.ReadOnly, stopped)
			if p.Told != told || happened != (told == "") {
				t.Errorf("%s: predicted %q, told %q, happened: %v", what, p.Told, told, happened)
			}
			checkModes(t, what, &now, j, q, p, told, shown, &entry, stopped)
			if codes[told]++; p.Observed != "" {
				observed++
			}
		}
	}
	for _, c := range []annotary.Code{"", annotary.CodeKilled, annotary.CodeReadOnly, annotary.CodeUnknownTool, annotary.CodeApproval} {
		if codes[c] == 0 {
			t.Errorf("no call came to %q: %v", c, codes)
		}
	}
	if observed == 0 {
		t.Error("nothing was only observed")
	}
}

// checkModes holds one call against what the modes promise.
func checkModes(t *testing.T, what string, now *time.Time, j *gateway.Judge, q *gateway.Question, p *gateway.Prediction, told annotary.Code, shown bool, entry *audit.Entry, stopped string) {
	t.Helper()
	killed := stopped != "" && (catalog.Match(stopped, q.Tool) || stopped == q.Principal.Subject)
	visible := told != annotary.CodeUnknownTool
	reads := visible && q.Tool != "absent" && p.Hints.Vouched(annotary.ReadOnly)
	observing := now.Before(j.Observe)
	switch {
	case visible && killed && told != annotary.CodeKilled:
		t.Errorf("%s: killed, and told %q", what, told)
	case !killed && told == annotary.CodeKilled:
		t.Errorf("%s: nobody stopped it", what)
	case visible && !killed && q.ReadOnly && !reads && told != annotary.CodeReadOnly:
		t.Errorf("%s: no read, and told %q", what, told)
	case told == annotary.CodeReadOnly && (reads || !q.ReadOnly):
		t.Errorf("%s: told %q", what, told)
	case observing && (told == annotary.CodeApproval || told == annotary.CodeDenied):
		t.Errorf("%s: told %q while policies are only observed", what, told)
	case !observing && (p.Observed != "" || entry.Observe):
		t.Errorf("%s: observed after its end", what)
	case entry.Observe != (p.Observed != "") || (entry.Observe && entry.Effect == annotary.Allow.String()):
		t.Errorf("%s: observed %q, recorded %v %s", what, p.Observed, entry.Observe, entry.Effect)
	case shown && !visible, !shown && visible && (!q.ReadOnly || reads), shown && q.ReadOnly && !p.Tool.MayRead():
		t.Errorf("%s: listed %v, told %q", what, shown, told)
	}
}

// TestObserveEnds: what policies would block happens and is marked, until its
// day is over; then they are enforced without a restart.
func TestObserveEnds(t *testing.T) {
	end := time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	now, log, f := end.Add(-time.Second), &memory.Log{}, &fixture{tools: liar}
	j := &gateway.Judge{Policies: careful(t), Stances: readers, Log: log, Observe: end, Now: func() time.Time { return now }}
	g := start(t, f, j)
	if got := call(t, g, "drop_table", `{}`); codeOf(got) != "" || f.did() != "tools/call drop_table" {
		t.Errorf("observed: %s; the server did %q", got, f.did())
	}
	j.Wait()
	if e := entries(t, log)[0]; !e.Observe || e.Effect != "ask" || e.Reasons[0].Ask == "" {
		t.Errorf("observed, but recorded as %+v", e)
	}
	now = end
	if got := call(t, g, "drop_table", `{}`); codeOf(got) != string(annotary.CodeApproval) || f.did() != "tools/call drop_table" {
		t.Errorf("on its date: %s; the server did %q", got, f.did())
	}
}

// followKills are the kills of one more gateway on the store.
func followKills(t *testing.T, bucket *memory.Bucket) *gateway.Kills {
	k, ready := gateway.NewKills(bucket), make(chan struct{})
	go k.Follow(t.Context(), func() { close(ready) })
	<-ready
	return k
}

// TestKillsAreShared: a kill holds on every gateway of a store, is there after a
// restart, and is lifted everywhere.
func TestKillsAreShared(t *testing.T) {
	bucket := memory.NewBucket()
	follow := func() *gateway.Kills { return followKills(t, bucket) }
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for until := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("never: " + what)
			}
		}
	}
	first, second := follow(), follow()
	kill := gateway.Kill{Server: "db", Note: "stop it"}
	if err := first.Set(t.Context(), kill); err != nil {
		t.Fatal(err)
	}
	if len(first.List()) != 1 {
		t.Error("it does not hold when it was set")
	}
	eventually("the second hears of it", func() bool { return len(second.List()) == 1 })
	if third := follow(); len(third.List()) != 1 {
		t.Error("it is not there after a restart")
	}
	if err := second.Lift(t.Context(), kill); err != nil {
		t.Fatal(err)
	}
	eventually("the first hears that it is lifted", func() bool { return len(first.List()) == 0 })
	if err := first.Lift(t.Context(), kill); annotary.CodeOf(err) != annotary.CodeInvalid {
		t.Errorf("lifted twice: %v", err)
	}
}

// TestUnreadableKillStops (I1): a kill nobody can read stops everything, whatever
// its key, and goes with everything, for good.
func TestUnreadableKillStops(t *testing.T) {
	for _, key := range []string{"kill/server/db", "kill/all/all"} {
		for _, before := range []bool{false, true} { // everything was stopped and let go on before
			bucket := memory.NewBucket()
			follow := func() *gateway.Kills { return followKills(t, bucket) }
			all := gateway.Kill{All: true, Note: "out"}
			if before {
				k := follow()
				if err := errors.Join(k.Set(t.Context(), all), k.Lift(t.Context(), all)); err != nil {
					t.Fatal(err)
				}
			}
			_, revision, err := bucket.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bucket.Swap(t.Context(), key, []byte(`{"server":`), revision); err != nil {
				t.Fatal(err)
			}
			k := follow()
			if got := k.List(); len(got) != 1 || !got[0].All {
				t.Errorf("%s, before %v: got %v", key, before, got)
			}
			if err := k.Lift(t.Context(), all); err != nil || len(k.List()) != 0 || len(follow().List()) != 0 {
				t.Errorf("%s, before %v: lifted with %v; %v and after a restart %v hold", key, before, err, k.List(), follow().List())
			}
			if err := k.Lift(t.Context(), all); annotary.CodeOf(err) != annotary.CodeInvalid {
				t.Errorf("%s, before %v: lifted twice: %v", key, before, err)
			}
		}
	}
}

// TestProfilesBar: a server of a profile is absent for everybody else, to the
// letter, and the log knows why.
func TestProfilesBar(t *testing.T) {
	f, log := &fixture{tools: liar}, &memory.Log{}
	j := &gateway.Judge{Policies: careful(t), Stances: readers, Log: log, Profiles: []gateway.Profile{
		{Name: "lab", Groups: []string{"scientists"}, Servers: []string{"db"}}, {Name: "other", Users: []string{"ann"}},
	}}
	g := start(t, f, j)
	m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_row"}}`), strict.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	send := func(server string, groups ...string) error {
		a, err := g.Call(t.Context(), &gateway.Call{Principal: annotary.Principal{Subject: "ann", Groups: groups}, Server: server, Era: upstream.EraModern, Message: m})
		if err == nil {
			a.Close()
		}
		return err
	}
	barred, absent := send("db"), send("nowhere")
	if barred == nil || absent == nil || barred.Error() != absent.Error() || annotary.CodeOf(barred) != annotary.CodeOf(absent) {
		t.Errorf("barred: %v; absent: %v", barred, absent)
	}
	if err := send("db", "scientists"); err != nil {
		t.Errorf("a member: %v", err)
	}
	p, err := g.Predict(t.Context(), &gateway.Question{Principal: annotary.Principal{Subject: "ann"}, Server: "db", Tool: "get_row"})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Verdict(); err == nil || err.Error() != absent.Error() || len(v.Reasons) > 0 {
		t.Errorf("the caller learns %+v, %v", v, err)
	}
	j.Wait()
	if e := entries(t, log)[0]; e.Reasons[0].Code != annotary.CodeProfile || e.Effect != "deny" {
		t.Errorf("recorded %+v", e)
	}
}
