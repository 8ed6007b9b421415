package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/find"
	"github.com/annotary/annotary/internal/catalog"
	"github.com/annotary/annotary/internal/upstream"
)

// A library finds tools across all servers. Every caller searches an index of
// what that caller may see and of nothing else: neither a rank nor a count can
// then tell of what is hidden. Callers who see the same share an index. All is
// made anew when a server's tools change.
type library struct {
	mu       sync.Mutex
	shelved  []*catalog.Server
	byCaller map[string]*shelfIndex
	bySight  map[string]*shelfIndex
}

// shelfIndex is an index that is made when it is first searched.
type shelfIndex struct {
	once  sync.Once
	tools []annotary.Entry
	index *find.Index
}

// maxCallers is how many callers' views are kept.
const maxCallers = 4096

// findWithin is how long a search waits for servers that have not told their
// tools yet.
const findWithin = 3 * time.Second

// search finds tools that the caller may see.
func (g *Gateway) search(ctx context.Context, j *Judge, call *Call, q find.Query) find.Answer {
	return g.indexFor(ctx, j, call).get().Search(q)
}

func (x *shelfIndex) get() *find.Index {
	x.once.Do(func() { x.index = find.New(x.tools) })
	return x.index
}

// indexFor returns the index of what the caller may see.
func (g *Gateway) indexFor(ctx context.Context, j *Judge, call *Call) *shelfIndex {
	shelved := g.shelved(ctx, j)
	caller, err := json.Marshal([]any{call.Principal, j.readOnly(call), j.observing(j.now())})
	if err != nil { // strings always marshal
		return &shelfIndex{}
	}
	l := &j.library
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.shelved, shelved) || len(l.byCaller) >= maxCallers {
		l.shelved, l.byCaller, l.bySight = shelved, map[string]*shelfIndex{}, map[string]*shelfIndex{}
	}
	x := l.byCaller[string(caller)]
	if x == nil {
		x = l.forSight(j, call, shelved)
		l.byCaller[string(caller)] = x
	}
	return x
}

// forSight returns the index that all callers share who see the same tools.
func (l *library) forSight(j *Judge, call *Call, shelved []*catalog.Server) *shelfIndex {
	var tools []annotary.Entry
	var sight strings.Builder
	for _, s := range shelved {
		for _, e := range j.entriesFor(call, s.Tools) {
			tools = append(tools, e)
			sight.WriteString(s.Name + "/" + e.Name + "\n")
		}
	}
	x := l.bySight[sight.String()]
	if x == nil {
		x = &shelfIndex{tools: tools}
		l.bySight[sight.String()] = x
	}
	return x
}

// shelved are the tools of all servers, as far as they are known. Servers that
// were never asked are, once at a time; who does not answer soon is not waited
// for.
func (g *Gateway) shelved(ctx context.Context, j *Judge) []*catalog.Server {
	servers := g.Servers()
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	var asked []<-chan struct{}
	for _, s := range servers {
		if j.shelf(s.Name).known.Load() == nil {
			asked = append(asked, j.askOnce(s))
		}
	}
	for _, done := range asked {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	var all []*catalog.Server
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if s := j.shelf(name).known.Load(); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// askOnce has a server tell its tools, unless it is being asked. The channel is
// closed when it has.
func (j *Judge) askOnce(s *upstream.Server) <-chan struct{} {
	done := make(chan struct{})
	shelf := j.shelf(s.Name)
	if !shelf.asking.CompareAndSwap(false, true) {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		defer shelf.asking.Store(false)
		if s.Acquire() {
			defer s.Release()
			_, _ = j.tools(context.Background(), s) // one that does not answer has none
		}
	}()
	return done
}
