package tool

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
)

// CodeDraft is the code of a draft that cannot be committed.
const CodeDraft annotary.Code = "draft_refused"

// A Proposal is what the first step returns: what would happen, and the seal
// under which it may.
type Proposal[Draft any] struct {
	Draft     Draft     `json:"draft" jsonschema:"what will happen; show it to the user"`
	Seal      string    `json:"seal" jsonschema:"pass on unchanged, with the draft"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// A Confirmation is what the second step takes: the draft the user has seen,
// unchanged, and its seal.
type Confirmation[Draft any] struct {
	Draft Draft  `json:"draft" jsonschema:"the draft the user has confirmed, unchanged"`
	Seal  string `json:"seal" jsonschema:"the seal that came with the draft"`
}

// AddTwoStep declares two tools for what must not happen by accident. The first,
// preview_mail_send beside mail_send, changes nothing: prepare says what would
// happen. The second takes that draft, as the user confirmed it, and commit does
// it. Of the spec, Input adjusts the arguments of the first, Output
// the result of the second.
//
// The seal binds the draft to its tool and user. It can be used once, until it
// expires, and for no other draft; the draft itself travels in the clear so that
// a host which asks before the second call shows what will be done.
func AddTwoStep[In, Draft, Out any](r Registry, i Intent, sp Spec, prepare Handler[In, Draft], commit Handler[Draft, Out]) {
	_, file, line, _ := runtime.Caller(1)
	at := fmt.Sprintf("%s:%d", file, line)
	if prepare == nil || commit == nil {
		panic(fmt.Sprintf("%s: tool %q: it has no handler", at, sp.Name))
	}
	s := r.server()
	form, _, _ := schemaFor[Draft](nil) // a type that has none panics below

	first := sp
	first.Name = previewName(sp.Name)
	first.Title = "Preview: " + sp.Title
	first.Description = "Prepares and changes nothing. " + sp.Description +
		" Returns a draft and its seal: show the draft to the user and, once they confirm, pass both unchanged to " + sp.Name + "."
	first.Output, first.Reversible = nil, annotary.Unknown
	first.Limit = -1 // a cut draft could not be committed
	world := World{decided: i.decided, open: i.annotations.OpenWorld}
	add(r, Read(world), first, func(ctx context.Context, call *Call, in In) (Proposal[Draft], error) {
		draft, err := prepare(ctx, call, in)
		if err != nil {
			return Proposal[Draft]{}, err
		}
		return propose(s, call, sp.Name, draft, form)
	}, at)

	second := sp
	second.Input = nil
	second.Description += " Needs a draft from " + first.Name + " that the user has confirmed."
	add(r, i, second, func(ctx context.Context, call *Call, in Confirmation[Draft]) (Out, error) {
		if err := s.spend(ctx, call, in.Seal, in.Draft, form); err != nil {
			return *new(Out), err
		}
		return commit(ctx, call, in.Draft)
	}, at)
}

// previewName names the first step in the style of the second. What it does
// stands first: mail_send_draft would read as sending a draft.
func previewName(name string) string {
	at := strings.LastIndexByte(name, '.') + 1
	path, leaf := name[:at], name[at:]
	switch {
	case strings.Contains(leaf, "-"):
		return path + "preview-" + leaf
	case leaf != strings.ToLower(leaf) && !strings.Contains(leaf, "_"):
		return path + "preview" + strings.ToUpper(leaf[:1]) + leaf[1:]
	}
	return path + "preview_" + leaf
}

// A promise is what a seal holds.
type promise struct {
	Tool    string    `json:"tool"`
	User    string    `json:"user"`
	Digest  string    `json:"digest"`
	Expires time.Time `json:"expires"`
	ID      string    `json:"id"`
}

func propose[Draft any](s *Server, call *Call, tool string, draft Draft, form *jsonschema.Schema) (Proposal[Draft], error) {
	digest, err := digestOf(draft, form)
	if err != nil {
		return Proposal[Draft]{}, err
	}
	expires := time.Now().Add(s.opts.DraftTTL).UTC()
	seal, err := s.seal.close(promise{tool, call.User, digest, expires, newID() + newID()})
	return Proposal[Draft]{draft, seal, expires}, err
}

// digestOf digests a draft as it goes out, which is how it comes back.
func digestOf(draft any, form *jsonschema.Schema) (string, error) {
	raw, err := write(draft, form)
	if err != nil {
		return "", err
	}
	digest, err := strict.Sum(raw)
	return digest.String(), err
}

// spend checks the seal and uses it up.
func (s *Server) spend(ctx context.Context, call *Call, seal string, draft any, form *jsonschema.Schema) error {
	refuse := func(why string) error {
		return annotary.E(CodeDraft, "nothing was done: "+why, nil).
			WithHint("make a new draft with " + previewName(call.Tool) + " and show it to the user")
	}
	p, err := s.seal.open(seal)
	if err != nil || p.Tool != call.Tool || p.User != call.User {
		return refuse("the seal is not one of this tool's")
	}
	digest, err := digestOf(draft, form)
	if err != nil || digest != p.Digest {
		return refuse("the draft is not the one that was sealed")
	}
	if !time.Now().Before(p.Expires) {
		return refuse("the draft has expired")
	}
	k := Key{Name: keyName("draft", p.ID), Request: digest}
	claim, err := s.opts.Store.Claim(ctx, k, s.opts.DraftTTL)
	if err != nil {
		return annotary.E(CodeStore, "nothing was done: it cannot be told whether the draft was used before", err)
	}
	if claim.State != Claimed {
		return refuse("the draft has been used")
	}
	return s.opts.Store.Settle(ctx, k, []byte("used"))
}

// A sealer seals promises so that only this server can make or read them.
type sealer struct{ aead cipher.AEAD }

// newSealer makes a sealer. It panics on a key of the wrong length.
func newSealer(key []byte) sealer {
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	if len(key) != 32 {
		panic("tool: a draft key is 32 bytes long")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the length is right
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return sealer{aead}
}

// draftContext keeps a seal from being taken for anything else under the key.
var draftContext = []byte("annotary draft 1")

func (s sealer) close(p promise) (string, error) {
	raw, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, raw, draftContext)), nil
}

func (s sealer) open(seal string) (promise, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(seal)
	if err != nil {
		return promise{}, err
	}
	raw, err := s.aead.Open(nil, nil, sealed, draftContext)
	if err != nil {
		return promise{}, errors.New("the seal is broken")
	}
	var p promise
	return p, json.Unmarshal(raw, &p)
}
