package find_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
)

// tool makes an entry; the class is told by its first letter: r, w or d.
func tool(server, name, description, class string) annotary.Entry {
	a := map[string]annotary.Annotations{"r": annotary.PresetReadOnly, "w": annotary.PresetWrite, "d": annotary.PresetDestructive}[class]
	raw := fmt.Sprintf(`{"name":%q,"description":%q}`, name, description)
	return annotary.Entry{
		Tool:  annotary.Tool{Server: server, Name: name, Description: description, Raw: []byte(raw)},
		Hints: a.Hints(annotary.FromOperator, "test"),
	}
}

// catalogue is small but has what goes wrong elsewhere: names that share words,
// names in three spellings, prefixes that all tools of a server have.
func catalogue() []annotary.Entry {
	return []annotary.Entry{
		tool("hub", "merge_pull_request", "Merge a pull request into its base branch.", "d"),
		tool("hub", "create_pull_request", "Open a pull request.", "w"),
		tool("hub", "list_pull_requests", "List pull requests of a repository.", "r"),
		tool("hub", "get_pull_request_files", "Files changed in a pull request.", "r"),
		tool("hub", "delete_branch", "Delete a branch.", "d"),
		tool("bucket", "mergePullRequest", "Merge.", "d"),
		tool("bucket", "getPullRequest", "One pull request.", "r"),
		tool("plan", "plan_create_issue", "Create an issue.", "w"),
		tool("plan", "plan_delete_issue", "Delete an issue for good.", "d"),
		tool("plan", "plan_list_issues", "List issues, newest first.", "r"),
		tool("maps", "maps_weather", "查询一个城市的天气", "r"),
		tool("notes", "append-note", "Append a line to a note.", "w"),
		tool("notes", "search-notes", "Search all notes.", "r"),
		tool("notes", "delete-note", "Delete a note.", "d"),
	}
}

func names(hits []find.Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, h.Tool.Name)
	}
	return all
}

func TestSearch(t *testing.T) {
	x := find.New(catalogue())
	for _, tt := range []struct {
		name string
		q    find.Query
		want []string // the first hits
	}{
		{"both-spellings-first", find.Query{Text: "merge pull request"}, []string{"merge_pull_request", "mergePullRequest"}},
		{"exact", find.Query{Text: "merge_pull_request"}, []string{"merge_pull_request", "mergePullRequest"}},
		{"exact-with-server", find.Query{Text: "bucket/mergePullRequest"}, []string{"mergePullRequest"}},
		{"exact-in-a-sentence", find.Query{Text: "please call `plan_delete_issue` now"}, []string{"plan_delete_issue"}},
		{"leaf", find.Query{Text: "create issue"}, []string{"plan_create_issue"}},
		{"written-together", find.Query{Text: "merge the pullrequest"}, []string{"mergePullRequest", "merge_pull_request"}},
		{"short-form", find.Query{Text: "merge a PR"}, []string{"mergePullRequest", "merge_pull_request"}},
		{"plural-and-synonym", find.Query{Text: "remove notes"}, []string{"delete-note"}},
		{"verb-form", find.Query{Text: "searching my notes"}, []string{"search-notes"}},
		{"read-only", find.Query{Text: "issue", ReadOnly: true}, []string{"plan_list_issues"}},
		{"chinese", find.Query{Text: "查询天气"}, []string{"maps_weather"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := names(x.Search(tt.q).Hits)
			if len(got) < len(tt.want) || !slices.Equal(got[:len(tt.want)], tt.want) {
				t.Errorf("got %q, want first %q", got, tt.want)
			}
		})
	}
}

// TestSearch_Nothing: what is not there is not found, though some words are.
func TestSearch_Nothing(t *testing.T) {
	for _, size := range []int{3, 14} {
		x := find.New(catalogue()[:size])
		for _, text := range []string{"send gmail email", "train to Berlin", "create a spreadsheet", "zzz", "the", "?", "列出"} {
			for _, list := range []bool{false, true} {
				if list && size < find.SmallList {
					continue
				}
				if got := names(x.Search(find.Query{Text: text, List: list}).Hits); len(got) > 0 {
					t.Errorf("%q in %d tools: %q", text, size, got)
				}
			}
		}
	}
}

// TestSearch_Subject: in a small catalogue its subject is in every tool, and
// still is what people ask by.
func TestSearch_Subject(t *testing.T) {
	x := find.New(catalogue()[11:])
	if got := names(x.Search(find.Query{Text: "save a note"}).Hits); len(got) != 3 {
		t.Errorf("got %q, want all three", got)
	}
}

func TestSearch_List(t *testing.T) {
	small, large := catalogue(), catalogue()
	for i := range find.SmallList {
		large = append(large, tool("filler", fmt.Sprintf("filler_%c", 'a'+i), "Fills.", "r"))
	}
	got := names(find.New(small).Search(find.Query{Text: "delete a note", List: true}).Hits)
	if len(got) != len(small) || got[0] != "delete-note" {
		t.Errorf("a small list: %q", got)
	}
	got = names(find.New(large).Search(find.Query{Text: "delete a note", List: true}).Hits)
	if len(got) >= len(small) || got[0] != "delete-note" {
		t.Errorf("a large list: %q", got)
	}
	if got := find.New(small).Search(find.Query{Text: "delete a note", List: true}).Hits; got[0].Match == find.NoMatch || got[len(got)-1].Match != find.NoMatch {
		t.Errorf("a small list has matches %v first and %v last", got[0].Match, got[len(got)-1].Match)
	}
	some := func(e *annotary.Entry) bool { return e.Server != "filler" }
	got = names(find.New(large).Search(find.Query{Text: "delete a note", List: true, See: some}).Hits)
	if len(got) != len(small) || got[0] != "delete-note" {
		t.Errorf("a large list of which few are seen: %q", got)
	}
	got = names(find.New(large).Search(find.Query{}).Hits)
	if len(got) != len(large) {
		t.Errorf("no question: %d of %d tools", len(got), len(large))
	}
	if last := got[len(got)-1]; last != "plan_delete_issue" {
		t.Errorf("without a question the harmless come first; last is %s", last)
	}
}

// TestSearch_Precedence: policy beats all; who was named, or is always active,
// beats filters and maximum.
func TestSearch_Precedence(t *testing.T) {
	x := find.New(catalogue())
	a := x.Search(find.Query{
		Text: "issue", ReadOnly: true, Max: 2,
		Named: []string{"plan_delete_issue", "merge_pull_request", "nowhere"}, AlwaysActive: []string{"notes/append-note", "delete_branch"},
		See: func(e *annotary.Entry) bool { return e.Name != "merge_pull_request" },
	})
	got := map[string]find.Kept{}
	for _, h := range a.Hits {
		got[h.Tool.Name] = h.Kept
	}
	want := map[string]find.Kept{"plan_delete_issue": find.KeptNamed, "append-note": find.KeptActive, "delete_branch": find.KeptActive}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"merge_pull_request", "nowhere"}, a.Unknown); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func TestSearch_Hidden(t *testing.T) {
	x := find.New(catalogue())
	a := x.Search(find.Query{
		Text: "pull request", ExcludeDestructive: true, Max: 1,
		See: func(e *annotary.Entry) bool { return e.Name != "create_pull_request" },
	})
	got := map[find.Filter]string{}
	for _, h := range a.Hidden {
		got[h.Filter] = fmt.Sprint(h.Count, h.Names)
		if h.Why == "" {
			t.Errorf("%s does not say why", h.Filter)
		}
	}
	want := map[find.Filter]string{
		find.FilterPolicy:      "1 []",
		find.FilterDestructive: "2 [hub/merge_pull_request bucket/mergePullRequest]",
		find.FilterMax:         "2 [hub/list_pull_requests hub/get_pull_request_files]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
}

func TestSearch_Budget(t *testing.T) {
	x := find.New(catalogue())
	for budget := 10; budget < 400; budget += 7 {
		used := 0
		a := x.Search(find.Query{Text: "pull request", Budget: budget, AlwaysActive: []string{"append-note"}})
		for _, h := range a.Hits {
			used += annotary.Tokens(len(h.Tool.Raw))
		}
		if used > budget && len(a.Hits) > 1 {
			t.Errorf("budget %d: %d tokens in %d tools", budget, used, len(a.Hits))
		}
	}
}

// TestSearch_FiltersFirst is the property that a filter never costs a place:
// filtering and then cutting gives the same as filtering the whole answer.
func TestSearch_FiltersFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	words := strings.Fields("merge pull request issue note delete create list branch files search plan")
	x := find.New(catalogue())
	for range 500 {
		var text []string
		for range 1 + rng.IntN(4) {
			text = append(text, words[rng.IntN(len(words))])
		}
		q := find.Query{Text: strings.Join(text, " "), ReadOnly: rng.IntN(2) == 0, ExcludeDestructive: rng.IntN(2) == 0}
		var want []string
		for _, h := range x.Search(find.Query{Text: q.Text}).Hits {
			if (!q.ReadOnly || h.Tool.Hints.Is(annotary.ReadOnly)) && (!q.ExcludeDestructive || h.Tool.Hints.Class() != annotary.Destroy) {
				want = append(want, h.Tool.Name)
			}
		}
		q.Max = 1 + rng.IntN(4)
		got := names(x.Search(q).Hits)
		if diff := cmp.Diff(want[:min(len(want), q.Max)], got); diff != "" && len(got)+len(want) > 0 {
			t.Fatalf("%+v (-want +got):\n%s", q, diff)
		}
	}
}

// TestNew_Order: the order of the catalogue does not show.
func TestNew_Order(t *testing.T) {
	tools := catalogue()
	rng := rand.New(rand.NewPCG(1, 9))
	want := find.New(slices.Clone(tools)).Search(find.Query{Text: "delete the issue"})
	for range 20 {
		rng.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		got := find.New(tools).Search(find.Query{Text: "delete the issue"})
		if diff := cmp.Diff(names(want.Hits), names(got.Hits)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string]string{
		"mergePullRequest":            "merge pull request",
		"merge_pull_request":          "merge pull request",
		"merge-pull-request":          "merge pull request",
		"HTTPServer":                  "http server",
		"getURLs":                     "get urls",
		"TwilioApiV2010--ListAccount": "twilio api v2010 list account",
		"s3.list.buckets":             "s3 list buckets",
		"the user's e-mail":           "the user e mail",
		"don't":                       "don",
		"":                            "",
		"日本語のツール":                     "日本 本語 語の のツ ツー ール",
		"路":                           "路",
	} {
		if got := strings.Join(find.Split(in), " "); got != want {
			t.Errorf("split %q = %q, want %q", in, got, want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, same := range []string{
		"delete deletes deleting deleted", "query queries querying", "search searches searching", "run running runs",
		"create creating creation", "translate translation translating", "deploy deployment deploying deployed", "box boxes",
		"issue issues", "file files", "access", "status", "bus", "message messages messaging",
	} {
		words := strings.Fields(same)
		for _, w := range words[1:] {
			if find.Stem(w) != find.Stem(words[0]) {
				t.Errorf("stem %q = %q, stem %q = %q", w, find.Stem(w), words[0], find.Stem(words[0]))
			}
		}
	}
	for _, different := range [][2]string{{"station", "stats"}, {"user", "use"}, {"string", "str"}, {"red", "r"}, {"document", "docu"}, {"news", "new"}} {
		if a, b := find.Stem(different[0]), find.Stem(different[1]); a == b {
			t.Errorf("%v share the stem %q", different, a)
		}
	}
}

// FuzzSearch: no question and no definition brings the search down, and every
// answer keeps the promises of filters and limits.
func FuzzSearch(f *testing.F) {
	f.Add("merge a PR", "merge_pull_request", "Merge.", `{"properties":{"x":{}}}`, 3)
	f.Add("'’__ ''s", "a__b/c.d:", "x. y", `{"properties":[]}`, 0)
	f.Add(strings.Repeat("one two ", 40), strings.Repeat("aB", 300), "\xff. \x00", `{`, -1)
	f.Fuzz(func(t *testing.T, question, name, description, schema string, limit int) {
		tools := append(catalogue(), annotary.Entry{
			Tool:  annotary.Tool{Server: "s", Name: name, Description: description, Input: []byte(schema)},
			Hints: annotary.Pessimistic(),
		})
		x := find.New(tools)
		a := x.Search(find.Query{Text: question, ExcludeDestructive: true, Max: limit, Named: []string{name}})
		for _, h := range a.Hits {
			if h.Kept == "" && h.Tool.Hints.Class() == annotary.Destroy {
				t.Fatalf("a destructive tool passed: %s", h.Tool.Name)
			}
		}
		if limit > 0 && len(a.Hits) > max(limit, len(tools)-len(catalogue())+1) {
			t.Fatalf("%d hits for a maximum of %d", len(a.Hits), limit)
		}
		if hits := x.Search(find.Query{Text: name}).Hits; name != "" && (len(hits) == 0 || hits[0].Tool.Name != name) {
			t.Fatalf("%q is not found under its own name: %q", name, names(hits))
		}
	})
}
