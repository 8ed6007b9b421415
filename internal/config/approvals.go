package config

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// Approvals say how people are asked about calls.
type Approvals struct {
	// Open is how long a question may be answered, and a yes for once be used
	// after it. At most 24h.
	Open Duration `yaml:"open" default:"1h"`
	// Wait is how long a call may be held for a person, where its client can be
	// asked in no other way. Many clients give up after a minute. No question is
	// lost by it: it stays open, and the call can be made again.
	Wait Duration `yaml:"wait" default:"55s"`
	// Max is how many questions about one caller's calls may be open at a time.
	// What would ask one more is refused as too_many_questions.
	Max int `yaml:"max" default:"100"`
}

const maxOpen = Duration(24 * time.Hour)

func (d *decoder) checkApprovals(a *Approvals, root *yaml.Node) {
	if a.Open > maxOpen {
		d.at(root, []string{"approvals", "open"}, "write 24h or less", "approvals.open is longer than a day")
	}
	if a.Max < 1 {
		d.at(root, []string{"approvals", "max"}, "write 1 or more; rules that say deny ask nobody", "approvals.max lets nobody be asked")
	}
}
