package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annotary/annotary"
)

// Health is how the store is doing, for the operator.
type Health struct {
	Embedded bool
	// Where is the folder of the embedded engine, or the server of the cluster
	// that this process is connected to.
	Where string
	// Version of the engine.
	Version string
	// Replicas of everything kept.
	Replicas int
	// Lost says that the store was silent for too long.
	Lost bool
	// Heard is when the store last answered.
	Heard time.Time
	// Problem is why it does not, empty if it does.
	Problem string
	// Unwritten is what was not written last, and why; empty if all was.
	Unwritten string
}

// Health says how the store is doing.
func (e *Engine) Health() Health {
	h := Health{
		Embedded: e.Embedded(), Where: e.opts.Dir, Version: server.VERSION, Replicas: e.opts.Replicas,
		Lost: e.Lost(), Heard: time.Unix(0, e.heard.Load()), Unwritten: e.writes.failing(),
	}
	if !h.Embedded {
		h.Where, h.Version = e.conn.ConnectedUrlRedacted(), e.conn.ConnectedServerVersion()
	}
	if p := e.problem.Load(); p != nil {
		h.Problem = *p
	}
	return h
}

// minVersion is the oldest engine that does all that is relied on here.
var minVersion = [2]int{2, 15}

// checkVersion refuses a cluster that is too old.
func checkVersion(version string) error {
	var got [2]int
	parts := strings.SplitN(version, ".", 3)
	for i := range min(len(got), len(parts)) {
		got[i], _ = strconv.Atoi(parts[i]) // what is no number is too old
	}
	if got[0] > minVersion[0] || got[0] == minVersion[0] && got[1] >= minVersion[1] {
		return nil
	}
	return annotary.E(annotary.CodeConnect, fmt.Sprintf("the state cluster runs NATS %s", version), nil).
		WithHint(fmt.Sprintf("it must be %d.%d or newer", minVersion[0], minVersion[1]))
}

// diagnose puts into words why a cluster could not be used.
func diagnose(o *Options, err error) error {
	say := func(public, hint string) error {
		return annotary.E(annotary.CodeConnect, public, err).WithHint(hint)
	}
	var unknown x509.UnknownAuthorityError
	var mismatch *tls.CertificateVerificationError
	var api *jetstream.APIError
	switch {
	case annotary.CodeOf(err) != annotary.CodeInternal:
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return say("a file that state names cannot be read: "+err.Error(), "check state.credentials, ca, cert and key")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return say("the state cluster does not let this gateway in", "check state.credentials, or state.cert and state.key")
	case errors.As(err, &unknown), errors.As(err, &mismatch):
		return say("the state cluster cannot prove who it is: "+err.Error(), "check state.ca and the names in state.url")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return say("the state cluster has no JetStream for this gateway", "enable jetstream on its servers and for this account")
	case errors.As(err, &api) && (api.ErrorCode == tooFewServers || api.ErrorCode == noPeers):
		return say(fmt.Sprintf("the state cluster cannot keep %d replicas", o.Replicas), "add servers, or lower state.replicas")
	default:
		return say("the state cluster cannot be reached", "check state.url and that NATS 2.15 or newer with JetStream answers there")
	}
}

// What an engine says when it does not make or open something.
const (
	tooFewServers jetstream.ErrorCode = 10074 // it stands alone and is to replicate
	noRoom        jetstream.ErrorCode = 10047
	offline       jetstream.ErrorCode = 10194 // it was written by a newer one
)

// notOpened is the error of a bucket or log that could not be opened.
func (e *Engine) notOpened(what string, err error) error {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return annotary.E(annotary.CodeStore, what+" cannot be opened: "+e.writes.complained(plain(err)).Error(), err).
			WithHint("is there room where state is kept, and may this user write there?")
	}
	switch failed := annotary.E(annotary.CodeStore, what+" cannot be opened: "+api.Description, err); {
	case api.ErrorCode == noRoom:
		return failed.WithHint("make room where state is kept, or lower audit.max")
	case api.ErrorCode == offline:
		return failed.WithHint("start the newer annotary that wrote it, or put a backup back in another place")
	case e.Embedded():
		return failed
	}
	return diagnose(&e.opts, err)
}

// unusable is the error of a folder that the embedded engine cannot use, unless
// it says itself what is wrong.
func (e *Engine) unusable(err error) error {
	if annotary.CodeOf(err) != annotary.CodeInternal {
		return err
	}
	return annotary.E(annotary.CodeStore, "the folder for state cannot be used: "+err.Error(), err).
		WithHint("there must be room in " + e.opts.Dir + ", and this user must be able to write there")
}

// checkFiles refuses a folder in which there is what the embedded engine passes
// over because it cannot read it. It would be begun anew, and what was stopped,
// say, would not be any more. What a restore left that was killed is another
// matter.
func (e *Engine) checkFiles(ctx context.Context) error {
	unread, err := e.unread(ctx)
	unread = slices.DeleteFunc(unread, func(folder string) bool { // which an end in the middle of making it left
		blocks, _ := fs.Glob(os.DirFS(folder), "msgs/*.blk") // the pattern is good
		return len(blocks) == 0
	})
	if err != nil || len(unread) == 0 {
		return err
	}
	if _, err := e.js.Stream(ctx, bucketPrefix+restoring); err == nil {
		return nil
	}
	return annotary.E(annotary.CodeStore, "state is damaged: "+unread[0]+" cannot be read", nil).
		WithHint("put a backup back in another place, or move that folder away to begin it anew")
}

// unread returns the folders of streams of which the embedded engine knows
// nothing.
func (e *Engine) unread(ctx context.Context) (folders []string, err error) {
	there := map[string]bool{}
	names := e.js.StreamNames(ctx)
	for name := range names.Name() {
		there[name] = true
	}
	if err := names.Err(); err != nil {
		return nil, unavailable("what is kept cannot be listed", err)
	}
	all, err := fs.Glob(os.DirFS(e.opts.Dir), "jetstream/*/streams/*")
	if err != nil {
		return nil, e.unusable(err)
	}
	for _, folder := range all {
		if !there[path.Base(folder)] {
			folders = append(folders, filepath.Join(e.opts.Dir, filepath.FromSlash(folder)))
		}
	}
	return folders, nil
}
