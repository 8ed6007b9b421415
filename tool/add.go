package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/annotary/annotary"
	"github.com/annotary/annotary/internal/strict"
	"github.com/annotary/annotary/shape"
)

// A Handler does what the tool is for. Its arguments have been checked against
// the schema of In, a struct: a field is required unless its json tag has
// omitempty or omitzero, and is described by its jsonschema tag.
//
// The output, a struct or a pointer to one, becomes the result's structured
// content and, unless [Call.Say] says otherwise, its text.
//
// The text of an error made with [Errorf], or of any [annotary.Error], is shown
// to the model; of any other error only that it happened, with an id that the
// log has too. A panic and a missed deadline are such errors.
type Handler[In, Out any] func(ctx context.Context, call *Call, in In) (Out, error)

// Nothing is the output of a tool that only does.
type Nothing struct{}

// An entry is a tool, ready to be put into MCP servers.
type entry struct {
	tool     *mcp.Tool
	view     *View
	scope    string
	intent   Intent
	input    *shape.Schema
	output   *shape.Schema
	promised *jsonschema.Schema // the same, as its type gave it
	timeout  time.Duration
	limit    int
	home     *Server

	sensitive, untrusted bool // what every result is marked
	invoke               func(ctx context.Context, call *Call, args []byte) ([]byte, error)
}

// Add declares a tool. It panics, naming the caller's line and the tool, if the
// intent is undecided, the spec incomplete, the name not one the specification
// takes or taken already, a type without a JSON Schema, or serving has begun.
func Add[In, Out any](r Registry, i Intent, sp Spec, h Handler[In, Out]) {
	_, file, line, _ := runtime.Caller(1)
	add(r, i, sp, h, fmt.Sprintf("%s:%d", file, line))
}

func add[In, Out any](r Registry, i Intent, sp Spec, h Handler[In, Out], at string) {
	err := sp.check(i)
	if err == nil && h == nil {
		err = errors.New("it has no handler")
	}
	var e *entry
	if err == nil {
		e, err = newEntry(r.server(), i, sp, h)
	}
	if err == nil {
		err = r.register(e)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: tool %q: %v", at, sp.Name, err))
	}
}

func newEntry[In, Out any](s *Server, i Intent, sp Spec, h Handler[In, Out]) (*entry, error) {
	if err := checkArguments(reflect.TypeFor[In]()); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	in, input, err := schemaFor[In](sp.Input)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if in.Type != "object" {
		return nil, fmt.Errorf("arguments: %v is no JSON object", reflect.TypeFor[In]())
	}
	e := &entry{
		view: sp.View, intent: i, input: input, home: s,
		timeout: s.opts.Timeout, limit: s.opts.Limit,
		sensitive: sp.Sensitive == annotary.Yes, untrusted: sp.Untrusted == annotary.Yes,
	}
	var out *jsonschema.Schema
	if reflect.TypeFor[Out]() != reflect.TypeFor[Nothing]() {
		if out, e.output, err = schemaFor[Out](sp.Output); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
		if out.Type != "object" { // older clients know no other
			return nil, fmt.Errorf("result: %v is no JSON object: wrap it in a struct, or in a tool.Page", reflect.TypeFor[Out]())
		}
	}
	if sp.Timeout != 0 {
		e.timeout = sp.Timeout
	}
	if sp.Limit != 0 {
		e.limit = sp.Limit
	}
	e.promised = out
	e.tool = sp.definition(i, in, out)
	e.invoke = invoker(e, h)
	return e, nil
}

// checkArguments refuses what would compile and then do nothing: a Keyed or a
// Rehearsal that is found only where it is embedded, in a struct.
func checkArguments(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		return fmt.Errorf("take %s, not a pointer to it", t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil // the schema says
	}
	for f := range t.Fields() {
		if f.Anonymous {
			continue
		}
		switch f.Type {
		case reflect.TypeFor[Keyed](), reflect.TypeFor[*Keyed](), reflect.TypeFor[Rehearsal](), reflect.TypeFor[*Rehearsal]():
			return fmt.Errorf("%s: embed %s in place of the field %s", t, strings.TrimPrefix(f.Type.String(), "*"), f.Name)
		}
	}
	return nil
}

// invoker wraps the typed handler: checked arguments in, a shaped result out.
func invoker[In, Out any](e *entry, h Handler[In, Out]) func(context.Context, *Call, []byte) ([]byte, error) {
	return func(ctx context.Context, call *Call, args []byte) ([]byte, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, annotary.E(annotary.CodeInvalid, "the arguments do not fit: "+err.Error(), err)
		}
		if d, ok := any(&in).(interface{ dryRun() bool }); ok {
			call.DryRun = d.dryRun()
		}
		do := func(ctx context.Context) ([]byte, error) {
			out, err := h(ctx, call, in)
			if err != nil {
				return nil, err
			}
			raw, err := write(out, e.promised)
			if err == nil {
				raw, err = e.result(call, raw)
			}
			if err != nil {
				return nil, &unwritable{err}
			}
			return raw, nil
		}
		if k, ok := any(&in).(interface{ key() string }); ok && k.key() != "" && !call.DryRun {
			return e.once(ctx, call, k.key(), args, do)
		}
		return do(ctx)
	}
}

// check reads the arguments strictly and holds them to the schema.
func (e *entry) check(args []byte) ([]byte, error) {
	if len(args) == 0 {
		args = []byte("{}")
	}
	if err := strict.Check(args, strict.Limits{}); err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "the arguments cannot be read: "+err.Error(), err)
	}
	if err := e.input.Validate(args); err != nil {
		return nil, annotary.E(annotary.CodeInvalid, "the arguments do not keep to the schema: "+errors.Unwrap(err).Error(), nil)
	}
	return args, nil
}
