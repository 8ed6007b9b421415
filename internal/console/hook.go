package console

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/approval"
	"github.com/annotary/annotary/internal/rpc"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/policy"
)

// A Hook tells another program of questions, and takes answers from it. Messages
// are signed as the Standard Webhooks specification has it, both ways.
type Hook struct {
	// URL is where questions are sent. If empty, they are not.
	URL string
	// Secret is shared with the other program. Whoever has it can answer in the
	// name of anybody whom policy lets answer through channel "webhook".
	Secret []byte
	// Client sends. If nil, one that gives up after ten seconds.
	Client *http.Client
}

// Why an answer that came in does not count.
const (
	CodeHookForged   annotary.Code = "webhook_forged"   // it is not signed with the secret
	CodeHookStale    annotary.Code = "webhook_stale"    // its time is too far from ours
	CodeHookReplayed annotary.Code = "webhook_replayed" // its id was used before
)

// The headers of the Standard Webhooks specification.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

const (
	hookTolerance = 5 * time.Minute
	maxHook       = 64 << 10
)

// sign returns the signature of a message.
func (h *Hook) sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, h.Secret)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// verify checks that a message was signed with the secret, not long ago.
func (h *Hook) verify(header http.Header, body []byte, now time.Time) error {
	id, stamp := header.Get(headerID), header.Get(headerTimestamp)
	want := []byte(h.sign(id, stamp, body))
	genuine := false
	for sent := range strings.FieldsSeq(header.Get(headerSignature)) {
		genuine = hmac.Equal([]byte(sent), want) || genuine
	}
	if !genuine || id == "" {
		return annotary.E(CodeHookForged, "the message is not signed with the secret of this webhook", nil)
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || age > hookTolerance || age < -hookTolerance {
		return annotary.E(CodeHookStale, "the message is not of the last five minutes", nil)
	}
	return nil
}

// hookAnswer is what the other program says.
type hookAnswer struct {
	ID     string `json:"id"`
	Answer string `json:"answer"` // yes or no
	By     struct {
		Issuer  string   `json:"issuer"`
		Subject string   `json:"subject"`
		Groups  []string `json:"groups"`
	} `json:"by"`
	Scope approval.Scope `json:"scope"`
	Note  string         `json:"note"`
}

func (a *hookAnswer) said() (approval.Answer, error) {
	if (a.Answer != "yes" && a.Answer != "no") || a.By.Subject == "" || a.ID == "" {
		return approval.Answer{}, annotary.E(annotary.CodeInvalid, "an answer has an id, yes or no, and by whom", nil)
	}
	return approval.Answer{
		Yes: a.Answer == "yes", Scope: a.Scope, Note: approval.Line(a.Note), Channel: string(policy.ChannelWebhook),
		By: approval.Person{Tenant: annotary.DefaultTenant, Issuer: a.By.Issuer, Subject: a.By.Subject, Groups: a.By.Groups},
	}, nil
}

// hook takes an answer from another program.
func (c *Console) hook(w http.ResponseWriter, r *http.Request, _ *session) error {
	if c.Hook == nil {
		return errNothingHere
	}
	a, err := c.heard(w, r)
	status, out := http.StatusOK, map[string]any{}
	if err != nil {
		status = hookStatus[annotary.CodeOf(err)]
		if status == 0 {
			status = http.StatusInternalServerError
		}
		out["code"], out["message"] = annotary.CodeOf(err), err.Error()
	} else {
		out["id"], out["state"] = a.ID, a.State
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(out)
}

var hookStatus = map[annotary.Code]int{
	CodeHookForged: http.StatusUnauthorized, CodeHookStale: http.StatusUnauthorized, CodeHookReplayed: http.StatusConflict,
	annotary.CodeInvalid: http.StatusBadRequest, annotary.CodeScopeTooWide: http.StatusBadRequest,
	annotary.CodeUnknownApproval: http.StatusNotFound, annotary.CodeNotApprover: http.StatusForbidden,
	annotary.CodeAnswered: http.StatusConflict, annotary.CodeGrantDefinition: http.StatusConflict,
	annotary.CodeStore: http.StatusServiceUnavailable,
}

func (c *Console) heard(w http.ResponseWriter, r *http.Request) (*approval.Approval, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHook))
	if err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "the message cannot be read", err)
	}
	if err := c.Hook.verify(r.Header, body, time.Now()); err != nil {
		return nil, err
	}
	said, id, err := readAnswer(body)
	if err != nil {
		return nil, err
	}
	// The id is used up before the answer counts: a message that failed halfway
	// must be sent anew, not again.
	_, err = c.Store.Swap(r.Context(), "hooks/"+digest(r.Header.Get(headerID)), []byte("1"), 0)
	if annotary.CodeOf(err) == annotary.CodeConflict {
		return nil, annotary.E(CodeHookReplayed, "a message of this id was taken before", nil)
	}
	if err != nil {
		return nil, err
	}
	return c.Gateway.Answer(r.Context(), id, said)
}

// readAnswer reads the body of a message.
func readAnswer(body []byte) (approval.Answer, string, error) {
	var a hookAnswer
	err := strict.Check(body, strict.Limits{Bytes: maxHook, Depth: 8})
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		return approval.Answer{}, "", annotary.E(annotary.CodeInvalid, "the message cannot be read: "+err.Error(), err)
	}
	said, err := a.said()
	return said, a.ID, err
}

// Tell sends every question to the hook's address, and what became of it, until
// the context ends. Of several replicas one sends each.
func (c *Console) Tell(ctx context.Context) error {
	desk := c.Gateway.Desk()
	if c.Hook == nil || c.Hook.URL == "" || desk == nil {
		return nil
	}
	return desk.Watch(ctx, func() {}, func(a *approval.Approval) {
		state := a.At(time.Now())
		if state == approval.Spent || state == approval.Expired {
			return
		}
		go c.tell(ctx, a, state)
	})
}

// tell sends one message. It is tried a few times; a question can also be found
// on the page.
func (c *Console) tell(ctx context.Context, a *approval.Approval, state approval.State) {
	id := a.ID + "-" + string(state)
	if _, err := c.Store.Swap(ctx, "told/"+id, []byte("1"), 0); err != nil {
		return // another replica tells it, or nobody can
	}
	prompt := a.Prompt
	prompt.Parts = nil // digests, which tell nobody anything
	body, err := json.Marshal(map[string]any{
		"type": "approval." + string(state), "timestamp": time.Now().UTC().Format(time.RFC3339),
		"data": map[string]any{
			"id": a.ID, "state": state, "link": c.Link(a.ID), "asked": a.Asked, "expires": a.Expires, "prompt": prompt,
		},
	})
	for wait := time.Second; err == nil; wait *= 4 {
		if err = c.Hook.send(ctx, id, body); err == nil {
			return
		}
		if wait > 64*time.Second {
			break
		}
		select {
		case <-time.After(wait):
			err = nil
		case <-ctx.Done():
			return
		}
	}
	c.Log.Warn("a question could not be told to the webhook", "approval", a.ID, "error", err)
}

// send posts one signed message.
func (h *Hook) send(ctx context.Context, id string, body []byte) error {
	client := h.Client
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(headerID, id)
	req.Header.Set(headerTimestamp, stamp)
	req.Header.Set(headerSignature, h.sign(id, stamp, body))
	res, err := client.Do(req)
	if err != nil {
		return rpc.Unnamed(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxHook))
	if res.StatusCode >= 300 {
		return fmt.Errorf("the webhook answered %s", res.Status)
	}
	return nil
}
