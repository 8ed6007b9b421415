package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/annotary/annotary/internal/approval"
)

// asking says how much asking costs, in the text format of Prometheus: what was
// asked in the last week, by rule and by tool.
func (s *server) asking(ctx context.Context, gauge func(name, help string, samples ...string)) error {
	desk := s.Gateway.Desk()
	if desk == nil {
		return nil
	}
	all, err := desk.List(ctx, true)
	if err != nil {
		return err
	}
	now := time.Now()
	stats := approval.Tallies(all, nil, now.Add(-statsSince), now)
	for _, m := range []struct {
		name, help string
		of         func(*approval.Tally) float64
	}{
		{"approvals_asked", "Questions to people in the last seven days.", func(t *approval.Tally) float64 { return float64(t.Asked) }},
		{"approvals_asked_again", "Of these, how many had been answered yes before.", func(t *approval.Tally) float64 { return float64(t.Again) }},
		{"approvals_approved", "How many were answered yes.", func(t *approval.Tally) float64 { return float64(t.Approved) }},
		{"approvals_denied", "How many were answered no.", func(t *approval.Tally) float64 { return float64(t.Denied) }},
		{"approvals_unanswered", "How many nobody answered in time.", func(t *approval.Tally) float64 { return float64(t.Unanswered) }},
		{"approvals_answer_seconds", "How long half of the answers took at most.", func(t *approval.Tally) float64 { return t.Median.Seconds() }},
	} {
		var samples []string
		for i := range stats.Rules {
			samples = append(samples, fmt.Sprintf("{rule=%s} %g", label(stats.Rules[i].Rule), m.of(&stats.Rules[i])))
		}
		for i := range stats.Tools {
			t := &stats.Tools[i]
			samples = append(samples, fmt.Sprintf("{server=%s,tool=%s} %g", label(t.Server), label(t.Tool), m.of(t)))
		}
		gauge(m.name, m.help, samples...)
	}
	return nil
}

// label quotes a name, which a stranger may have given, as the format wants it.
func label(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(name, "�")) + `"`
}
