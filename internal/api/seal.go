package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/notary"
)

// AuditHealth is how the log of a gateway is doing.
type AuditHealth struct {
	Sealed   int64      `json:"sealed"`             // how many entries the newest checkpoint covers
	SealedAt *time.Time `json:"sealedAt,omitempty"` // when it was made
	// Alarm says why sealing has stopped for good.
	Alarm   string `json:"alarm,omitempty"`
	Problem string `json:"problem,omitempty"` // why it fails for now
	// Spooled counts entries that wait on the local disk for the store.
	Spooled int            `json:"spooled"`
	Exports []ExportHealth `json:"exports"`
}

// ExportHealth is how an export is doing.
type ExportHealth struct {
	Name    string `json:"name"`
	Behind  uint64 `json:"behind"` // packs of the log it does not have yet
	Problem string `json:"problem,omitempty"`
}

// A Checkpoint is what speaks for the log of a gateway.
type Checkpoint struct {
	Checkpoint string `json:"checkpoint"` // the signed note; empty before the first
	Size       int64  `json:"size"`
	First      int64  `json:"first"` // the index of the first entry that is still there
	// Alarm says why sealing has stopped for good.
	Alarm string `json:"alarm,omitempty"`
}

// A Proof is an entry with what shows that it is in the log.
type Proof struct {
	audit.Proof
	Checkpoint string `json:"checkpoint"` // the signed note
	// Entry is the line; empty if the log no longer has it.
	Entry string `json:"entry"`
}

// sealer is who seals the log.
func (s *server) sealer() (*notary.Sealer, error) {
	if s.Sealer != nil {
		if sealer := s.Sealer(); sealer != nil {
			return sealer, nil
		}
	}
	return nil, errNoLog()
}

// checkpoint seals what is there and returns the checkpoint over it.
func (s *server) checkpoint(w http.ResponseWriter, r *http.Request) error {
	sealer, err := s.sealer()
	if err != nil {
		return err
	}
	alarm := ""
	if err := sealer.Now(r.Context()); sealer.Status().Alarm != nil {
		alarm = err.Error()
	} else if err != nil {
		return err
	}
	newest, err := sealer.Newest(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Checkpoint{string(newest.Checkpoint), newest.Size, newest.First, alarm})
}

// leaves streams the leaf hashes of the tree, from the first on.
func (s *server) leaves(w http.ResponseWriter, r *http.Request) error {
	sealer, err := s.sealer()
	if err != nil {
		return err
	}
	size, err := number(r.URL.Query(), "size")
	if err != nil {
		return err
	}
	newest, err := sealer.Newest(r.Context())
	if err != nil {
		return err
	}
	if size > newest.Size {
		return annotary.E(annotary.CodeInvalid, fmt.Sprintf("only %d entries are sealed", newest.Size), nil)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	out := bufio.NewWriterSize(w, 64<<10)
	wrote := 0
	err = sealer.Leaves(r.Context(), size, func(h audit.Hash) error {
		n, err := out.Write(h[:])
		wrote += n
		return err
	})
	if err != nil && wrote == out.Buffered() { // nothing has gone out yet
		return err
	}
	if err != nil || out.Flush() != nil {
		panic(http.ErrAbortHandler) // a stream cut short must not look whole
	}
	return nil
}

func (s *server) proof(w http.ResponseWriter, r *http.Request) error {
	sealer, err := s.sealer()
	if err != nil {
		return err
	}
	index, err := number(r.URL.Query(), "index")
	if err != nil {
		return err
	}
	p, err := sealer.Prove(r.Context(), index)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Proof{p.Proof, string(p.Checkpoint), string(p.Line)})
}

// number reads a parameter that counts something.
func number(q url.Values, name string) (int64, error) {
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, annotary.E(annotary.CodeInvalid, fmt.Sprintf("%s is no number: %q", name, q.Get(name)), err)
	}
	return n, nil
}

// Checkpoint returns the newest checkpoint of the log.
func (c *Client) Checkpoint(ctx context.Context) (Checkpoint, error) {
	var out Checkpoint
	return out, c.get(ctx, "GET", "/v1/audit/checkpoint", nil, &out)
}

// Proof returns an entry with its proof.
func (c *Client) Proof(ctx context.Context, index int64) (Proof, error) {
	var out Proof
	return out, c.get(ctx, "GET", "/v1/audit/proof?index="+strconv.FormatInt(index, 10), nil, &out)
}

// Leaves returns the hashes of the first entries, 32 bytes each. It must be
// closed.
func (c *Client) Leaves(ctx context.Context, size int64) (io.ReadCloser, error) {
	return c.stream(ctx, "/v1/audit/leaves?size="+strconv.FormatInt(size, 10))
}

// Lines returns all entries of the log as they stand in it, one on a line. It
// must be closed.
func (c *Client) Lines(ctx context.Context) (io.ReadCloser, error) { return c.stream(ctx, "/v1/audit") }

func (c *Client) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	res, err := c.do(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}
