package notary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/annotary/annotary/audit"
)

// A Witness sees every checkpoint, outside the store: whoever rewrites the store
// must rewrite the witness too.
type Witness interface {
	// Last returns the newest checkpoint it saw; nil if it cannot tell.
	Last() ([]byte, error)
	// Put shows it a checkpoint.
	Put(signed []byte) error
}

// A File is a witness that appends checkpoints to a file. It may be moved away
// at any time; then a new one begins.
type File string

// Last returns the newest checkpoint in the file.
func (f File) Last() ([]byte, error) {
	const tail = 8 << 10
	file, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tail), tail))
	if err != nil {
		return nil, err
	}
	notes := audit.SplitNotes(wholeNotes(text))
	if len(notes) == 0 {
		return nil, nil
	}
	return notes[len(notes)-1], nil
}

// wholeNotes cuts off what a crash left half written. Each note ends with an
// empty line.
func wholeNotes(text []byte) []byte {
	return text[:bytes.LastIndex(text, []byte("\n\n"))+1]
}

// Put appends a checkpoint.
func (f File) Put(signed []byte) error {
	file, err := os.OpenFile(string(f), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(bytes.TrimRight(signed, "\n"), "\n\n"...))
	return errors.Join(err, file.Sync(), file.Close())
}

// A Webhook is a witness that is sent each checkpoint by HTTP POST. While it
// does not answer, only the newest waits for it.
type Webhook struct {
	URL string

	mu      sync.Mutex
	waiting []byte
	busy    bool
	failed  error // of the last attempt
}

// Last cannot tell: the other end keeps what it was sent.
func (*Webhook) Last() ([]byte, error) { return nil, nil }

// Put sends a checkpoint soon, and returns what became of an earlier one.
func (w *Webhook) Put(signed []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = signed
	if !w.busy {
		w.busy = true
		go w.send()
	}
	failed := w.failed
	w.failed = nil
	return failed
}

// send sends what waits until nothing does. What failed is sent again, unless
// something newer came.
func (w *Webhook) send() {
	for {
		w.mu.Lock()
		signed := w.waiting
		w.waiting = nil
		if signed == nil {
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if err := w.post(signed); err != nil {
			w.mu.Lock()
			w.failed = fmt.Errorf("the webhook for checkpoints: %w", err)
			if w.waiting == nil {
				w.waiting = signed
			}
			w.mu.Unlock()
			time.Sleep(webhookPause)
		}
	}
}

const (
	webhookPause   = 2 * time.Second
	webhookTimeout = 10 * time.Second
)

func (w *Webhook) post(signed []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), webhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(signed))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answered %s", res.Status)
	}
	return nil
}
