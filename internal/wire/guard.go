package wire

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// guard refuses requests that a web page smuggled in: one whose Host is not
// ours came through a name that an attacker points at us, one whose Origin is
// foreign came from a page.
type guard struct {
	hosts, origins []string
	anyHost        bool
}

func newGuard(o Options) guard {
	return guard{hosts: o.Hosts, origins: o.Origins, anyHost: slices.Contains(o.Hosts, "*")}
}

func (g guard) allows(r *http.Request) bool {
	if !g.anyHost && !isLoopback(r.Host) && !slices.Contains(g.hosts, hostname(r.Host)) {
		return false
	}
	origin := r.Header["Origin"]
	return len(origin) == 0 || (len(origin) == 1 && g.allowsOrigin(origin[0]))
}

func (g guard) allowsOrigin(origin string) bool {
	if slices.Contains(g.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Host)
}

// hostname strips the port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

func isLoopback(host string) bool {
	switch name := hostname(host); name {
	case "localhost", "127.0.0.1", "::1":
		return true
	default:
		ip := net.ParseIP(name)
		return ip != nil && ip.IsLoopback()
	}
}

// begin admits a call, or a stream that waits for events, within the limits;
// what does not fit is told to come again.
func (x *exchange) begin(waits bool) bool {
	if x.waits = waits; waits {
		select {
		case x.streams <- struct{}{}:
			return true
		default:
		}
	} else if x.flight.begin(x.owner) {
		return true
	}
	x.w.Header().Set("Retry-After", "1")
	http.Error(x.w, "too many calls or streams at once", http.StatusTooManyRequests)
	return false
}

// leave undoes begin, unless the call goes on.
func (x *exchange) leave() {
	if !x.kept {
		x.free()
	}
}

func (x *exchange) free() {
	if x.waits {
		<-x.streams
	} else {
		x.flight.end(x.owner)
	}
}

// inFlight counts open calls by principal.
type inFlight struct {
	max int
	mu  sync.Mutex
	n   map[string]int
}

func (f *inFlight) begin(who string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[string]int{}
	}
	if f.n[who] >= f.max {
		return false
	}
	f.n[who]++
	return true
}

func (f *inFlight) end(who string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[who]--; f.n[who] == 0 {
		delete(f.n, who)
	}
}
