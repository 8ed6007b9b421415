package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/annotary/annotary"
)

// Serve answers on l, those only who run as the user of this process and know the
// token, until the context ends.
func Serve(ctx context.Context, l net.Listener, o Options) error {
	if o.Token == "" {
		return errors.New("api: the channel has no token")
	}
	s := &http.Server{
		Handler:           withToken(o.Token, Handler(o)),
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

// withToken turns away whoever cannot read the file beside the socket.
func withToken(token string, next http.Handler) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) == 1 {
			next.ServeHTTP(w, r)
			return
		}
		_ = writeJSON(w, http.StatusUnauthorized, Failure{
			Code: annotary.CodeConnect, Message: "the gateway wants the token of its data folder",
			Hint: "is the command kept out of the folder, or was the gateway started again a moment ago?",
		})
	})
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
