package jetstream

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary"
)

// The engine makes and takes snapshots over its own subjects, chunk by chunk. A
// snapshot keeps sequences and revisions.
const (
	apiSnapshot = "$JS.API.STREAM.SNAPSHOT."
	apiRestore  = "$JS.API.STREAM.RESTORE."

	// snapshotWindow is how much of a snapshot may be under way.
	snapshotWindow = 1 << 20
	// chunkWithin is how long one chunk may take.
	chunkWithin = 30 * time.Second

	archiveFolder = "state"
	archiveEnd    = "end"
)

// snapshotHead is what the engine says of a snapshot and wants to hear again.
type snapshotHead struct {
	Config map[string]json.RawMessage `json:"config"`
	State  json.RawMessage            `json:"state"`
}

type apiFailure struct {
	Error *struct {
		Description string `json:"description"`
	} `json:"error"`
}

func (f *apiFailure) err() error {
	if f.Error == nil {
		return nil
	}
	return errors.New(f.Error.Description)
}

// Backup writes the buckets, in the order given, and then all logs into an
// archive, while everything goes on. What is written in between may be in what
// comes later and not in what came before: whoever relies on one being ahead of
// another orders them so. Buckets that do not exist are left out.
func (e *Engine) Backup(ctx context.Context, to *tar.Writer, buckets ...string) error {
	there := map[string]bool{}
	var logs []string
	names := e.js.StreamNames(ctx)
	for name := range names.Name() {
		if there[name] = true; strings.HasPrefix(name, logPrefix) {
			logs = append(logs, name)
		}
	}
	if err := names.Err(); err != nil {
		return unavailable("what is kept cannot be listed", err)
	}
	slices.Sort(logs)
	var streams []string
	for _, b := range buckets {
		if there[bucketPrefix+b] {
			streams = append(streams, bucketPrefix+b)
		}
	}
	for _, name := range append(streams, logs...) {
		if err := e.snapshot(ctx, to, name); err != nil {
			return unavailable("state cannot be copied", fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

// snapshot writes one stream.
func (e *Engine) snapshot(ctx context.Context, to *tar.Writer, name string) error {
	inbox := nats.NewInbox()
	sub, err := e.conn.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	var head struct {
		apiFailure
		snapshotHead
	}
	ask := map[string]any{"deliver_subject": inbox, "no_consumers": true, "window_size": snapshotWindow}
	if err := e.ask(ctx, apiSnapshot+name, ask, &head); err != nil {
		return err
	}
	if err := head.err(); err != nil {
		return err
	}
	raw, err := json.Marshal(head.snapshotHead)
	if err != nil {
		return err
	}
	if err := writeEntry(to, path.Join(archiveFolder, name, "head"), raw); err != nil {
		return err
	}
	for n := 1; ; n++ {
		chunk, err := nextChunk(ctx, sub)
		if err != nil {
			return err
		}
		if chunk == nil {
			return writeEntry(to, path.Join(archiveFolder, name, archiveEnd), nil)
		}
		if err := writeEntry(to, path.Join(archiveFolder, name, fmt.Sprintf("%08d", n)), chunk); err != nil {
			return err
		}
	}
}

// nextChunk returns the next chunk of a snapshot, nil after the last.
func nextChunk(ctx context.Context, sub *nats.Subscription) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkWithin)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return nil, err
	}
	if len(msg.Data) == 0 {
		if status := msg.Header.Get("Status"); status != "" && status != "204" {
			return nil, fmt.Errorf("the engine broke off: %s %s", status, msg.Header.Get("Description"))
		}
		return nil, nil
	}
	if msg.Reply != "" {
		err = msg.Respond(nil)
	}
	return msg.Data, err
}

func writeEntry(to *tar.Writer, name string, data []byte) error {
	if err := to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err := to.Write(data)
	return err
}

// ask puts a question to the engine.
func (e *Engine) ask(ctx context.Context, subject string, question, answer any) error {
	raw, err := json.Marshal(question)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, chunkWithin)
	defer cancel()
	msg, err := e.conn.RequestWithContext(ctx, subject, raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(msg.Data, answer)
}

// A Restore puts back what Backup wrote, entry by entry.
//
// While it goes on, the store says so of itself: one that was broken off is not
// taken for whole.
type Restore struct {
	engine *Engine
	mark   *Bucket
	name   string   // the stream under way
	to     string   // where its chunks go
	there  []string // the streams that are put back, or are being
}

// restoring is the bucket that says that a restore goes on, and which streams
// are its own.
const restoring = "restoring"

// Restore begins to put back an archive. There must be nothing yet of what it
// holds; what one left that was broken off is removed.
func (e *Engine) Restore(ctx context.Context) (*Restore, error) {
	mark, made, err := e.Bucket(ctx, restoring, BucketOptions{})
	if err != nil {
		return nil, err
	}
	r := &Restore{engine: e, mark: mark}
	if made {
		return r, nil
	}
	raw, _, err := mark.Get(ctx, restoring)
	if err != nil {
		return nil, err
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &r.there); err != nil {
			return nil, unavailable("what a restore left cannot be read", err)
		}
	}
	return r, errors.Join(r.remove(ctx), e.clear(ctx))
}

// clear removes the files of a stream that was being put back when the process
// with the embedded engine was killed.
func (e *Engine) clear(ctx context.Context) error {
	if !e.Embedded() {
		return nil
	}
	unread, err := e.unread(ctx)
	for _, folder := range unread {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// CheckRestored refuses a store in which a restore was broken off.
func (e *Engine) CheckRestored(ctx context.Context) error {
	ctx, cancel := e.within(ctx)
	defer cancel()
	err := settled(ctx, forming, func() error {
		_, err := e.js.Stream(ctx, bucketPrefix+restoring)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return e.notOpened("state", err)
	}
	return annotary.E(annotary.CodeStore, "a backup was put back here by half, or is being put back", nil).
		WithHint("run 'annotary state restore' with the whole backup again")
}

// Done says that all of the archive is put back.
func (r *Restore) Done(ctx context.Context) error { return r.drop(ctx, bucketPrefix+restoring) }

// Entry puts back an entry of the archive, and reports whether it is one of
// Backup's. An error that is not the store's is the reader's.
func (r *Restore) Entry(ctx context.Context, name string, from io.Reader) (bool, error) {
	folder, part := path.Split(name)
	stream := path.Base(folder)
	if path.Dir(path.Clean(folder)) != archiveFolder {
		return false, nil
	}
	data, err := io.ReadAll(io.LimitReader(from, 4<<20))
	if err != nil {
		return true, err
	}
	switch err := r.part(ctx, stream, part, data); {
	case errors.Is(err, errOrder):
		return true, err
	case err != nil:
		return true, annotary.E(annotary.CodeStore, "state cannot be put back: "+err.Error(), err).
			WithHint("is something kept there already? restore into an empty place")
	}
	return true, nil
}

// Whole reports whether no stream was left half put back.
func (r *Restore) Whole() bool { return r.name == "" }

// Undo removes what was put back, so that another archive may be.
func (r *Restore) Undo(ctx context.Context) error {
	if err := r.remove(ctx); err != nil {
		return err
	}
	return r.Done(ctx)
}

func (r *Restore) remove(ctx context.Context) error {
	var failed error
	for _, name := range r.there {
		failed = errors.Join(failed, r.drop(ctx, name))
	}
	r.there = nil
	return failed
}

// drop removes a stream, if it is there.
func (r *Restore) drop(ctx context.Context, name string) error {
	if err := r.engine.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return unavailable("what was put back cannot be removed", err)
	}
	return nil
}

var errOrder = errors.New("its parts do not fit together")

func (r *Restore) part(ctx context.Context, stream, part string, data []byte) error {
	switch {
	case part == "head" && r.name == "":
		return r.begin(ctx, stream, data)
	case stream != r.name:
		return errOrder
	case part == archiveEnd:
		r.name = ""
		return r.send(ctx, nil)
	default:
		return r.send(ctx, data)
	}
}

// claim notes that a stream is this restore's, before any of it is there. One
// that is there already is somebody else's.
func (r *Restore) claim(ctx context.Context, stream string) error {
	if _, err := r.engine.js.Stream(ctx, stream); err == nil {
		return errors.New(stream + " is there already")
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	raw, err := json.Marshal(append(r.there, stream))
	if err != nil {
		return err
	}
	_, revision, err := r.mark.Get(ctx, restoring)
	if err == nil {
		_, err = r.mark.Swap(ctx, restoring, raw, revision)
	}
	if err == nil {
		r.there = append(r.there, stream)
	}
	return err
}

func (r *Restore) begin(ctx context.Context, stream string, data []byte) error {
	var head snapshotHead
	if err := json.Unmarshal(data, &head); err != nil || head.Config == nil {
		return errors.Join(errOrder, err)
	}
	if err := r.claim(ctx, stream); err != nil {
		return err
	}
	head.Config["num_replicas"] = fmt.Append(nil, r.engine.opts.Replicas)
	var answer struct {
		apiFailure
		DeliverSubject string `json:"deliver_subject"`
	}
	if err := r.engine.ask(ctx, apiRestore+stream, head, &answer); err != nil {
		return err
	}
	r.name, r.to = stream, answer.DeliverSubject
	return answer.err()
}

// send gives the engine a chunk; none is the end.
func (r *Restore) send(ctx context.Context, chunk []byte) error {
	ctx, cancel := context.WithTimeout(ctx, chunkWithin)
	defer cancel()
	msg, err := r.engine.conn.RequestWithContext(ctx, r.to, chunk)
	if err != nil || len(msg.Data) == 0 {
		return err
	}
	var answer apiFailure
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return err
	}
	return answer.err()
}
