package upstream

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/annotary/annotary/internal/rpc"
)

// openSSE opens the transport of 2024-11-05: one long stream from the server,
// and an address on the same host to post to, which it names first.
func (s *Server) openSSE(ctx context.Context, receive func([]byte, error)) (*link, error) {
	streamCtx, cancel := context.WithCancel(context.Background())
	unhook := context.AfterFunc(ctx, cancel) // until it is open
	h := s.ownHeader()
	h["Accept"] = typeEvents
	res, err := s.roundTrip(streamCtx, http.MethodGet, h, nil) //nolint:bodyclose // the reader below closes it
	if err == nil && (res.StatusCode != http.StatusOK || contentType(res.Header) != "text/event-stream") {
		_ = res.Body.Close()
		err = errNotSSE
	}
	if err != nil {
		cancel()
		return nil, err
	}
	events := rpc.NewEvents(res.Body, s.opts.MaxBytes)
	endpoint, err := awaitEndpoint(events, s.url.Load())
	if !unhook() || err != nil {
		cancel()
		_ = res.Body.Close()
		return nil, fmt.Errorf("waiting for the address to post to: %w", err)
	}
	l := newLink()
	go s.postAll(l, endpoint, cancel)
	go func() {
		defer cancel()
		l.exit = readEvents(events, receive)
		_ = res.Body.Close()
		close(l.done)
	}()
	return l, nil
}

// ownHeader is what was configured for the server.
func (s *Server) ownHeader() http.Header {
	h := make(http.Header, len(s.Header)+8)
	for name, value := range s.Header {
		h.Set(name, value)
	}
	return h
}

// awaitEndpoint reads up to the event that names the address. It must be on the
// same host: our headers are for nobody else.
func awaitEndpoint(events *rpc.Events, base *url.URL) (*url.URL, error) {
	for {
		ev, err := events.Next()
		if err != nil {
			return nil, err
		}
		if ev.Name != "endpoint" {
			continue
		}
		to, err := base.Parse(string(ev.Data))
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme {
			return nil, fmt.Errorf("it wants messages posted elsewhere: %q", rpc.Address(string(ev.Data)))
		}
		return to, nil
	}
}

func readEvents(events *rpc.Events, receive func([]byte, error)) error {
	for {
		ev, err := events.Next()
		if err != nil {
			return err
		}
		if ev.Data != nil && (ev.Name == "" || ev.Name == "message") {
			receive(ev.Data, nil)
		}
	}
}

// postAll posts queued messages in order until the link is to end.
func (s *Server) postAll(l *link, to *url.URL, end context.CancelFunc) {
	defer end()
	for {
		select {
		case msg := <-l.in:
			if err := s.postTo(to, msg); err != nil {
				s.log.Warn("the server does not take messages", "error", err)
				return
			}
		case <-l.quit:
			return
		case <-l.done:
			return
		}
	}
}

func (s *Server) postTo(to *url.URL, msg []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Silence)
	defer cancel()
	h := s.ownHeader()
	h["Content-Type"] = typeJSON
	res, err := s.transport.RoundTrip(newRequest(ctx, http.MethodPost, to, h, msg))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusMultipleChoices {
		return &statusError{res.StatusCode}
	}
	return nil
}
