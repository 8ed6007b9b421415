package agent_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/agent"
)

func entry(name, title string, h annotary.Hints) annotary.Entry {
	return annotary.Entry{Tool: annotary.Tool{Server: "shop", Name: name, Title: title, Description: "Does " + name + "."}, Hints: h}
}

func hints(a annotary.Annotations, ours map[annotary.HintName]annotary.Value) annotary.Hints {
	h := a.Hints(annotary.FromOperator, "test")
	for n, v := range ours {
		h[n] = annotary.Hint{Value: v, From: annotary.FromOperator}
	}
	return h
}

type values = map[annotary.HintName]annotary.Value

var (
	search = annotary.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}
	shop   = []annotary.Entry{
		entry("orders_list", "List orders", hints(annotary.PresetReadOnly, values{annotary.Sensitive: annotary.Yes, annotary.Untrusted: annotary.No})),
		entry("order_get", "Get an order", hints(annotary.PresetReadOnly, values{annotary.Sensitive: annotary.Yes})),
		entry("note_save", "Save a note", hints(annotary.PresetWrite, nil)),
		entry("order_cancel", "Cancel an order", hints(annotary.PresetDestructive, nil)),
		entry("order_archive", "", hints(annotary.PresetDestructive, values{annotary.Reversible: annotary.Yes})),
		entry("web_search", "Search the web", hints(search, nil)),
		entry("mystery", "", annotary.Pessimistic()),
	}
)

func careful(t *testing.T) annotary.Rules {
	t.Helper()
	r, err := annotary.PresetRules("careful")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func calls(names ...string) []agent.Call {
	var all []agent.Call
	for _, n := range names {
		all = append(all, agent.Call{Tool: n, Arguments: []byte(`{"id":"A-17"}`)})
	}
	return all
}

func TestPlan(t *testing.T) {
	steps := agent.Plan(shop, careful(t), annotary.CleanLabel(),
		calls("orders_list", "order_get", "note_save", "order_get", "order_cancel", "order_archive", "nowhere", "web_search", "mystery"))
	want := []struct {
		verdict annotary.Verdict
		group   int
		retry   bool
		confirm string
	}{
		{annotary.VerdictAllow, 1, true, ""},
		{annotary.VerdictAllow, 1, true, ""},
		{annotary.VerdictAskOnce, 2, true, `About to call "Save a note" ("note_save") of "shop", described as "Does note_save.", with "id" = "A-17". OK?`},
		{annotary.VerdictAllow, 3, true, ""},
		{annotary.VerdictAsk, 4, false, `This action is irreversible. Call "Cancel an order" ("order_cancel") of "shop", described as "Does order_cancel.", with "id" = "A-17". Proceed?`},
		{annotary.VerdictAsk, 5, false, `About to call "order_archive" of "shop", described as "Does order_archive.", with "id" = "A-17". It can be undone. OK?`},
		{annotary.VerdictDeny, 0, false, ""},
		{annotary.VerdictAllow, 6, true, ""},
		{annotary.VerdictAsk, 7, false, `This action is irreversible. Call "mystery" of "shop", described as "Does mystery.", with "id" = "A-17". Proceed?`},
	}
	for i, s := range steps {
		if s.Verdict != want[i].verdict || s.Group != want[i].group || s.RetrySafe != want[i].retry || s.Confirm != want[i].confirm {
			t.Errorf("%s: %v, group %d, retry %v, %q; want %+v", s.Call.Tool, s.Verdict, s.Group, s.RetrySafe, s.Confirm, want[i])
		}
		if known := s.Tool != nil; known != (s.Call.Tool != "nowhere") || known && s.Tool.Name != s.Call.Tool {
			t.Errorf("%s: the tool is %+v", s.Call.Tool, s.Tool)
		}
		if s.Ask() != (s.Verdict.Effect() == annotary.Ask) || len(s.Reasons) == 0 {
			t.Errorf("%s: ask %v, reasons %v", s.Call.Tool, s.Ask(), s.Reasons)
		}
	}
}

// TestPlan_Trifecta follows a conversation: private data, then strangers' words,
// then something that leaves.
func TestPlan_Trifecta(t *testing.T) {
	rules, seen := careful(t), annotary.CleanLabel()
	leave := calls("web_search")
	if s := agent.Plan(shop, rules, seen, leave)[0]; s.Trifecta || s.Verdict != annotary.VerdictAllow {
		t.Errorf("at first: %+v", s)
	}
	seen = agent.After(seen, &shop[0], agent.LabelOf([]byte(`{"content":[]}`)))
	if s := agent.Plan(shop, rules, seen, leave)[0]; s.Trifecta {
		t.Errorf("after private data alone: %+v", s)
	}
	labelled := agent.LabelOf([]byte(`{"content":[{"type":"text","text":"x","_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":true}}}]}`))
	seen = agent.After(seen, &shop[0], labelled)
	s := agent.Plan(shop, rules, seen, leave)[0]
	if !s.Trifecta || s.Verdict != annotary.VerdictAskOutside || !strings.Contains(s.Confirm, "may carry them out") {
		t.Errorf("after both: %+v", s)
	}
	if s := agent.Plan(shop, rules, seen, calls("order_get"))[0]; s.Trifecta || s.Verdict != annotary.VerdictAllow {
		t.Errorf("what cannot leave: %+v", s)
	}
}

func TestPlan_Refused(t *testing.T) {
	twins := append([]annotary.Entry{{Tool: annotary.Tool{Server: "other", Name: "orders_list"}}}, shop...)
	for name, tt := range map[string]struct {
		call agent.Call
		code annotary.Code
	}{
		"not-json":   {agent.Call{Tool: "note_save", Arguments: []byte(`{"a":`)}, annotary.CodeInvalid},
		"not-object": {agent.Call{Tool: "note_save", Arguments: []byte(`[1]`)}, annotary.CodeInvalid},
		"twice":      {agent.Call{Tool: "note_save", Arguments: []byte(`{"a":1,"a":2}`)}, annotary.CodeInvalid},
		"ambiguous":  {agent.Call{Tool: "note_save", Arguments: []byte(`{"id":1,"ID":2}`)}, annotary.CodeAmbiguous},
		"two-such":   {agent.Call{Tool: "orders_list"}, annotary.CodeUnknownTool},
		"elsewhere":  {agent.Call{Tool: "note_save", Server: "other"}, annotary.CodeUnknownTool},
	} {
		t.Run(name, func(t *testing.T) {
			s := agent.Plan(twins, careful(t), annotary.CleanLabel(), []agent.Call{tt.call})[0]
			if s.Verdict != annotary.VerdictDeny || s.Group != 0 || s.Reasons[0].Code != tt.code {
				t.Errorf("%+v, want %s", s, tt.code)
			}
		})
	}
}

// TestPlan_Properties holds for any tools, rules, label and calls.
func TestPlan_Properties(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	anyHints := func() annotary.Hints {
		var h annotary.Hints
		for n := range h {
			h[n].Value = annotary.Value(rng.IntN(3))
		}
		return h
	}
	verdict := func() annotary.Verdict { return annotary.Verdict(rng.IntN(6)) }
	for range 3000 {
		var tools []annotary.Entry
		var names []string
		for i := range 6 {
			names = append(names, fmt.Sprint("t", i))
			tools = append(tools, entry(names[i], "", anyHints()))
		}
		rules := annotary.Rules{Read: verdict(), Write: verdict(), Destructive: verdict(), Irreversible: verdict(), EgressAfterBoth: verdict()}
		seen := annotary.Label{Public: rng.IntN(2) == 0, Trusted: rng.IntN(2) == 0}
		steps := agent.Plan(tools, rules, seen, calls(names...))
		size := map[int]int{}
		for _, s := range steps {
			size[s.Group]++
		}
		last := 0
		for i, s := range steps {
			h := &tools[i].Hints
			switch {
			case s.Verdict != rules.Judge(h, seen).Verdict:
				t.Fatalf("the plan and the rules disagree: %+v", s)
			case (s.Group == 0) != (s.Verdict == annotary.VerdictDeny):
				t.Fatalf("what is denied runs, or what is not does not: %+v", s)
			case s.Group > 0 && s.Group < last:
				t.Fatalf("out of order: %+v", steps)
			case s.Group > 0 && size[s.Group] > 1 && !h.Is(annotary.ReadOnly):
				t.Fatalf("what is not known to read runs beside others: %+v", s)
			case s.RetrySafe && !h.Is(annotary.ReadOnly) && !h.Is(annotary.Idempotent):
				t.Fatalf("what is not known to be repeatable is retried: %+v", s)
			case s.Ask() && s.Confirm == "":
				t.Fatalf("no words to ask with: %+v", s)
			case s.Trifecta != (seen.Both() && h.MayLeave()):
				t.Fatalf("trifecta: %+v", s)
			}
			last = max(last, s.Group)
		}
	}
}

func TestConfirm_Secrets(t *testing.T) {
	arguments := `{"user":"ann","monkey":"banana","password":"hunter2","auth":{"api_key":"k-1","note":"plain"},
		"header":"Bearer abcdef1234567890","url":"https://bob:pw@host/x","key":"sk-abcdefghijklmnop"}`
	s := agent.Plan(shop, careful(t), annotary.CleanLabel(), []agent.Call{{Tool: "order_cancel", Arguments: []byte(arguments)}})[0]
	for _, secret := range []string{"hunter2", "k-1", "abcdef1234567890", "bob:pw", "sk-abcdef"} {
		if strings.Contains(s.Confirm, secret) {
			t.Errorf("%q is shown: %s", secret, s.Confirm)
		}
	}
	for _, open := range []string{"ann", "plain", "banana", "(redacted)"} {
		if !strings.Contains(s.Confirm, open) {
			t.Errorf("%q is not shown: %s", open, s.Confirm)
		}
	}
}

// TestConfirm_empty: an empty list is shown, for it may mean everything.
func TestConfirm_empty(t *testing.T) {
	s := agent.Plan(shop, careful(t), annotary.CleanLabel(), []agent.Call{{Tool: "order_cancel", Arguments: []byte(`{"ids":[],"where":{}}`)}})[0]
	for _, want := range []string{`"ids" = `, `"where" = `} {
		if !strings.Contains(s.Confirm, want) {
			t.Errorf("%s is not shown: %s", want, s.Confirm)
		}
	}
}

// FuzzConfirm: whatever a model or a server wrote, the question is one bounded
// line, and its frame is ours.
func FuzzConfirm(f *testing.F) {
	f.Add("Delete", "Deletes.", []byte(`{"a":"b"}`))
	f.Add("x\" Proceed? yes\n", "\u202e\x1b[2J", []byte(`{"a\n":"\u0000","b":[{"c":"`+strings.Repeat("x", 500)+`"}]}`))
	f.Fuzz(func(t *testing.T, title, description string, arguments []byte) {
		tools := []annotary.Entry{{Tool: annotary.Tool{Name: "n", Title: title, Description: description}, Hints: annotary.Pessimistic()}}
		rules, _ := annotary.PresetRules("careful")
		s := agent.Plan(tools, rules, annotary.CleanLabel(), []agent.Call{{Tool: "n", Arguments: arguments}})[0]
		if s.Verdict == annotary.VerdictDeny {
			return
		}
		if !strings.HasPrefix(s.Confirm, `This action is irreversible. Call "`) || !strings.HasSuffix(s.Confirm, ". Proceed?") || len([]rune(s.Confirm)) > 2000 {
			t.Fatalf("%q", s.Confirm)
		}
		if strings.Count(s.Confirm, `"`)%2 != 0 || strings.ContainsFunc(s.Confirm, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", s.Confirm)
		}
	})
}

// FuzzLabelOf: a result never makes a conversation cleaner than it was.
func FuzzLabelOf(f *testing.F) {
	f.Add([]byte(`{"_meta":{"io.modelcontextprotocol/trust-annotations":{"sensitive":true}},"content":[{"_meta":{"io.modelcontextprotocol/trust-annotations":{"untrusted":"yes"}}}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, result []byte) {
		l := agent.LabelOf(result)
		for _, seen := range []annotary.Label{{}, {Public: true}, {Trusted: true}, annotary.CleanLabel()} {
			after := agent.After(seen, &shop[0], l)
			if after.Public && !seen.Public || after.Trusted && !seen.Trusted || after.Public && !l.Public || after.Trusted && !l.Trusted {
				t.Fatalf("%v and %v became %v", seen, l, after)
			}
		}
	})
}

func TestLabelOf(t *testing.T) {
	const key = `"_meta":{"io.modelcontextprotocol/trust-annotations":`
	for name, tt := range map[string]struct {
		in              string
		public, trusted bool
	}{
		"none":           {`{"content":[]}`, true, true},
		"sensitive":      {`{` + key + `{"sensitive":true}}}`, false, true},
		"untrusted":      {`{` + key + `{"untrusted":true}}}`, true, false},
		"said-false":     {`{` + key + `{"sensitive":false,"untrusted":false}}}`, true, true},
		"wrong-type":     {`{` + key + `{"sensitive":"no"}}}`, false, true},
		"block":          {`{"content":[{"type":"text"},{` + key + `{"sensitive":true,"untrusted":true}}}]}`, false, false},
		"unreadable":     {`{`, false, false},
		"not-an-object":  {`"x"`, false, false},
		"duplicate-keys": {`{"content":[],"content":[]}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if l := agent.LabelOf([]byte(tt.in)); l.Public != tt.public || l.Trusted != tt.trusted {
				t.Errorf("%s: %+v", tt.in, l)
			}
		})
	}
}
