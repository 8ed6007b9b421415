// Package tool is for authors of MCP servers. A tool made with it says what it
// does to the world, or the program does not compile.
//
//	s := tool.New("orders", "1.0.0", nil)
//	tool.Add(s, tool.Read(tool.Closed), tool.Spec{Name: "search-orders", …}, search)
//	tool.Add(s, tool.Destroy(tool.Closed, tool.Idempotent), tool.Spec{Name: "cancel-order", …}, cancel)
//	if err := s.Stdio(ctx); err != nil { … }
//
// An [Intent] decides all four hints of the specification: [Read], [Write] and
// [Destroy] by what the tool does, [Raw] from annotations made elsewhere. All
// four go out on the wire, always.
//
// Around every handler the package puts what each would otherwise write again:
// arguments are checked against the schema of their Go type and unknown ones
// refused; errors, panics and time-outs become results the model can read and
// leak nothing; results are brought within a limit; groups of tools exist only
// for callers with their scope. Writes can be made safe to repeat ([Keyed]) and
// dangerous ones can be drafted and confirmed ([AddTwoStep]).
//
// The package stands on the official SDK and hands out its server, so what is
// missing here can be added there. It needs no gateway and links none. Hints
// are not access control: a scope or a check in the handler is.
package tool

import (
	"github.com/annotary/annotary"
)

// An Intent is what a tool does to the world, decided. Make one with [Read],
// [Write], [Destroy] or [Raw]; the zero Intent is undecided and [Add] refuses it.
type Intent struct {
	decided     bool
	annotations annotary.Annotations
}

// Annotations returns the four hints the intent decides.
func (i Intent) Annotations() annotary.Annotations { return i.annotations }

// A World says whether a tool reaches outside: [Closed] or [Open].
type World struct{ decided, open bool }

// The two worlds.
var (
	// Closed is your own files, database or service.
	Closed = World{decided: true}
	// Open is the web, e-mail, other people's services.
	Open = World{decided: true, open: true}
)

// A Repeat says what a second equal call does: [Idempotent] or [NotIdempotent].
type Repeat struct{ decided, same bool }

// The two answers.
var (
	// Idempotent means a second equal call changes nothing more.
	Idempotent = Repeat{decided: true, same: true}
	// NotIdempotent means it does something again.
	NotIdempotent = Repeat{decided: true}
)

// Read is the intent of a tool that changes nothing: search, list, load,
// preview, compute.
func Read(w World) Intent {
	return Intent{w.decided, annotary.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: w.open}}
}

// Write is the intent of a tool that only adds, or changes what can be changed
// back: create, append, save a draft, set a status.
func Write(w World, r Repeat) Intent {
	return Intent{w.decided && r.decided, annotary.Annotations{Idempotent: r.same, OpenWorld: w.open}}
}

// Destroy is the intent of a tool that deletes, overwrites, cancels, sends,
// pays or deploys.
func Destroy(w World, r Repeat) Intent {
	return Intent{w.decided && r.decided, annotary.Annotations{Destructive: true, Idempotent: r.same, OpenWorld: w.open}}
}

// Raw is the intent of annotations made elsewhere, such as
// [annotary.PresetWrite]. Annotations that contradict themselves decide nothing.
func Raw(a annotary.Annotations) Intent {
	return Intent{!a.ReadOnly || (!a.Destructive && a.Idempotent), a}
}
