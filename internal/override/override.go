// Package override keeps the operator's word about tools where several gateways
// share it: what the hints of a tool are, and which servers are believed.
//
// A gateway that stands alone has its word in its configuration only. In a fleet
// the configuration is read-only to everybody but who deploys it, so words that
// are given while it runs are kept in the store, beside it. Where both speak,
// the configuration wins: [Word] says nothing of files.
package override

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/record"
)

// A Word is what the operator says of one tool, or of a server.
type Word struct {
	Server string `json:"server"`
	// Tool is a name; empty for a word about the server itself.
	Tool string `json:"tool,omitempty"`
	// Hints are what is said of the tool. A hint that is left out is not
	// spoken of.
	Hints map[string]bool `json:"hints,omitempty"`
	// Believe says whether the server is taken at its word.
	Believe *bool `json:"believe,omitempty"`
	// Reason is shown to whoever asks why.
	Reason string `json:"reason,omitempty"`
	// By and At are who said it, and when.
	By string    `json:"by"`
	At time.Time `json:"at"`
	// Withdrawn says that it no longer holds.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// Key is where the word is kept.
func (w Word) Key() string {
	if w.Tool == "" {
		return "believe/" + w.Server
	}
	return "override/" + w.Server + "/" + w.Tool
}

// Position says where it is written, as of a word in a file.
func (w *Word) Position() annotary.Position {
	return annotary.Position{File: "state store, by " + w.By + " on " + w.At.UTC().Format("2006-01-02 15:04Z")}
}

// Check refuses what says nothing, or something that has no meaning.
func (w *Word) Check() error {
	bad := func(why string) error { return annotary.E(annotary.CodeInvalid, why, nil) }
	switch {
	case w.Server == "":
		return bad("a word names its server")
	case w.Withdrawn:
		return nil
	case w.Tool == "" && (w.Believe == nil || len(w.Hints) > 0):
		return bad("a word about a server says whether it is believed, and nothing of hints")
	case w.Tool != "" && (w.Believe != nil || len(w.Hints) == 0):
		return bad("a word about a tool says something of its hints, and nothing else")
	}
	for name := range w.Hints {
		if _, ok := annotary.ParseHintName(name); !ok {
			return bad("there is no hint " + name)
		}
	}
	return nil
}

// A Store keeps the words, and a copy of them here.
type Store struct {
	table record.Table[Word]
	copy  *record.Copy[Word]
}

// New makes a store on a bucket. Changed is called when words have changed; it
// must not block.
func New(b record.Watched, changed func()) *Store {
	return &Store{
		table: record.Table[Word]{Bucket: b},
		copy:  record.NewCopy(record.CopyOptions[Word]{Bucket: b, Key: Word.Key, Changed: changed}),
	}
}

// Run keeps the copy until the context ends.
func (s *Store) Run(ctx context.Context) { s.copy.Run(ctx) }

// Ready is closed once the words that were there are known.
func (s *Store) Ready() <-chan struct{} { return s.copy.Ready() }

// Lost reports whether words may have changed without this gateway knowing.
func (s *Store) Lost() bool { return s.copy.Lost() }

// Say writes words down, each in place of the one before. What it returns
// without an error is durable; every gateway learns of it.
func (s *Store) Say(ctx context.Context, words ...Word) error {
	for i := range words {
		if err := words[i].Check(); err != nil {
			return err
		}
	}
	for _, w := range words {
		_, err := s.table.Merge(ctx, w.Key(), func(h record.Held[Word]) (Word, error) {
			if w.Withdrawn && h.Revision == 0 {
				return w, record.ErrUnchanged
			}
			return w, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Words are those that hold, by server and tool.
func (s *Store) Words() []Word {
	var words []Word
	for h := range maps.Values(s.copy.All()) {
		if !h.Value.Withdrawn && h.Value.Check() == nil {
			words = append(words, h.Value)
		}
	}
	slices.SortFunc(words, func(a, b Word) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return words
}
