package approval_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// asked is a question about a tool, answered after some seconds; 0 is not.
func asked(i int, tool, args string, yes bool, seconds int, rules ...string) *approval.Approval {
	at := noon.Add(time.Duration(i) * time.Minute)
	a := &approval.Approval{
		ID: fmt.Sprint(i), State: approval.Open, Asked: at, Expires: at.Add(time.Hour),
		About: approval.About{Server: "s", Tool: tool, Arguments: args},
	}
	for _, r := range rules {
		a.Reasons = append(a.Reasons, approval.Reason{Code: annotary.CodeClass, Rule: r})
	}
	if seconds > 0 {
		a.State = approval.Spent
		a.Answer = &approval.Answer{Yes: yes, Scope: approval.Scope{Kind: approval.Once}, At: at.Add(time.Duration(seconds) * time.Second)}
	}
	return a
}

func TestTallies(t *testing.T) {
	all := []*approval.Approval{
		asked(-60, "merge", "1", true, 1, "old"), // before the time asked about, but it makes the next a repetition
		asked(1, "merge", "1", true, 4, "destructive"),
		asked(2, "merge", "2", false, 2, "destructive", "night"),
		asked(3, "merge", "2", true, 9, "destructive"),
		asked(4, "add", "1", true, 0, "write"),
		asked(90, "add", "2", true, 0, "write"),
	}
	all[3].Answer.Scope.Kind = approval.Conversation // what came of it is among the calls
	calls := map[approval.ToolName]int{{Server: "s", Tool: "merge"}: 40, {Server: "s", Tool: "list"}: 56}
	got := approval.Tallies(all, calls, noon, noon.Add(2*time.Hour))
	want := approval.Stats{
		Since: noon,
		All:   approval.Tally{Calls: 100, Asked: 5, Again: 1, Approved: 2, Denied: 1, Unanswered: 1, Open: 1, Median: 4e9, Slow: 9e9},
		Rules: []approval.Tally{
			{Rule: "destructive", Asked: 3, Again: 1, Approved: 2, Denied: 1, Median: 4e9, Slow: 9e9},
			{Rule: "write", Asked: 2, Unanswered: 1, Open: 1},
			{Rule: "night", Asked: 1, Denied: 1, Median: 2e9, Slow: 2e9},
		},
		Tools: []approval.Tally{
			{Server: "s", Tool: "merge", Calls: 42, Asked: 3, Again: 1, Approved: 2, Denied: 1, Median: 4e9, Slow: 9e9},
			{Server: "s", Tool: "add", Calls: 2, Asked: 2, Unanswered: 1, Open: 1},
		},
		Proposals: []approval.Proposal{},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(approval.Tally{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.All.PerHundred() != 5 {
		t.Errorf("%v per hundred, want 5", got.All.PerHundred())
	}
}

// TestTallies_proposal: only a rule that many answers never said no to is proposed.
func TestTallies_proposal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		yes, no int
		rule    string
		want    int
	}{
		{"always", 20, 0, "write", 1},
		{"too few", 19, 0, "write", 0},
		{"one no", 40, 1, "write", 0},
		{"the trifecta", 40, 0, string(annotary.CodeTrifecta), 0},
	} {
		var all []*approval.Approval
		for i := range tt.yes + tt.no {
			all = append(all, asked(i, "t", fmt.Sprint(i), i >= tt.no, 3, tt.rule))
		}
		if got := approval.Tallies(all, nil, noon, noon.Add(time.Hour)).Proposals; len(got) != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// TestBatches: what one conversation asks within five seconds belongs together.
func TestBatches(t *testing.T) {
	at := func(seconds int, conversation, who string) *approval.Approval {
		return &approval.Approval{
			ID: fmt.Sprint(seconds), Asked: noon.Add(time.Duration(seconds) * time.Second),
			Conversation: conversation, Requester: approval.Person{Subject: who},
		}
	}
	all := []*approval.Approval{at(0, "a", "ann"), at(1, "b", "ann"), at(2, "a", "bob"), at(4, "a", "ann"), at(5, "a", "ann"), at(6, "a", "ann"), at(9, "a", "ann")}
	var got [][]string
	for _, batch := range approval.Batches(all) {
		var ids []string
		for _, a := range batch {
			ids = append(ids, a.ID)
		}
		got = append(got, ids)
	}
	want := [][]string{{"0", "4", "5"}, {"1"}, {"2"}, {"6", "9"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
