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
	file, err := os.Open(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, _, err := f.tail(file)
	if err != nil {
		return nil, err
	}
	notes := audit.SplitNotes(wholeNotes(text))
	if len(notes) == 0 {
		return nil, nil
	}
	return notes[len(notes)-1], nil
}

// wholeNotes cuts off what a crash left half written. Each note ends with a
// signature and an empty line.
func wholeNotes(text []byte) []byte {
	end, at, signed := 0, 0, false
	for line := range bytes.Lines(text) {
		at += len(line)
		if signed && string(line) == "\n" {
			end = at
		}
		signed = bytes.HasPrefix(line, []byte("\u2014 ")) && bytes.HasSuffix(line, []byte("\n"))
	}
	return text[:end]
}

// Put appends a checkpoint, after the last whole one.
func (f File) Put(signed []byte) error {
	file, err := os.OpenFile(string(f), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	text, start, err := f.tail(file)
	if err == nil {
		err = file.Truncate(start + int64(len(wholeNotes(text))))
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekEnd)
	}
	if err == nil {
		_, err = file.Write(append(bytes.TrimRight(signed, "\n"), "\n\n"...))
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// tail reads the end of the file, which holds the last whole note if there is
// one, and says where it begins.
func (f File) tail(file *os.File) (text []byte, start int64, err error) {
	const much = 8 << 10
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	start = max(0, info.Size()-much)
	text, err = io.ReadAll(io.NewSectionReader(file, start, much))
	if err == nil && start > 0 && len(wholeNotes(text)) == 0 {
		return nil, 0, fmt.Errorf("%s does not end with checkpoints", f)
	}
	return text, start, err
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
