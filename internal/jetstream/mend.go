package jetstream

import (
	"context"
	"errors"
	"os"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// mend has what was given up written to again, once somebody answers for it. It
// asks in place of those who call: they are refused meanwhile, and do not wait.
func (e *Engine) mend(ctx context.Context) {
	silent := e.writes.silent()
	if e.Embedded() && e.stuck(len(silent) > 0) {
		if e.tryDisk() != nil {
			return
		}
		e.reopen()
	}
	for _, w := range silent {
		if e.answers(ctx, w.subject) {
			w.note(nil, e.opts.Diary)
		}
	}
}

// stuck reports whether the embedded engine has given up its files, or itself.
func (e *Engine) stuck(silent bool) bool {
	return silent && e.writes.complaint.Load() != nil || e.Lost() && !e.server.JetStreamEnabled()
}

// answers reports whether somebody answers for writes below a subject. It asks by
// a write that can only be refused, being for another stream than is there.
func (e *Engine) answers(ctx context.Context, subject string) bool {
	ctx, cancel := e.within(ctx)
	defer cancel()
	_, err := e.js.PublishMsg(ctx, &nats.Msg{Subject: subject}, jetstream.WithExpectStream("none"))
	_, answered := errors.AsType[*jetstream.APIError](err)
	return answered
}

// reopen opens the files of the embedded engine anew, as a new start would. An
// engine that failed to write a file leaves it alone from then on; what it
// acknowledged is on disk.
func (e *Engine) reopen() {
	e.writes.complaint.Store(nil)
	err := e.server.ShutdownJetStream()
	if err == nil {
		err = e.server.EnableJetStream(&server.JetStreamConfig{StoreDir: e.opts.Dir, SyncAlways: true, Strict: true})
	}
	if err != nil {
		e.writes.Errorf("%v", err)
		return
	}
	e.anew.tell()
}

// tryDisk writes and syncs more than the largest pack takes.
func (e *Engine) tryDisk() error {
	f, err := os.CreateTemp(e.opts.Dir, "room.*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 2*maxPackBytes))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
