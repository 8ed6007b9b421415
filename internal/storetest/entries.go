package storetest

import (
	"context"
	"testing"

	"github.com/annotary/annotary/audit"
)

// Entries returns what is in a log of calls.
func Entries(t *testing.T, l Log) []audit.Entry {
	t.Helper()
	var out []audit.Entry
	err := l.Read(context.WithoutCancel(t.Context()), 0, func(_ uint64, lines [][]byte) error {
		for _, line := range lines {
			e, err := audit.Decode(line)
			if err != nil {
				return err
			}
			out = append(out, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
