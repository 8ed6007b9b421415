package api

import (
	"net/http"
)

// backup streams a copy of what the gateway keeps.
func (s *server) backup(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/x-tar")
	out := &begun{ResponseWriter: w}
	if err := s.Backup(r.Context(), out); err != nil {
		if !out.wrote {
			return err
		}
		panic(http.ErrAbortHandler) // a copy cut short must not look whole
	}
	return nil
}

// begun notes whether anything was written.
type begun struct {
	http.ResponseWriter
	wrote bool
}

// Write writes.
func (b *begun) Write(p []byte) (int, error) {
	b.wrote = true
	return b.ResponseWriter.Write(p)
}
