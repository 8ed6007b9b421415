package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// Serve answers on l, those only who run as the user of this process, until the
// context ends.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	s := &http.Server{
		Handler:           Handler(o),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(&ownListener{l, os.Geteuid()}); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ownListener turns away whoever is another user, even where the socket's file
// would let them in.
type ownListener struct {
	net.Listener
	uid int
}

// Accept waits for a connection of the user.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn); err == nil && uid == l.uid {
			return conn, nil
		}
		_ = conn.Close()
	}
}
