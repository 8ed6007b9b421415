// Package upstream speaks to MCP servers: commands that talk on their standard
// streams, and URLs.
//
// It is the client half of the protocol, written on raw bytes: what a server
// says is kept as it said it, so that a definition can be judged, shown and
// forwarded exactly as it was sent. Both eras are spoken. Modern servers
// (2026-07-28 and later) are asked server/discover; those that do not know it
// get the initialize handshake.
//
// [List] asks one server for all its tools and ends. A [Server] is what the
// gateway forwards to; a [Leg] is the way of one client to it:
//
//	Leg ─ webLeg ──▶ direct | http.Transport ──▶ URL
//	    └ pipeLeg ─▶ instance ─▶ child ─▶ link ─▶ command (or URL, by HTTP+SSE)
//
// An instance is a command as some clients share it and outlives its child; the
// child gives every call a number of its own on the pipe.
//
// The package decides nothing about calls and knows no clients.
package upstream

import (
	"errors"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/confine"
)

// A Target says how a server is reached: by a command or by a URL.
type Target struct {
	Name string // how people call it

	Command string            // the program, found on PATH
	Args    []string          // its arguments
	Env     map[string]string // added to the few variables every child gets
	Dir     string            // its working directory; if empty, ours
	Walls   *confine.Walls    // what the command is kept out of; nil is nothing

	URL    string            // where it listens, if it is no command
	Header map[string]string // sent with every request to URL
}

// Era says which of the two ways of speaking a server understands.
type Era uint8

// The eras. Zero is not known yet.
const (
	EraUnknown Era = iota
	EraLegacy      // begins with initialize, up to 2025-11-25
	EraModern      // every request stands alone, from 2026-07-28
)

var eraNames = [...]string{"unknown", "legacy", "modern"}

// String names the era.
func (e Era) String() string { return eraNames[e] }

// ErrLogin is the cause of an error when a server wants a login first.
var ErrLogin = errors.New("the server wants a login")

// Options bound what asking a server may cost. The zero value means the
// defaults.
type Options struct {
	// Timeout is how long everything may take. If zero, 30 s.
	Timeout time.Duration
	// Probe is how long a command may be silent to server/discover before it
	// is offered initialize as well. If zero, 2 s.
	Probe time.Duration
	// MaxBytes is the longest message accepted. If zero, 16 MiB.
	MaxBytes int
	// MaxPages is how many pages of tools are read. If zero, 1000.
	MaxPages int
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Probe == 0 {
		o.Probe = 2 * time.Second
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 16 << 20
	}
	if o.MaxPages == 0 {
		o.MaxPages = 1000
	}
	return o
}

// A Listing is what a server says about itself and its tools.
type Listing struct {
	Tools        []annotary.Tool // in the order they were sent
	Pages        [][]byte        // the results of tools/list, untouched
	Era          Era
	Version      string // the protocol version spoken
	Server       ServerInfo
	Capabilities []byte // raw, nil if none were sent
	Instructions string
	Warnings     []string // what was odd but survivable, for people
	Stderr       string   // the end of what a command wrote to standard error
}

// ServerInfo is what a server calls itself.
type ServerInfo struct{ Name, Version string }
