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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/annotary/annotary/audit"
	"github.com/annotary/annotary/internal/rpc"
)

// A Witness sees every checkpoint, outside the store: whoever rewrites the store
// must rewrite the witness too.
type Witness interface {
	// Last returns the newest checkpoint it saw; nil if it cannot tell.
	Last() ([]byte, error)
	// Put shows it a checkpoint.
	Put(signed []byte) error
	// End has it see what it was shown and has not seen yet, within the context.
	// Nothing is put after it.
	End(ctx context.Context) error
}

// A File is a witness that appends checkpoints to a file. It may be moved away
// at any time; then a new one begins. Once it is large, every second one of the
// older half is left out, each time: the first, the newest and those around them
// stay, and what speaks for the time between becomes coarser.
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

// Put appends a checkpoint, after the last whole one. To a file that can only be
// appended to, that is all it does.
func (f File) Put(signed []byte) error {
	file, err := os.OpenFile(string(f), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text, start, err := f.tail(file)
	size := start + int64(len(wholeNotes(text)))
	if err == nil && size < start+int64(len(text)) {
		err = file.Truncate(size)
	}
	whole := slices.Concat(bytes.TrimRight(signed, "\n"), []byte("\n\n"))
	if err == nil {
		_, err = file.Write(whole)
	}
	err = errors.Join(err, file.Sync(), file.Close())
	if grown := size + int64(len(whole)); err == nil && grown > maxFile && grown/thinEvery > size/thinEvery {
		err = f.thin()
	}
	return err
}

// End has nothing to do: what was put is there.
func (File) End(context.Context) error { return nil }

const (
	// maxFile is how large a file of checkpoints grows: 20,000 of them.
	maxFile = 4 << 20
	// thinEvery is after how many bytes more it is tried again to make a file
	// smaller that cannot be replaced.
	thinEvery = 1 << 20
)

// thin leaves out every second checkpoint of the older half.
func (f File) thin() error {
	path, err := filepath.EvalSymlinks(string(f))
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kept strings.Builder
	notes := audit.SplitNotes(text)
	for i, n := range notes {
		if i >= len(notes)/2 || i%2 == 0 {
			kept.Write(n)
			kept.WriteByte('\n')
		}
	}
	if err := writeWhole(path, kept.String(), info.Mode().Perm()); err != nil {
		return fmt.Errorf("the file of checkpoints grows, and cannot be made smaller: %w", err)
	}
	return nil
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
	under   *sending // way; nil if nothing is
	failed  error    // of the last attempt; nil if it was seen
}

// sending is what goes on in the background until nothing waits.
type sending struct {
	done  chan struct{} // closed when it does not any more
	hurry chan struct{} // closed when there is time for one more attempt only
	stop  context.CancelFunc
}

// Last cannot tell: the other end keeps what it was sent.
func (*Webhook) Last() ([]byte, error) { return nil, nil }

// Put sends a checkpoint soon, and returns what became of the one before.
func (w *Webhook) Put(signed []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = signed
	if w.under == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.under = &sending{make(chan struct{}), make(chan struct{}), stop}
		go w.send(ctx, w.under)
	}
	return w.failed
}

// End waits for what is sent, and has what failed tried once more.
func (w *Webhook) End(ctx context.Context) error {
	w.mu.Lock()
	under := w.under
	w.mu.Unlock()
	if under != nil {
		close(under.hurry)
		defer context.AfterFunc(ctx, under.stop)()
		<-under.done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// send sends what waits until nothing does. What failed is sent again, unless
// something newer came.
func (w *Webhook) send(ctx context.Context, s *sending) {
	defer close(s.done)
	defer s.stop()
	for last := false; ; {
		signed := w.next()
		if signed == nil {
			return
		}
		err := w.post(ctx, signed)
		if w.note(signed, err); err == nil {
			continue
		}
		if last {
			return
		}
		select {
		case <-s.hurry:
			last = true
		case <-time.After(webhookPause):
		}
	}
}

// next takes what waits; nil if nothing does, and then nothing is sent any more.
func (w *Webhook) next() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	signed := w.waiting
	if w.waiting = nil; signed == nil {
		w.under = nil
	}
	return signed
}

// note keeps what became of an attempt. What failed waits again.
func (w *Webhook) note(signed []byte, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed = nil; err == nil {
		return
	}
	w.failed = fmt.Errorf("the webhook for checkpoints: %w", err)
	if w.waiting == nil {
		w.waiting = signed
	}
}

const (
	webhookPause   = 2 * time.Second
	webhookTimeout = 10 * time.Second
)

// direct is a client that is not sent on elsewhere: what answers there has not
// seen what was posted.
var direct = &http.Client{
	Timeout:       webhookTimeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (w *Webhook) post(ctx context.Context, signed []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(signed))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res, err := direct.Do(req)
	if err != nil {
		return rpc.Unnamed(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("it answered %s", res.Status)
	}
	return nil
}
