package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// About is what a question is about, as digests where it may be long or secret.
type About struct {
	Server string `json:"server"`
	Method string `json:"method"`
	Tool   string `json:"tool"` // or resource, prompt or method
	// Behaviour is all that is relied on in the tool's definition.
	Behaviour string `json:"behaviour"`
	// Arguments are those of the call; Extra is what else its params hold that
	// may change what it does.
	Arguments string `json:"arguments"`
	Extra     string `json:"extra"`
}

// A Request is a call that a person must decide about.
type Request struct {
	Principal annotary.Principal
	// Conversation is the key of the conversation that the call belongs to.
	Conversation string
	Call         string // its id in the log
	About        About
	Arguments    []byte // as sent; only digests of them are kept
	Reasons      []Reason
	// Parts are what the behaviour consists of, to tell what changed.
	Parts  map[string]string
	Prompt Prompt
	// May says whether a person may say yes to this call, checked again when the
	// yes is used. Nil permits nobody.
	May May
}

// May says whether a person may answer these reasons through a channel.
type May func(by *annotary.Principal, channel string, rs []annotary.Reason) annotary.Decision

func (m May) allows(by *Person, channel string, rs []Reason) bool {
	if m == nil {
		return false
	}
	p := by.Principal()
	return m(&p, channel, decisionReasons(rs)).Effect == annotary.Allow
}

// Binding names exactly this call of exactly this principal. How the tool
// behaves is not in it, so that a question about a tool that changed finds what
// was asked before.
func (r *Request) Binding() string {
	h := sha256.New()
	for _, part := range []string{
		r.Principal.ID(), r.Principal.Client, r.About.Server, r.About.Method, r.About.Tool, r.About.Arguments, r.About.Extra,
	} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxLeaves is how many values of the arguments can be told apart by a pattern.
const maxLeaves = 256

// leavesOf digests every value of the arguments by its JSON Pointer; objects and
// arrays are there too, so that equal leaves are equal arguments. It returns nil
// for arguments with too many.
func leavesOf(raw []byte) map[string]string {
	out := map[string]string{}
	if !addLeaves(out, "", raw) {
		return nil
	}
	return out
}

func addLeaves(out map[string]string, at string, raw strict.Raw) bool {
	if len(out) >= maxLeaves {
		return false
	}
	switch strict.KindOf(raw) {
	case strict.Absent:
	case strict.Object:
		out[at] = "{"
		for name, v := range strict.Members(raw) {
			if !addLeaves(out, at+"/"+strict.EscapePointer(name), v) {
				return false
			}
		}
	case strict.Array:
		out[at] = "["
		for i, v := range strict.Elements(raw) {
			if !addLeaves(out, at+"/"+strconv.Itoa(i), v) {
				return false
			}
		}
	default:
		sum, err := strict.Sum(raw)
		if err != nil {
			return false
		}
		out[at] = hex.EncodeToString(sum[:16])
	}
	return true
}
