package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary"
)

// How much a pack holds at most. A pack is one message, one sync.
const (
	maxPackBytes   = 512 << 10
	maxPackEntries = 256
	maxEntryBytes  = 32 << 10
	// maxQueue is how many packs may wait to be written.
	maxQueue = 64
	// dedupWindow is how long the engine remembers the id of a pack. A pack
	// that was not acknowledged is sent again only well inside it.
	dedupWindow = 2 * time.Minute

	// What the engine calls logs and buckets.
	logPrefix    = "AUDIT_"
	bucketPrefix = "KV_"
)

// A Log is appended to. Entries that arrive together are written together.
type Log struct {
	engine  *Engine
	stream  jetstream.Stream
	name    string
	subject string
	epoch   string // of this opening: makes the ids of its packs unique
	written *written
	done    sync.WaitGroup

	mu     sync.Mutex
	work   sync.Cond // there is a pack to write, or the log is closed
	queue  []*pack   // oldest first; the last may still take entries
	packs  uint64
	closed bool
}

// A pack is entries on their way into the log.
type pack struct {
	lines [][]byte
	size  int
	born  time.Time
	done  chan struct{} // closed when it is written or given up
	err   error
}

// takes reports whether another entry fits.
func (p *pack) takes(line []byte) bool {
	return len(p.lines) < maxPackEntries && p.size+len(line) < maxPackBytes
}

// LogOptions say how a log keeps its entries.
type LogOptions struct {
	// MaxBytes the log may grow to; then appending is refused. If zero, as
	// much as the disk holds.
	MaxBytes int64
}

// Log opens the log of that name. The epoch must be new at every opening.
func (e *Engine) Log(ctx context.Context, name, epoch string, o LogOptions) (*Log, error) {
	l := &Log{engine: e, name: name, subject: "annotary.log." + encodeKey(name), epoch: epoch}
	var err error
	if l.stream, err = l.make(ctx, o); err != nil {
		return nil, err
	}
	l.written = e.writes.to("the log", l.subject)
	l.work.L = &l.mu
	l.done.Go(l.write)
	return l, nil
}

// Limit has the log keep its entries otherwise from now on. None that is there is
// dropped.
func (l *Log) Limit(ctx context.Context, o LogOptions) error {
	_, err := l.make(ctx, o)
	return err
}

// make makes the stream of the log, or changes the one that is there.
func (l *Log) make(ctx context.Context, o LogOptions) (stream jetstream.Stream, err error) {
	ctx, cancel := l.engine.within(ctx)
	defer cancel()
	if o.MaxBytes == 0 {
		o.MaxBytes = -1
	}
	err = settled(ctx, forming, func() error {
		stream, err = l.engine.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: logPrefix + encodeKey(l.name), Description: "audit log of " + l.name,
			Subjects: []string{l.subject}, Storage: jetstream.FileStorage, Replicas: l.engine.opts.Replicas,
			MaxBytes: o.MaxBytes, Discard: jetstream.DiscardNew, DenyDelete: true, Duplicates: dedupWindow,
		})
		return err
	})
	if err != nil {
		return nil, l.engine.notOpened("the log", err)
	}
	return stream, nil
}

// Append adds an entry and returns when it is on disk. An error means the entry
// must be taken as not written: whoever waited for it goes no further.
func (l *Log) Append(ctx context.Context, line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 || len(line) > maxEntryBytes {
		return annotary.E(annotary.CodeInternal, "an entry of the log is one line of at most 32 KB", nil)
	}
	for {
		p, joined, err := l.join(line)
		if err != nil {
			return err
		}
		select {
		case <-p.done:
			if joined {
				return p.err
			}
		case <-ctx.Done():
			return unavailable("the log did not confirm the entry in time", ctx.Err())
		}
	}
}

// join puts an entry into the newest pack or a new one. If too many wait, it
// joins none and returns the oldest, to wait for.
func (l *Log) join(line []byte) (p *pack, joined bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false, unavailable("the log is closed", nil)
	}
	if err := l.written.refusal(); err != nil {
		return nil, false, err
	}
	if n := len(l.queue); n > 0 && l.queue[n-1].takes(line) {
		p = l.queue[n-1]
	} else if n == maxQueue {
		return l.queue[0], false, nil
	} else {
		p = &pack{born: time.Now(), done: make(chan struct{})}
		l.queue = append(l.queue, p)
		l.work.Signal()
	}
	p.lines = append(p.lines, line)
	p.size += len(line) + 1
	return p, true, nil
}

// Close stops appending after what is waiting was written.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	l.work.Broadcast()
	l.mu.Unlock()
	l.done.Wait()
}

// write takes the oldest pack, which takes entries no longer, and writes it.
func (l *Log) write() {
	for {
		l.mu.Lock()
		for len(l.queue) == 0 && !l.closed {
			l.work.Wait()
		}
		if len(l.queue) == 0 {
			l.mu.Unlock()
			return
		}
		p := l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		l.packs++
		id := fmt.Sprintf("%s-%d", l.epoch, l.packs)
		l.mu.Unlock()
		if p.err = l.written.refusal(); p.err == nil { // the one before may just have failed
			p.err = l.send(&nats.Msg{Subject: l.subject, Data: bytes.Join(p.lines, []byte{'\n'})}, id, p.born)
			l.written.note(errors.Unwrap(p.err), l.engine.opts.Diary)
		}
		close(p.done)
	}
}

// send writes a pack. Its id lets the engine drop a second copy when an
// acknowledgement was lost on the way.
func (l *Log) send(msg *nats.Msg, id string, born time.Time) error {
	giveUp := born.Add(min(l.engine.opts.Deadline, dedupWindow/2))
	for {
		ctx, cancel := context.WithDeadline(context.Background(), giveUp)
		_, err := l.engine.js.PublishMsg(ctx, msg, jetstream.WithMsgID(id))
		cancel()
		var refused *jetstream.APIError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused): // the engine said no: full, or no room on disk
			return unavailable("the log refused the entry", err)
		case time.Now().After(giveUp.Add(-50 * time.Millisecond)):
			return unavailable("the log does not answer", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Read calls each for every pack from the given one on, in order, and returns
// after the last that was there when it began. Packs that are gone although the
// engine counts them, since its files were damaged or the log was shortened
// meanwhile, are left out: whoever reads finds the hole by their numbers.
func (l *Log) Read(ctx context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error {
	info, err := l.info(ctx)
	if err != nil {
		return err
	}
	last := info.State.LastSeq
	if info.State.Msgs == 0 || from > last {
		return nil
	}
	next := max(from, info.State.FirstSeq, 1)
	consumer, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: next,
	})
	if err != nil {
		return unavailable("the log cannot be read", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return unavailable("the log cannot be read", err)
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(readPause))
		if errors.Is(err, nats.ErrTimeout) && ctx.Err() == nil {
			if more, err := l.has(ctx, next, last); !more {
				return err
			}
			continue
		}
		if err != nil {
			return unavailable("the log cannot be read", errors.Join(err, ctx.Err()))
		}
		meta, err := msg.Metadata()
		if err != nil {
			return unavailable("the log cannot be read", err)
		}
		if err := each(meta.Sequence.Stream, bytes.Split(msg.Data(), []byte{'\n'})); err != nil {
			return err
		}
		if next = meta.Sequence.Stream + 1; next > last {
			return nil
		}
	}
}

// readPause is how long no pack may come before it is asked whether there is one.
const readPause = time.Second

// has reports whether there is a pack of these.
func (l *Log) has(ctx context.Context, from, to uint64) (bool, error) {
	ctx, cancel := l.engine.within(ctx)
	defer cancel()
	msg, err := l.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(l.subject))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, unavailable("the log cannot be read", err)
	}
	return msg.Sequence <= to, nil
}

// Extent returns the first and the last pack of the log, and how many bytes it
// takes.
func (l *Log) Extent(ctx context.Context) (first, last uint64, size uint64, err error) {
	info, err := l.info(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	return info.State.FirstSeq, info.State.LastSeq, info.State.Bytes, nil
}

func (l *Log) info(ctx context.Context) (info *jetstream.StreamInfo, err error) {
	ctx, cancel := l.engine.within(ctx)
	defer cancel()
	err = settled(ctx, forming, func() error {
		info, err = l.stream.Info(ctx)
		return err
	})
	if err != nil {
		return nil, unavailable("the log cannot be read", err)
	}
	return info, nil
}

// Purge drops every pack before the given one. Retention is the caller's: it
// purges only what is sealed, exported and old enough.
func (l *Log) Purge(ctx context.Context, before uint64) error {
	ctx, cancel := l.engine.within(ctx)
	defer cancel()
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(before)); err != nil {
		return unavailable("the log cannot be shortened", err)
	}
	return nil
}
