// Package api is the operator's channel: how commands look at and change a
// running gateway. It speaks JSON over HTTP on a unix socket that only the user
// who runs the gateway may use, and only with the token beside it ([Serve]), never on the listener of MCP clients:
// what it says, callers must not learn.
//
// [Handler] answers and [Client] asks. docs/openapi/v1.yaml describes both and is
// held against the table of routes by a test.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/gateway"
	"github.com/annotary/annotary/internal/identity"
	"github.com/annotary/annotary/internal/notary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/policy"
)

// maxBody bounds what a request may carry.
const maxBody = 1 << 20

// A Log is read from pack to pack, in order.
type Log interface {
	Read(ctx context.Context, from uint64, each func(pack uint64, lines [][]byte) error) error
	Extent(ctx context.Context) (first, last, bytes uint64, err error)
}

// Options say what the channel reaches.
type Options struct {
	Gateway *gateway.Gateway
	// Log returns the log, nil while nothing is recorded.
	Log func() Log
	// Sealer returns who seals the log, nil while nothing is recorded.
	Sealer func() *notary.Sealer
	// Reload reads the configuration again.
	Reload func() error
	// State says how the store is doing, nil while there is none.
	State func() *StateHealth
	// Audit says how the log is doing, nil while there is none.
	Audit func() *AuditHealth
	// Backup writes what the gateway keeps into an archive.
	Backup func(ctx context.Context, w io.Writer) error
	// Words are what the operator says of tools.
	Words Words
	// Version and Config are what status tells.
	Version, Config string
	// Confined says how commands are kept out of the data folder.
	Confined string
	// Login makes a link that signs the owner in on the approval page.
	Login func(ctx context.Context, id string) (LoginAnswer, error)
	// Token is what a request on the socket must carry. It lies in a file beside
	// the socket: some protections keep a command from reading a file there that
	// cannot keep it from connecting.
	Token string
}

// server answers the requests.
type server struct{ Options }

// A route is one thing that can be asked.
type route struct {
	method, path string
	role         policy.Role // that it wants of operators of other machines
	query        []string    // the parameters it takes; others are refused
	answer       func(*server, http.ResponseWriter, *http.Request) error
}

var routes = []route{
	{"GET", "/v1/status", policy.Operate, nil, (*server).status},
	{"GET", "/v1/tools", policy.Operate, append([]string{"server"}, callerParams...), (*server).tools},
	{"POST", "/v1/why", policy.Operate, nil, (*server).why},
	{"GET", "/v1/audit", policy.Audit, filterParams, (*server).audit},
	{"GET", "/v1/audit/checkpoint", policy.Audit, nil, (*server).checkpoint},
	{"GET", "/v1/audit/leaves", policy.Audit, []string{"size"}, (*server).leaves},
	{"GET", "/v1/audit/proof", policy.Audit, []string{"index"}, (*server).proof},
	{"GET", "/v1/metrics", policy.Operate, nil, (*server).metrics},
	{"POST", "/v1/reload", policy.Operate, nil, (*server).reload},
	{"POST", "/v1/login", policy.Operate, nil, (*server).login},
	{"GET", "/v1/approvals/stats", policy.Operate, []string{"since"}, (*server).approvalStats},
	{"GET", "/v1/kill", policy.Operate, nil, (*server).kills},
	{"POST", "/v1/kill", policy.Operate, nil, (*server).kill},
	{"POST", "/v1/kill/lift", policy.Operate, nil, (*server).lift},
	{"GET", "/v1/approvals", approve, []string{"all"}, (*server).approvals},
	{"GET", "/v1/approvals/watch", approve, nil, (*server).watchApprovals},
	{"GET", "/v1/approvals/{id}", approve, nil, (*server).approval},
	{"POST", "/v1/approvals/{id}/answer", approve, nil, (*server).answerApproval},
	{"GET", "/v1/grants", policy.Operate, []string{"all"}, (*server).grants},
	{"POST", "/v1/grants/{id}/revoke", policy.Operate, nil, (*server).revokeGrant},
	{"GET", "/v1/backup", policy.Audit, nil, (*server).backup},
	{"GET", "/v1/overrides", policy.Operate, nil, (*server).overrides},
	{"POST", "/v1/overrides", policy.Operate, nil, (*server).say},
}

// Handler answers the operator.
func Handler(o Options) http.Handler {
	return handler(o, func(r *http.Request, _ policy.Role) (*http.Request, error) { return r, nil })
}

// handler answers whom admit lets in, and as whom.
func handler(o Options, admit func(*http.Request, policy.Role) (*http.Request, error)) http.Handler {
	s := &server{o}
	mux := http.NewServeMux()
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) {
			req, err := admit(req, r.role)
			if err == nil {
				err = r.check(req)
			}
			if err == nil {
				err = r.answer(s, w, req)
			}
			if err != nil {
				writeError(w, err)
			}
		})
	}
	return mux
}

// check refuses parameters that nobody reads: a filter that is misspelt must not
// pass for one that matches everything.
func (r *route) check(req *http.Request) error {
	for name := range req.URL.Query() {
		if !slices.Contains(r.query, name) {
			return annotary.E(annotary.CodeInvalid, "there is no parameter "+name, nil)
		}
	}
	return nil
}

// readBody reads a request's JSON into v. A member that v does not have is
// refused: with "tool" misspelt, a kill would stop the whole server.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = strict.Check(raw, strict.Limits{Bytes: maxBody, Depth: 64})
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		err = d.Decode(v)
	}
	if err != nil {
		return annotary.E(annotary.CodeInvalid, "the request cannot be read: "+err.Error(), err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

// A Failure is the answer to what could not be done.
type Failure struct {
	Code    annotary.Code `json:"code"`
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"`
}

func writeError(w http.ResponseWriter, err error) {
	if c, ok := errors.AsType[*identity.Challenge](err); ok {
		challenged(w, c)
		return
	}
	f := Failure{Code: annotary.CodeOf(err), Message: err.Error()}
	if e, ok := errors.AsType[*annotary.Error](err); ok {
		f.Hint = e.Hint
	}
	_ = writeJSON(w, statusOf(f.Code), f) // whoever asked is gone if this fails
}

func statusOf(c annotary.Code) int {
	switch c {
	case annotary.CodeInvalid, annotary.CodeScopeTooWide:
		return http.StatusBadRequest
	case annotary.CodeNotApprover, annotary.CodeDenied:
		return http.StatusForbidden
	case gateway.CodeUnknownServer, annotary.CodeUnknownApproval, annotary.CodeUnknownTool:
		return http.StatusNotFound
	case annotary.CodeConfig, gateway.CodeUnjudged, gateway.CodeNobodyAsks, annotary.CodeAnswered, annotary.CodeGrantDefinition:
		return http.StatusConflict
	case annotary.CodeConnect:
		return http.StatusBadGateway
	case annotary.CodeStore:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
