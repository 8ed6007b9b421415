package policy

import (
	"strconv"
	"sync"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// What of the arguments a policy can see; more is marked as truncated.
const (
	maxLeaves    = 64
	maxLeafBytes = 4096
	maxDepth     = 8
	truncatedTag = "truncated"
)

// A world is what Cedar can see of one request. The tags of the arguments are
// made when a policy first asks for them; most never do.
type world struct {
	principal types.Entity
	resource  types.Entity
	requester types.Entity
	context   types.Record
	arguments []byte
	args      *types.Entity
	ints      *types.Entity
}

var _ types.EntityGetter = (*world)(nil)

var (
	argsUID    = types.NewEntityUID("Arguments", "arguments")
	intsUID    = types.NewEntityUID("Integers", "integers")
	gatewayUID = types.NewEntityUID("Gateway", "gateway")
)

// Get finds an entity of this world. Groups, profiles and servers have nothing
// but their names, so they need no entity.
func (w *world) Get(uid types.EntityUID) (types.Entity, bool) {
	switch uid {
	case w.principal.UID:
		return w.principal, true
	case w.resource.UID:
		return w.resource, true
	case argsUID:
		w.flatten()
		return *w.args, true
	case intsUID:
		w.flatten()
		return *w.ints, true
	case w.requester.UID:
		return w.requester, true
	}
	return types.Entity{}, false
}

// flatten makes the tags of the arguments, once.
func (w *world) flatten() {
	if w.args != nil {
		return
	}
	f := flattener{strings: types.RecordMap{}, ints: types.RecordMap{}}
	f.walk("", w.arguments, 0)
	if f.truncated {
		f.strings[truncatedTag] = types.String("true")
	}
	w.args = &types.Entity{UID: argsUID, Tags: types.NewRecord(f.strings)}
	w.ints = &types.Entity{UID: intsUID, Tags: types.NewRecord(f.ints)}
}

// newWorld builds what the policies on a call can see. The caller sets the
// resource.
func (s *Set) newWorld(r *Request) *world {
	w := &world{principal: r.Who.entity, arguments: r.Arguments}
	f := factsOf(r)
	if s.timed {
		w.context = f.context(types.RecordMap{"now": types.NewDatetime(r.Now)})
	} else {
		w.context = untimed(f)
	}
	return w
}

// Facts are what the context of a call says beside its time and arguments. There
// are few different ones.
type Facts struct {
	truncated, private, strangers bool
	sensitivity                   annotary.Sensitivity
}

func factsOf(r *Request) Facts {
	return Facts{Truncated(r.Arguments), !r.Seen.Public, !r.Seen.Trusted, r.Seen.Sensitivity}
}

// context makes the record, with what else is given.
func (f Facts) context(with types.RecordMap) types.Record {
	with["args"], with["ints"] = argsUID, intsUID
	with["truncated"] = types.Boolean(f.truncated)
	with["seen"] = types.NewRecord(types.RecordMap{
		"private":     types.Boolean(f.private),
		"strangers":   types.Boolean(f.strangers),
		"sensitivity": types.String(f.sensitivity.String()),
	})
	return types.NewRecord(with)
}

var contexts struct {
	sync.RWMutex
	by map[Facts]types.Record
}

// untimed returns the context for policies that never ask for the time.
func untimed(f Facts) types.Record {
	contexts.RLock()
	c, ok := contexts.by[f]
	contexts.RUnlock()
	if ok {
		return c
	}
	c = f.context(types.RecordMap{})
	contexts.Lock()
	defer contexts.Unlock()
	if contexts.by == nil {
		contexts.by = map[Facts]types.Record{}
	}
	contexts.by[f] = c
	return c
}

func newApproval(r *ApproveRequest) *world {
	outside := false
	codes := make([]types.Value, 0, len(r.Asked))
	for _, reason := range r.Asked {
		outside = outside || reason.Ask == annotary.VerdictAskOutside
		codes = append(codes, types.String(reason.Code))
	}
	w := &world{principal: r.Approver.entity, requester: r.Requester.entity, resource: r.Target.entity}
	w.context = types.NewRecord(types.RecordMap{
		"channel":   types.String(r.Channel),
		"requester": w.requester.UID,
		"codes":     types.NewSet(codes...),
		"outside":   types.Boolean(outside),
		"now":       types.NewDatetime(r.Now),
	})
	return w
}

func newOperation(who *Subject) *world {
	return &world{principal: who.entity, resource: types.Entity{UID: gatewayUID}}
}

// A flattener turns arguments into tags. Cedar has no null, float or open
// record; a JSON Pointer and the value's own text say all of it. Without maps
// to fill it only finds out whether there is more than policies can see.
type flattener struct {
	strings, ints types.RecordMap
	leaves        int
	truncated     bool
}

func (f *flattener) walk(at string, raw []byte, depth int) {
	kind := strict.KindOf(raw)
	if (kind == strict.Object || kind == strict.Array) && depth >= maxDepth {
		f.truncated = true
		return
	}
	empty := true
	switch kind {
	case strict.Absent:
	case strict.Object:
		for name, v := range strict.Members(raw) {
			empty = false
			f.walk(f.below(at, name), v, depth+1)
		}
		if empty && depth > 0 { // given and empty is not left out
			f.leaf(at, []byte("{}"), kind)
		}
	case strict.Array:
		for i, v := range strict.Elements(raw) {
			empty = false
			f.walk(f.below(at, strconv.Itoa(i)), v, depth+1)
		}
		if empty && depth > 0 {
			f.leaf(at, []byte("[]"), kind)
		}
	default:
		f.leaf(at, raw, kind)
	}
}

func (f *flattener) below(at, name string) string {
	if f.strings == nil {
		return ""
	}
	return at + "/" + strict.EscapePointer(name)
}

func (f *flattener) leaf(at string, raw []byte, kind strict.Kind) {
	if f.leaves++; f.leaves > maxLeaves || len(raw) > maxLeafBytes {
		f.truncated = true
		return
	}
	if f.strings == nil {
		return
	}
	text := types.String(raw)
	switch kind {
	case strict.String:
		s, _ := strict.Text(raw)
		text = types.String(s)
	case strict.Number:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			f.ints[types.String(at)] = types.Long(n)
			break // an integer's own digits are its canonical text for people
		}
		canonical, err := strict.Canonical(raw)
		if err != nil {
			f.truncated = true
			return
		}
		text = types.String(canonical)
	default:
	}
	f.strings[types.String(at)] = text
}
