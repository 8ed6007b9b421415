package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	subject string
	epoch   string // of this opening: makes the ids of its packs unique

	entries chan *pending
	closed  chan struct{}
	once    sync.Once
	done    sync.WaitGroup
	packs   uint64
}

type pending struct {
	line []byte
	done chan error
}

// LogOptions say how a log keeps its entries.
type LogOptions struct {
	// MaxBytes the log may grow to; then appending is refused. If zero, as
	// much as the disk holds.
	MaxBytes int64
}

// Log opens the log of that name. The epoch must be new at every opening.
func (e *Engine) Log(ctx context.Context, name, epoch string, o LogOptions) (*Log, error) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	subject := "annotary.log." + encodeKey(name)
	if o.MaxBytes == 0 {
		o.MaxBytes = -1
	}
	var stream jetstream.Stream
	err := settled(ctx, forming, func() (err error) {
		stream, err = e.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: logPrefix + encodeKey(name), Description: "audit log of " + name,
			Subjects: []string{subject}, Storage: jetstream.FileStorage, Replicas: e.opts.Replicas,
			MaxBytes: o.MaxBytes, Discard: jetstream.DiscardNew, DenyDelete: true, Duplicates: dedupWindow,
		})
		return err
	})
	if err != nil {
		return nil, e.notOpened("the log", err)
	}
	l := &Log{
		engine: e, stream: stream, subject: subject, epoch: epoch,
		entries: make(chan *pending, 4*maxPackEntries), closed: make(chan struct{}),
	}
	l.done.Go(l.write)
	return l, nil
}

// Append adds an entry and returns when it is on disk. An error means the entry
// must be taken as not written: whoever waited for it goes no further.
func (l *Log) Append(ctx context.Context, line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 || len(line) > maxEntryBytes {
		return annotary.E(annotary.CodeInternal, "an entry of the log is one line of at most 32 KB", nil)
	}
	p := &pending{line: line, done: make(chan error, 1)}
	select {
	case l.entries <- p:
	case <-l.closed:
		return unavailable("the log is closed", nil)
	case <-ctx.Done():
		return unavailable("the log did not take the entry in time", ctx.Err())
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return unavailable("the log did not confirm the entry in time", ctx.Err())
	}
}

// Close stops appending after what is waiting was written.
func (l *Log) Close() {
	l.once.Do(func() { close(l.closed) })
	l.done.Wait()
}

// write takes what has gathered while the last pack was being written and
// writes it as one.
func (l *Log) write() {
	for {
		select {
		case first := <-l.entries:
			l.publish(l.gather(first))
		case <-l.closed:
			for {
				select {
				case first := <-l.entries:
					l.publish(l.gather(first))
				default:
					return
				}
			}
		}
	}
}

// gather adds to the first entry what waits, within the bounds of a pack.
func (l *Log) gather(first *pending) []*pending {
	pack := []*pending{first}
	size := len(first.line)
	for len(pack) < maxPackEntries && size+1+maxEntryBytes <= maxPackBytes {
		select {
		case p := <-l.entries:
			pack = append(pack, p)
			size += len(p.line) + 1
		default:
			return pack
		}
	}
	return pack
}

// publish writes a pack and tells everybody who waits. Its id lets the engine
// drop a second copy when an acknowledgement was lost on the way.
func (l *Log) publish(pack []*pending) {
	l.packs++
	lines := make([][]byte, len(pack))
	for i, p := range pack {
		lines[i] = p.line
	}
	msg := &nats.Msg{Subject: l.subject, Data: bytes.Join(lines, []byte{'\n'})}
	err := l.send(msg, fmt.Sprintf("%s-%d", l.epoch, l.packs))
	for _, p := range pack {
		p.done <- err
	}
}

func (l *Log) send(msg *nats.Msg, id string) error {
	giveUp := time.Now().Add(min(l.engine.opts.Deadline, dedupWindow/2))
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
// after the last that was there when it began.
func (l *Log) Read(ctx context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error {
	info, err := l.info(ctx)
	if err != nil {
		return err
	}
	last := info.State.LastSeq
	if info.State.Msgs == 0 || from > last {
		return nil
	}
	consumer, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, info.State.FirstSeq, 1),
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
		msg, err := messages.Next()
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
		if meta.Sequence.Stream >= last {
			return nil
		}
	}
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
