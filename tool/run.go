package tool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// The _meta keys of results.
const (
	// MetaTrust is the label of what a result holds (an MCP extension).
	MetaTrust = "io.modelcontextprotocol/trust-annotations"
	// MetaCall is the id of the call, as the log has it.
	MetaCall = "dev.annotary/call"
)

// The codes of failures.
const (
	CodeFailed    annotary.Code = "tool_failed"  // the tool says why
	CodeTimeout   annotary.Code = "timed_out"    // it took too long
	CodeCancelled annotary.Code = "cancelled"    // the client gave up
	CodePanic     annotary.Code = "tool_crashed" // the handler panicked
)

// Errorf makes an error whose text the model is shown. Put nothing into it that
// a stranger should not read.
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return annotary.E(CodeFailed, err.Error(), errors.Unwrap(err))
}

// handle is what the SDK calls. It never returns an error: that would be a
// protocol error, which a model does not see.
func (e *entry) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	call := e.newCall(req)
	if e.intent.annotations.Destructive { // whoever looks for the culprit looks here
		call.Log.LogAttrs(ctx, slog.LevelInfo, "destructive call", slog.String("user", call.User))
	}
	raw, err := e.run(ctx, call)
	if err == nil {
		var res *mcp.CallToolResult
		if res, err = decodeResult(raw); err == nil {
			return res, nil
		}
	}
	return e.failure(ctx, call, err), nil
}

func (e *entry) newCall(req *mcp.CallToolRequest) *Call {
	c := &Call{ID: newID(), Tool: e.tool.Name, Request: req}
	if req.Extra != nil && req.Extra.TokenInfo != nil {
		c.User, c.Scopes = req.Extra.TokenInfo.UserID, req.Extra.TokenInfo.Scopes
	}
	c.Log = e.home.opts.Logger.With(slog.String("tool", c.Tool), slog.String("call", c.ID))
	return c
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// run checks the arguments and runs the handler until it ends, crashes or its
// time is up. A handler that outlives its time runs on, unheard.
func (e *entry) run(ctx context.Context, call *Call) ([]byte, error) {
	args, err := e.check(call.Request.Params.Arguments)
	if err != nil {
		return nil, err
	}
	if e.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.timeout)
		defer cancel()
	}
	type ending struct {
		out []byte
		err error
	}
	end := make(chan ending, 1)
	go func() {
		out, err := e.guarded(ctx, call, args)
		end <- ending{out, err}
	}()
	select {
	case got := <-end:
		return got.out, got.err
	case <-ctx.Done():
	}
	select { // a handler that heeds its context may still say how far it came
	case got := <-end:
		return got.out, got.err
	case <-time.After(grace):
		return nil, ctx.Err()
	}
}

// grace is how long a handler has to answer once its time is up.
const grace = 200 * time.Millisecond

// guarded turns a panic into an error.
func (e *entry) guarded(ctx context.Context, call *Call, args []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, &crash{p, debug.Stack()}
		}
	}()
	return e.invoke(ctx, call, args)
}

// A crash is a panic of a handler.
type crash struct {
	value any
	stack []byte
}

func (c *crash) Error() string { return fmt.Sprintf("panic: %v", c.value) }

// failure makes the result of a failed call. What is not meant for the model
// goes to the log only; the id ties the two together.
func (e *entry) failure(ctx context.Context, call *Call, err error) *mcp.CallToolResult {
	public := explain(e.tool.Title, call.ID, err)
	level, attrs := slog.LevelWarn, []slog.Attr{
		slog.String("code", string(public.Code)), slog.String("told", public.Public), slog.Any("error", err),
	}
	if cause := errors.Unwrap(err); cause != nil {
		attrs = append(attrs, slog.Any("cause", cause))
	}
	if c, ok := errors.AsType[*crash](err); ok {
		level, attrs = slog.LevelError, append(attrs, slog.String("stack", string(c.stack)))
	}
	call.Log.LogAttrs(context.WithoutCancel(ctx), level, "tool failed", attrs...)
	text := public.Public
	if public.Hint != "" {
		text += " (" + public.Hint + ")"
	}
	res := &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: clip(shape.Clean(text), e.limit)}},
		Meta:    mcp.Meta{MetaCall: call.ID},
	}
	if trust := e.trust(call); trust != nil {
		res.Meta[MetaTrust] = trust
	}
	return res
}

// explain finds what the model may be told of an error.
func explain(title, id string, err error) *annotary.Error {
	tell := func(code annotary.Code, what string) *annotary.Error {
		return annotary.E(code, fmt.Sprintf("%q %s; the log has it as %s", title, what, id), err)
	}
	if isUnwritable(err) {
		return tell(annotary.CodeInternal, "was done, but its result cannot be shown")
	}
	if public, ok := errors.AsType[*annotary.Error](err); ok {
		return public
	}
	if _, ok := errors.AsType[*crash](err); ok {
		return tell(CodePanic, "crashed")
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return tell(CodeTimeout, "took too long, and what it had done by then is unknown")
	case errors.Is(err, context.Canceled):
		return tell(CodeCancelled, "was cancelled by the client")
	}
	return tell(annotary.CodeInternal, "failed")
}

func clip(s string, limit int) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	runes := []rune(s)
	return string(runes[:min(limit, len(runes))])
}

// trust is the label of the result; absence claims nothing.
func (e *entry) trust(call *Call) map[string]any {
	call.mu.Lock()
	defer call.mu.Unlock()
	label := map[string]any{}
	if e.sensitive || call.sensitive {
		label["sensitive"] = true
	}
	if e.untrusted || call.untrusted {
		label["untrusted"] = true
	}
	if len(label) == 0 {
		return nil
	}
	return label
}

// result writes the result of a call that went well, within the limit.
func (e *entry) result(call *Call, out []byte) ([]byte, error) {
	res := mcp.CallToolResult{Meta: mcp.Meta{MetaCall: call.ID}}
	if trust := e.trust(call); trust != nil {
		res.Meta[MetaTrust] = trust
	}
	if e.output != nil {
		if err := e.output.Validate(out); err != nil {
			return nil, fmt.Errorf("the output breaks its own schema: %w", errors.Unwrap(err))
		}
		res.StructuredContent = json.RawMessage(out)
	}
	res.Content = append([]mcp.Content{&mcp.TextContent{Text: e.text(call, out)}}, call.attachments()...)
	raw, err := marshal(&res)
	if err != nil {
		return nil, err
	}
	shaped, _, err := shape.Result(raw, shape.Options{
		Schema: e.output, Limit: max(0, e.limit), Sanitise: true, Clean: true,
	})
	return shaped, err
}

// text is what the handler said, else the output.
func (e *entry) text(call *Call, out []byte) string {
	call.mu.Lock()
	defer call.mu.Unlock()
	s := call.said
	switch {
	case s == "" && e.output == nil:
		s = "Done."
	case s == "":
		return string(out) // JSON stays JSON
	}
	if call.DryRun && !strings.HasPrefix(s, dryRunMark) {
		s = dryRunMark + s
	}
	return s
}

// decodeResult reads a shaped result for the SDK to send. The structured
// content stays as it is: the SDK would turn its numbers into doubles.
func decodeResult(raw []byte) (*mcp.CallToolResult, error) {
	var res mcp.CallToolResult
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, err
	}
	if structured := strict.Get(raw, "structuredContent"); structured != nil {
		res.StructuredContent = json.RawMessage(structured)
	}
	return &res, nil
}
