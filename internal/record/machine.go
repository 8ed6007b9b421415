package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/annotary/annotary"
)

// Staged is a record that is in a state.
type Staged[S comparable] interface{ Stage() S }

// A Machine moves records from state to state. Of many who want to move one
// record, each move is made by exactly one; a state from which nothing leads on
// is entered once and for all.
type Machine[S comparable, T Staged[S]] struct {
	Table[T]
	// Next are the states that may follow each.
	Next map[S][]S
}

// Open makes a record that must not exist yet.
func (m *Machine[S, T]) Open(ctx context.Context, key string, value T) (Held[T], error) {
	return m.Put(ctx, key, value, 0)
}

// Move changes a record to its next state. A record that does not exist does
// not move, nor one whose state does not lead there: CodeConflict. An error
// after which nobody knows whether it moved counts as not moved for who asked;
// whoever asks next finds out.
func (m *Machine[S, T]) Move(ctx context.Context, key string, change func(T) (T, error)) (Held[T], error) {
	return m.Merge(ctx, key, func(h Held[T]) (T, error) {
		var none T
		if h.Revision == 0 {
			return none, annotary.E(annotary.CodeConflict, "there is no such record", nil)
		}
		next, err := change(h.Value)
		if err != nil {
			return none, err
		}
		if from, to := h.Value.Stage(), next.Stage(); !slices.Contains(m.Next[from], to) {
			return none, annotary.E(annotary.CodeConflict, fmt.Sprintf("it is %v already", from), nil)
		}
		return next, nil
	})
}
