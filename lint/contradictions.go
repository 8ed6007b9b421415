package lint

import (
	"fmt"

	"github.com/annotary/annotary"
)

// How sure a derived claim must be to raise a doubt. Below it there is no
// evidence worth an author's time. For destruction less will do: what cannot be
// taken back is worth a second look.
const (
	doubtConfidence       = 0.85
	destructiveConfidence = 0.7
)

// contradictionRules compare what a tool says with itself, and with what its
// definition shows. A contradiction is an accusation, so it needs the
// confidence at which a derived claim may overrule a declared one.
var contradictionRules = []Rule{
	{
		ID: "contradiction-pair", Severity: always(Error), Fixable: true,
		Demand: "A tool that changes nothing destroys nothing; clients resolve the pair in four different ways.",
		tool:   contradictionPair,
	},
	{
		ID: "contradiction-read-only", Severity: always(Error), Fixable: true,
		Demand: "A tool that writes does not say it is read-only, however small the write.",
		tool:   contradiction(annotary.ReadOnly),
	},
	{
		ID: "contradiction-destructive", Severity: always(Error), Fixable: true,
		Demand: "A tool that deletes, cancels, overwrites, charges, sends, buys or cannot be undone says so.",
		tool:   contradiction(annotary.Destructive),
	},
	{
		ID: "doubtful-read-only", Severity: at(Warning, Warning, Warning, Error),
		Demand: "A read-only tool looks like one.",
		Vendor: map[Profile]string{
			OpenAI: "OpenAI's submission help counts a tool that sends, runs a job, enqueues, writes a log or starts a workflow as not read-only",
		},
		tool: doubt(annotary.ReadOnly, doubtConfidence),
	},
	{
		ID: "doubtful-destructive", Severity: at(Warning, Warning, Warning, Error),
		Demand: "A tool that deletes, cancels, overwrites, charges, sends, buys or cannot be undone says so.",
		Vendor: map[Profile]string{
			OpenAI: "OpenAI's submission help wants destructiveHint true for what cannot be undone, even if only in some modes or by a default parameter",
		},
		tool: doubt(annotary.Destructive, destructiveConfidence),
	},
	{
		ID: "doubtful-open-world", Severity: at(Note, Off, Warning, Warning),
		Demand: "A tool that reaches outside its own backend says so.",
		tool:   doubt(annotary.OpenWorld, doubtConfidence),
	},
	{
		ID: "doubtful-idempotent", Severity: at(Note, Note, Note, Warning),
		Demand: "A tool says it is idempotent only if calling it twice changes no more than calling it once.",
		tool:   doubt(annotary.Idempotent, doubtConfidence),
	},
	{
		ID: "needless-caution", Severity: at(Note, Note, Note, Warning),
		Demand: "A tool that only reads says so; otherwise clients ask before every call, or do not offer it.",
		tool:   needlessCaution,
	},
	{
		ID: "modify-not-destructive", Severity: at(Off, Warning, Off, Off), Fixable: true,
		Demand: "Anthropic's guide for local servers wants destructiveHint true on every tool that modifies: creates, updates, deletes, sends, writes a file.",
		tool:   modifyNotDestructive,
	},
}

func contradictionPair(p *pass) []Finding {
	if p.Stated[annotary.ReadOnly] != annotary.StatedTrue || p.Stated[annotary.Destructive] != annotary.StatedTrue {
		return nil
	}
	return one(Finding{
		At: "/annotations", Message: "says it is both read-only and destructive",
		Evidence: "readOnlyHint: true, destructiveHint: true", Fix: "set one of them to false",
	})
}

// saysSafe reports whether the tool states the safe value of the hint.
func (p *pass) saysSafe(n annotary.HintName) bool { return p.Stated[n].Value() == n.Safe() }

// against returns how sure the definition speaks against the safe value.
func (p *pass) against(n annotary.HintName) float64 {
	if c := p.claims[n]; c.Value == n.Dangerous() {
		return c.Confidence
	}
	return 0
}

// contradicted reports whether the definition surely speaks against what the
// tool says.
func (p *pass) contradicted(n annotary.HintName) bool {
	return p.saysSafe(n) && p.against(n) >= annotary.ContradictionConfidence
}

// moot reports whether another finding or the hint's own meaning makes a
// finding on n pointless: what a read-only tool destroys or repeats is a
// question about its being read-only.
func (p *pass) moot(n annotary.HintName) bool {
	return (n == annotary.Destructive || n == annotary.Idempotent) && p.Stated[annotary.ReadOnly] == annotary.StatedTrue
}

func contradiction(n annotary.HintName) func(*pass) []Finding {
	return func(p *pass) []Finding {
		if !p.contradicted(n) || p.moot(n) {
			return nil
		}
		return one(p.disagreement(n, "says %s: %s, but it is not so"))
	}
}

func doubt(n annotary.HintName, from float64) func(*pass) []Finding {
	return func(p *pass) []Finding {
		sure := p.against(n)
		if !p.saysSafe(n) || p.moot(n) || sure < from || sure >= annotary.ContradictionConfidence {
			return nil
		}
		f := p.disagreement(n, "says %s: %s, which is doubtful")
		f.Fix = "look again; if the evidence is right, " + f.Fix
		return one(f)
	}
}

// disagreement makes the finding that the definition speaks against a hint.
func (p *pass) disagreement(n annotary.HintName, form string) Finding {
	c := p.claims[n]
	return Finding{
		At:       "/annotations/" + n.Wire(),
		Message:  fmt.Sprintf(form, n.Wire(), p.Stated[n]),
		Evidence: fmt.Sprintf("%s (confidence %.2f)", c.Why, c.Confidence),
		Fix:      fmt.Sprintf("set %s to %s", n.Wire(), n.Dangerous()),
	}
}

// needlessCaution speaks up where a tool declares itself a writer and the
// definition surely shows a reader.
func needlessCaution(p *pass) []Finding {
	c := p.claims[annotary.ReadOnly]
	if p.Stated[annotary.ReadOnly] != annotary.StatedFalse || c.Value != annotary.Yes || c.Confidence < doubtConfidence {
		return nil
	}
	return one(Finding{
		At: "/annotations/readOnlyHint", Message: "says readOnlyHint: false, yet seems to read only",
		Evidence: fmt.Sprintf("%s (confidence %.2f)", c.Why, c.Confidence),
		Fix:      "if it changes nothing, set readOnlyHint to true",
	})
}

func modifyNotDestructive(p *pass) []Finding {
	if p.Stated[annotary.ReadOnly] == annotary.StatedTrue || p.Stated[annotary.Destructive] != annotary.StatedFalse {
		return nil
	}
	return one(Finding{
		At: "/annotations/destructiveHint", Message: "is not read-only, yet says destructiveHint: false",
		Evidence: "readOnlyHint: " + p.Stated[annotary.ReadOnly].String() + ", destructiveHint: false",
		Fix:      "for this directory, set destructiveHint to true",
	})
}
